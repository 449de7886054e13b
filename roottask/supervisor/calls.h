/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which PD waits for which, as the registers show it. A thread can be interrupted at any
 * instruction, so what a PD seems to wait for at one look can be wrong. */
#ifndef CELLREAP_SUPERVISOR_CALLS_H
#define CELLREAP_SUPERVISOR_CALLS_H

#include "system/system.h"

/* What a PD did in an interval. */
typedef enum cr_sample {
    CR_SAMPLE_STARVED = 0, /* it could not run */
    CR_SAMPLE_RAN,         /* it could run, or had nothing to run for */
    CR_SAMPLE_IN_CALL,     /* it waits in a call to another PD that lives */
    CR_SAMPLE_WAITS        /* it waits for the root task */
} cr_sample;

/* The PD that this one waits for in a call, and the slot that its call names. 0: none, or the PD
 * calls itself. */
cr_pd *cr_called_by(const cr_pd *pd, uint32_t *slot);
/* The same, or the fault handler that has a fault of the PD. */
cr_pd *cr_waited_for_by(const cr_pd *pd);
/* The slot of the receive that the PD is at; 0: it is at none. */
uint32_t cr_receives_from(const cr_pd *pd);
/* Whether a PD that has an interrupt is in the midst of a call to it: if no PD can run, it waits
 * for its device, which may be done by now. */
int cr_device_is_awaited(void);
/* A number that is the same for the same registers, of a thread or of the PD's thread. */
uint64_t cr_sum_of(const seL4_UserContext *registers);
uint64_t cr_sum_of_pd(const cr_pd *pd);
/* Whether the instruction at this address of the PD's program is a system call. */
int cr_is_at_syscall(const cr_pd *pd, seL4_Word ip);
/* The PD that a PD waits for, or 0: cr_waited_for_by, or what was seen of it before. */
typedef cr_pd *(*cr_waits_on)(const cr_pd *pd);
/* The PD that waits for this one, in the circle of waits that this one is in. 0: it is in none. */
const cr_pd *cr_last_in_circle(const cr_pd *pd, cr_waits_on on);
/* Where the waits of a PD that waits for one lead to: the PD that waits for none. If they end in a
 * circle, the PD of it with the lowest index; cr_next_at_end then has the others, and at last 0. */
cr_pd *cr_end_of_waits(const cr_pd *pd, cr_waits_on on);
cr_pd *cr_next_at_end(const cr_pd *pd, const cr_pd *first, cr_waits_on on);
/* Whether the PD's fault is held and can never be answered: its fault handler waits for the PD
 * itself, perhaps through others, and the last of them is in a call to it. */
int cr_keeps_its_handler(const cr_pd *pd);

#endif
