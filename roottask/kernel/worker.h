/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A second thread of the root task, which works while the main thread waits for it. The main thread
 * starts it on an empty stack, and waits until it is done, faults, or must be stopped. It can be
 * started again at any time. Only one of the two runs code of the root task at a time, so they
 * share all memory without locks.
 *
 * The worker has a stack, an IPC buffer and a fault handler of its own. The page below its stack is
 * not mapped. Its priority is just below that of the main thread, or lower (cr_worker_priority).
 *
 * What happens to it arrives at an endpoint of its own. Then the main thread receives nothing else
 * while it waits, except signals. Or it arrives at an endpoint at which messages of others arrive
 * too, and the main thread receives these at once. */
#ifndef CELLREAP_SEL4_WORKER_H
#define CELLREAP_SEL4_WORKER_H

#include "kernel.h"

enum {
    CR_WORKER_STACK = 32768,
    CR_WORKER_SLOTS = 4, /* its TCB, its endpoint, and two capabilities to an endpoint */
    CR_WORKER_PRIORITY = seL4_MaxPrio - 1 /* from its start */
};

typedef enum cr_worker_event {
    CR_WORKER_DONE,
    CR_WORKER_FAULT,
    CR_WORKER_SIGNAL, /* the main thread's bound notification was signalled */
    CR_WORKER_MESSAGE /* a message that is not from the worker */
} cr_worker_event;

/* What arrived. Of a message, the registers are where seL4_GetMR finds them. */
typedef struct cr_worker_arrival {
    cr_worker_event event;
    seL4_MessageInfo_t tag;
    uint64_t badge;
} cr_worker_arrival;

/* Makes the thread from an untyped with room for a TCB and an endpoint. `job` is what it does from
 * each start on. `endpoint`: where its events arrive; 0: at its own. Stops the system if there is
 * an error. */
void cr_worker_init(const seL4_BootInfo *info, uintptr_t image_start, seL4_CPtr untyped,
                    seL4_CPtr endpoint, void (*job)(void));
/* Whether its events arrive at its own endpoint. */
int cr_worker_is_apart(void);
/* Changes its priority: at most CR_WORKER_PRIORITY. */
void cr_worker_priority(uint32_t priority);

/* Starts the worker. It runs when the main thread waits for it. */
void cr_worker_start(void);
/* Waits for the next event. */
cr_worker_arrival cr_worker_wait(void);
/* The instruction at which it faulted last. */
uint64_t cr_worker_ip(void);
/* Stops the worker, wherever it is. */
void cr_worker_stop(void);

/* For tests. Both must be called by the worker: it faults; it goes on for ever. */
_Noreturn void cr_worker_fault(void);
_Noreturn void cr_worker_hang(void);

#endif
