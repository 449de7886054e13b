/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The device that kernel/timer.c uses to measure time. It raises one interrupt, once, after a given
 * time. It counts time in its own ticks from the last start. One folder of arch/ per architecture
 * implements it. Only kernel/timer.c may call these functions. */
#ifndef CELLREAP_SEL4_TIMER_DEVICE_H
#define CELLREAP_SEL4_TIMER_DEVICE_H

#include "kernel/kernel.h"

/* Whether the kernel's configuration leaves the device to user level. */
int cr_device_exists(void);
/* Maps the device's registers in the place of a page of the image, if it has any in memory. Once,
 * before cr_device_open, which fails if this did. image_start: see cr_image_frame. */
void cr_device_prepare(const seL4_BootInfo *info, uintptr_t image_start);
/* Takes the device. `ports` receives the capability to its registers if they need one, and
 * `handler` receives its interrupt handler. Both are empty slots of the root task's CSpace.
 *
 * The device raises no interrupt for the next 50 ms, so the caller has time to set the
 * notification. The interrupt controller may still hold an earlier interrupt, which signals no
 * notification. The caller must therefore acknowledge the interrupt once after it has set the
 * notification. */
seL4_Error cr_device_open(cr_slot handler, cr_slot ports);
/* See cr_timer_start and cr_timer_elapsed. */
uint64_t cr_device_start(uint64_t ns);
uint64_t cr_device_elapsed(void);
/* See cr_timer_counter_hz. */
uint64_t cr_device_counter_hz(void);
/* Makes the device stop asserting its interrupt, unless the time that was set is not over. Must be
 * called before the interrupt is acknowledged. */
void cr_device_quiet(void);

#endif
