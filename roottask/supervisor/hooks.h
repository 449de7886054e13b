/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The interface between the supervisor and the root task that it runs in. The supervisor receives
 * the faults and operations of PDs, cleans up after PDs, and respawns the PDs that the
 * configuration marks for it. Hooks can add behaviour, but the supervisor must work without any
 * hook. For this reason crashes can be staged without a change to the component that cleans up. */
#ifndef CELLREAP_SUPERVISOR_HOOKS_H
#define CELLREAP_SUPERVISOR_HOOKS_H

#include "system/system.h"

/* How an operation that a hook handles is answered. */
typedef enum cr_hook_answer {
    CR_HOOK_ANSWER = 0, /* it is answered now */
    CR_HOOK_KEEP        /* its PD waits until cr_answer_checkpoint is called */
} cr_hook_answer;

/* The supervisor calls the hooks on its own thread between two messages. A hook must not block.
 * Each member may be 0, but `checkpoint` needs `release`. */
typedef struct cr_hooks {
    /* A PD is at a checkpoint. `round_boundary`: the checkpoint is between two rounds of work.
     * *order and *slot are the answer. Without this hook every checkpoint is answered with
     * CR_ORDER_CONTINUE. */
    cr_hook_answer (*checkpoint)(cr_pd *pd, int round_boundary, uint64_t *order, uint32_t *slot);
    /* A PD that waits at a checkpoint must acknowledge a notice. The hook must call
     * cr_answer_checkpoint for it now. */
    void (*release)(cr_pd *pd);
    /* The alarm of cr_clock_alarm is due. */
    void (*alarm)(void);
    /* The bound notification was signalled: by the timer, by a badge of the hooks' owner, or by
     * both. */
    void (*signal)(uint64_t badge);
    /* Called once, when all PDs are made and none has run. */
    void (*begun)(void);
    /* Called after each message, when everything that follows from it is done. Returns 0 to end the
     * run. */
    int (*handled)(void);
} cr_hooks;

/* Sets up the state of the supervisor. `notification` is bound to the root task's thread. `hooks`
 * may be 0. */
void cr_supervisor_init(const cr_hooks *hooks, seL4_CPtr notification);
/* What is not for the supervisor: a message with a badge of kind CR_BADGE_NONE, or signals with
 * such badges. */
typedef struct cr_own_message {
    seL4_MessageInfo_t tag; /* of a message */
    seL4_Word badge;
} cr_own_message;

/* Receives one message and serves it. Returns whether it, or a part of the signals, is not for the
 * supervisor. The registers of such a message are still there. */
int cr_supervisor_turn(seL4_CPtr endpoint, cr_own_message *own);
/* Ends the trace. */
void cr_supervisor_end(void);
/* Serves messages until a hook ends the run. Without that hook it never returns. */
void cr_supervisor_run(seL4_CPtr endpoint);

#endif
