/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The device that sel4/timer.c keeps time with: one interrupt, once, after a time. Its time goes on in ticks of its own,
 * counted from the last start. One folder of arch/ each implements it. */
#ifndef CELLREAP_SEL4_TIMER_DEVICE_H
#define CELLREAP_SEL4_TIMER_DEVICE_H

#include "kernel/kernel.h"

/* Whether the kernel's configuration leaves the device to user level. */
int cr_device_exists(void);
/* Takes the device: its registers through `ports` where they need a capability, its interrupt through `handler`; both
 * are empty slots of the root task's CSpace. The device asks for no interrupt for the next 50 ms, so that there is time to say
 * where to; but the interrupt controller may have kept one from before, which nobody is told of: so it is to be acknowledged
 * once, after that. */
seL4_Error cr_device_open(cr_slot handler, cr_slot ports);
/* As cr_timer_start, cr_timer_elapsed. */
uint64_t cr_device_start(uint64_t ns);
uint64_t cr_device_elapsed(void);
/* To be called before the interrupt is acknowledged: the device stops asking for it, unless the time set is not over. */
void cr_device_quiet(void);

#endif
