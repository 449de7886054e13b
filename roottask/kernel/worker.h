/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A second thread of the root task, which works while the main thread waits for it. The main thread
 * starts it on an empty stack, and waits until it is done, faults, or must be stopped. It can be
 * started again at any time. Only one of the two runs code of the root task at a time, so they
 * share all memory without locks.
 *
 * The worker has a stack, an IPC buffer and a fault handler of its own. The page below its stack is
 * not mapped. Its priority is just below that of the main thread. While it is waited for, the main
 * thread receives no message except from it. */
#ifndef CELLREAP_SEL4_WORKER_H
#define CELLREAP_SEL4_WORKER_H

#include "kernel.h"

enum {
    CR_WORKER_STACK = 32768,
    CR_WORKER_SLOTS = 4 /* its TCB, its endpoint, and two capabilities to the endpoint */
};

typedef enum cr_worker_event {
    CR_WORKER_DONE,
    CR_WORKER_FAULT,
    CR_WORKER_SIGNAL /* the main thread's bound notification was signalled */
} cr_worker_event;

/* Makes the thread from an untyped with room for a TCB and an endpoint. `job` is what it does from
 * each start on. Stops the system if there is an error. */
void cr_worker_init(const seL4_BootInfo *info, uintptr_t image_start, seL4_CPtr untyped,
                    void (*job)(void));

/* Starts the worker. It runs when the main thread waits for it. */
void cr_worker_start(void);
/* Waits for the next event. `badge` is that of a signal. */
cr_worker_event cr_worker_wait(uint64_t *badge);
/* The instruction at which it faulted last. */
uint64_t cr_worker_ip(void);
/* Stops the worker, wherever it is. */
void cr_worker_stop(void);

/* For tests. Both must be called by the worker: it faults; it goes on for ever. */
_Noreturn void cr_worker_fault(void);
_Noreturn void cr_worker_hang(void);

#endif
