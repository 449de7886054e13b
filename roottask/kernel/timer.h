/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Real time: one interrupt at a time. On aarch64, a kernel with MCS gives it (sleeper.h). Else it
 * comes from a device that the kernel leaves to user level. On x86_64 this is the PIT. On aarch64
 * it is the physical generic timer, which needs a kernel with KernelArmExportPCNTUser and
 * KernelArmExportPTMRUser, or else a Cadence TTC, where the machine has one.
 *
 * The timer raises one interrupt for each start. Without a start there is no interrupt and no time
 * is counted. */
#ifndef CELLREAP_SEL4_TIMER_H
#define CELLREAP_SEL4_TIMER_H

#include "kernel.h"
#include <cellreap/status.h>

/* The longest time that can be set for one interrupt, in nanoseconds. */
enum { CR_TIMER_MAX_NS = 50000000 };
/* The slots that the timer keeps once its device was found: the interrupt, the ports, the
 * signal. The sleeper keeps CR_SLEEPER_SLOTS. */
enum { CR_TIMER_SLOTS = 3 };

/* Whether the kernel's configuration gives time or leaves a timer to user level (a constant of the
 * build). */
int cr_timer_exists(void);
/* Must come once before cr_timer_init. image_start: see cr_image_frame. */
void cr_timer_prepare(const seL4_BootInfo *info, uintptr_t image_start);
/* Takes the timer. `notification` is bound to the root task's thread. The interrupt signals it
 * through a capability minted with `badge`. Must be called after cr_untyped_init, because it takes
 * a block and gives it back.
 * - CR_ERR_ABSENT: this kernel leaves no timer to user level, or the device raises no interrupt.
 * - CR_ERR_MEMORY: no slots or no block. */
cr_status cr_timer_init(seL4_CPtr notification, seL4_Word badge);
/* Requests an interrupt in at least `ns` nanoseconds. `ns` is at most CR_TIMER_MAX_NS. This
 * replaces the interrupt that was requested before. Returns the time that was set, rounded up to
 * the resolution of the device. The sleeper's: microseconds, at least 100. A TTC's: 128
 * microseconds. A PWM's: one. */
uint64_t cr_timer_start(uint64_t ns);
/* How often cr_arch_boot_counter counts in a second. 0: there is no counter for user threads. Where
 * no register tells, it is measured with
 * the device, which replaces what was set before and takes 10 ms. Must be called after
 * cr_timer_init, and only if that succeeded. */
uint64_t cr_timer_counter_hz(void);
/* Acknowledges an interrupt. Must be called once for each interrupt that arrives. The interrupt can
 * belong to an earlier start. The time is over only if cr_timer_elapsed, called after this
 * function, returns the whole time. Otherwise the interrupt of the last start is still to come. */
void cr_timer_ack(void);
/* The part of the time set by cr_timer_start that is over, in nanoseconds. At most the time that
 * was set. */
uint64_t cr_timer_elapsed(void);

#endif
