/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations and faults that come during a cleanup, and are served between its steps or kept. A
 * cleanup can be long, and PDs with a priority above the cleaner's run meanwhile. Their messages
 * reach the main thread at any instruction of the cleaner.
 *
 * The main thread keeps such a message and has the cleaner stop after the step that is under way.
 * A step of several resources ends with the one that it is destroying. The main thread then serves
 * the message if that is independent of the cleanup:
 *
 * - The cleanup does not concern the PD that asks, nor anything that the operation names
 *   (independent.c). So the operation adds and drops no edge of a doomed node, of a resource in a
 *   doomed space or of the body of a doomed PD. All that the plan of the cleanup says follows from
 *   these edges: its lists stay valid, and none of them names the PD or what the operation names.
 * - It is an operation that interleaved.c lists. None of these plans, begins or ends a cleanup,
 *   queues or ends a notice, or lets its PD wait.
 * - It is carried out. What would be refused could be accepted when the cleanup has freed what it
 *   destroys, so it waits.
 *
 * So the cleanup and the operations that are served between its steps have the result that they
 * have one after the other, in either order. All other messages are kept, and are served in the
 * order of their arrival when the cleanup is over or awaits subscribers.
 *
 * At least one step is carried out between two operations of a PD: each message is served after the
 * step that was under way, or was about to begin, when it came. A PD that sends without a call has
 * at most one message kept; further ones are refused with BUSY. */
#ifndef CELLREAP_SUPERVISOR_INTERLEAVED_H
#define CELLREAP_SUPERVISOR_INTERLEAVED_H

#include "system/system.h"
#include <cellreap/decode.h>

/* A copy of a message from the IPC buffer. The next kernel call overwrites the IPC buffer. */
typedef struct cr_message {
    cr_raw_message raw; /* refers to `words` */
    uint64_t words[seL4_MsgMaxLength];
} cr_message;

/* How an operation is answered. */
typedef enum cr_way {
    CR_WAY_AT_ONCE = 0, /* with the reply capability that came with the message */
    CR_WAY_SAVED,       /* with the reply capability that was saved in the PD's body */
    CR_WAY_SENT         /* not at all: the message was sent without a call */
} cr_way;

/* An operation that is kept. */
typedef struct cr_kept {
    uint64_t number; /* its place in the order of arrival, from 1; 0: there is none */
    uint64_t badge;
    cr_way way;
    int later;      /* it is not served before the cleanup is over or awaits */
    uint64_t since; /* kernel calls of the cleaner before it came */
    uint32_t busy;  /* messages of this PD that were not kept, and what the last one asked for */
    uint64_t busy_op;
    cr_message message;
} cr_kept;

/* A fault that is kept. */
typedef struct cr_kept_fault {
    uint64_t number;
    uint64_t badge;
    cr_fault_kind kind;
    uint64_t address;
    uint64_t ip;
} cr_kept_fault;

typedef struct cr_interleaved {
    volatile int wanted; /* the cleaner stops after the step that is under way */
    uint64_t last;       /* number of the last arrival */
    uint32_t n_kept;     /* operations and faults */
    /* Serves an operation between two steps. Returns 0 if it would be refused, and then nothing has
     * happened. */
    int (*serve)(cr_pd *from, const cr_kept *kept);
    cr_kept *kept; /* by index of a PD */
    cr_kept_fault *faults;
} cr_interleaved;

/* Copies the message that was received last. */
void cr_take_message(seL4_MessageInfo_t tag, cr_message *out);
/* The same of a fault that a PD has, if it is served. Returns 0 if it is no fault: the answer that
 * refuses it is kept. A PD can send its own messages with its fault capability. That ends nobody
 * else, and none makes it a timeout that the PD cannot have. */
int cr_take_fault(seL4_MessageInfo_t tag, uint64_t badge, cr_pd **pd, cr_kept_fault *out);
/* A message came while the cleaner is at any instruction: keeps it. */
void cr_interleaved_take(seL4_MessageInfo_t tag, uint64_t badge);
/* The cleaner begins to carry out steps of a cleanup. */
void cr_interleaved_begin(void);
/* The cleaner stopped between two steps: serves what can be served. */
void cr_interleaved_serve(void);
/* The oldest operation or fault that is kept. Both 0: nothing is. One of them is not 0 then, and
 * must be forgotten when it was served. */
void cr_interleaved_oldest(cr_kept **kept, cr_kept_fault **fault);
void cr_interleaved_forget(cr_kept *kept, cr_kept_fault *fault);

#endif
