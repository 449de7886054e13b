/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Real time, from a device that the kernel leaves to user level: on x86_64 the PIT, on aarch64 the physical generic
 * timer (a kernel with KernelArmExportPCNTUser and KernelArmExportPTMRUser). One interrupt at a time, asked for
 * beforehand; while none is asked for, nothing happens and no time passes here. */
#ifndef CELLREAP_SEL4_TIMER_H
#define CELLREAP_SEL4_TIMER_H

#include "kernel.h"
#include <cellreap/status.h>

/* The longest that one interrupt can be away, in nanoseconds. */
enum { CR_TIMER_MAX_NS = 50000000 };

/* Whether this kernel leaves a timer to user level, from its configuration (a constant of the build). */
int cr_timer_exists(void);
/* `notification`: bound to the root task's thread; the interrupt signals it through a capability minted with `badge`.
 * After cr_untyped_init: a block is taken, and given back. CR_ERR_ABSENT: this kernel has no timer for us, or the machine's
 * gives no sign. CR_ERR_MEMORY: no slots or no block. */
cr_status cr_timer_init(seL4_CPtr notification, seL4_Word badge);
/* Asks for an interrupt in `ns` nanoseconds, at least, and at most CR_TIMER_MAX_NS, instead of the one asked for before.
 * Returns for how long it was set, >= ns: what the device's resolution makes of it. */
uint64_t cr_timer_start(uint64_t ns);
/* To be called once for each interrupt that came. That can be the one of an earlier start, which was on its way already: only
 * if cr_timer_elapsed, asked after this, tells the whole time is it over; otherwise its interrupt is still to come. */
void cr_timer_ack(void);
/* How much of the time set by cr_timer_start is over, in nanoseconds; at most that time. */
uint64_t cr_timer_elapsed(void);

#endif
