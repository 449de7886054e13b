/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Faults of PDs: held for the fault handler, continued, or left to the cleaner. The kernel sends
 * every fault to the root task. If the PD has a fault handler, the fault is *held*: the PD is
 * stopped, and the handler gets a FAULT notice. The handler's answer continues the PD or leaves it
 * to the root task. Otherwise the PD is a trigger at once.
 *
 * No fault may be lost: a PD whose fault is held continues, becomes a trigger, or is destroyed. */
#ifndef CELLREAP_SUPERVISOR_FAULTS_H
#define CELLREAP_SUPERVISOR_FAULTS_H

#include "system/system.h"

/* The fault of a configured PD of which its fault handler was told last. It outlives the PD: the
 * handler may ask about it until it has finished the notice. */
typedef struct cr_held_fault {
    uint64_t token; /* of the FAULT notice; 0: none yet */
    cr_fault_kind kind;
    uint64_t address;
    uint64_t ip;
} cr_held_fault;

typedef struct cr_faults {
    cr_held_fault *of; /* by the index of the PD in the configuration */
} cr_faults;

/* Adds the registers of a thread to a line, without those that are 0. 0: none. */
void cr_trace_registers(const seL4_UserContext *registers);
/* A fault of a PD that is served. */
void cr_fault_occurs(cr_pd *pd, cr_fault_kind kind, uint64_t address, uint64_t ip);
/* The fault that a FAULT notice is about, or 0. */
const cr_held_fault *cr_fault_of_notice(const cr_work_notice *notice);
/* The fault handler has finished a FAULT notice. If the PD's fault is still held, it continues or
 * becomes a trigger. */
void cr_fault_answered(const cr_work_notice *notice, int failed);
/* The PD's fault is held, and its handler has lost it: the PD becomes a trigger. */
void cr_fault_take_over(cr_pd *pd);
/* The PD that handles the faults of a PD, or 0. */
cr_pd *cr_fault_handler(const cr_pd *pd);

#endif
