/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a root task gives to the supervisor, and may add to it. The supervisor receives the faults and operations of
 * PDs, cleans up after them, and makes those anew that the configuration wants back. It works without any hook. */
#ifndef CELLREAP_SUPERVISOR_HOOKS_H
#define CELLREAP_SUPERVISOR_HOOKS_H

#include "system/system.h"

/* What becomes of an operation that a hook answers. */
typedef enum cr_hook_answer {
    CR_HOOK_ANSWER = 0, /* it is answered now */
    CR_HOOK_KEEP        /* its PD waits until the hook's owner calls cr_answer_checkpoint */
} cr_hook_answer;

/* Called by the supervisor, on its thread, between two messages; none may block. Any of them may be 0. */
typedef struct cr_hooks {
    /* A PD is at a checkpoint. `round_boundary`: between two rounds of work. *order and *slot answer it. Without this hook
     * every checkpoint is answered with CR_ORDER_CONTINUE. */
    cr_hook_answer (*checkpoint)(cr_pd *pd, int round_boundary, uint64_t *order, uint32_t *slot);
    /* A PD that waits at a checkpoint has to answer somebody else: call cr_answer_checkpoint for it now. */
    void (*release)(cr_pd *pd);
    /* The alarm of cr_clock_alarm went off. */
    void (*alarm)(void);
    /* The bound notification was signalled: by the timer, or by a badge of the hooks' owner, or both. */
    void (*signal)(uint64_t badge);
    /* After each message, when everything that follows from it is done. Returns 0 to end the run. */
    int (*handled)(void);
} cr_hooks;

/* Sets up the supervisor's state. `notification`: bound to the root task's thread. `hooks` may be 0. */
void cr_supervisor_init(const cr_hooks *hooks, seL4_CPtr notification);
/* Serves until a hook ends the run: without that hook, for ever. */
void cr_supervisor_run(seL4_CPtr endpoint);

#endif
