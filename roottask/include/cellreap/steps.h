/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A plan as a chain of small steps. The next step follows from the plan, the model and the journal,
 * so whoever has these three can continue a cleanup. A step that has begun and is not recorded as
 * done follows again, even if it was carried out.
 *
 * The order is (docs/semantics.md, "Order"):
 *
 *   1. PDs at depth 0 are stopped.
 *   2. All doomed nodes are marked.
 *   3. Subscribers are told, group by group, and are waited for after each group.
 *   4. The other doomed PDs are stopped, but not those with destructors.
 *   5. The doomed nodes are destroyed group by group: a space after the requests to it and the
 *      resources in it, a PD after the capability to its body and the regions of its address space.
 *      Before that, the PDs of the group that have destructors are told, awaited and stopped.
 *   6. Other core resources that no PD holds any more are freed.
 *   7. The owed notices are queued.
 *
 * cr_plan_again may replace the consequences of the plan until the last AWAIT of 3 is done, because
 * no earlier step reads them. Doomed nodes, groups and subscribers must stay the same. */
#ifndef CELLREAP_STEPS_H
#define CELLREAP_STEPS_H

#include <cellreap/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CR_STEP(enumerator, number, name in traces, what it does, why it may be repeated)
 *
 * No step is reverted: a cleanup rolls forward. Who carries out a step may die at any kernel call
 * in it or behind it. The step is then carried out again, from its beginning. */
/* clang-format off */
#define CR_STEPS                                                                                   \
    CR_STEP(CR_STEP_SUSPEND, 0, "suspend",                                                         \
        "stops pd, if it is not stopped yet, and answers the PDs that are in a call to it",        \
        "a PD that was answered is known by the server that it was answered for")                  \
    CR_STEP(CR_STEP_MARK, 1, "mark", "marks node as doomed", "a doomed node stays doomed")         \
    CR_STEP(CR_STEP_CUT_REQUEST, 2, "cut-request", "removes pd's REQUEST to node, a space",        \
        "the edge goes after the capability; without it nothing is left to do")                    \
    CR_STEP(CR_STEP_DESTROY_RESOURCE, 3, "destroy-resource",                                       \
        "destroys node and every capability to it, and in a doomed space also resources behind "   \
        "it, until a PD waits to be served",                                                       \
        "the node goes after the capabilities; without it nothing is left to do; of several, "     \
        "those that are destroyed already are passed")                                             \
    CR_STEP(CR_STEP_DESTROY_SPACE, 4, "destroy-space",                                             \
        "destroys node, which has no resources any more", "a destroyed space stays destroyed")     \
    CR_STEP(CR_STEP_DESTROY_PD, 5, "destroy-pd",                                                   \
        "destroys pd: its untyped is revoked and free again",                                      \
        "the PD goes after its untyped was revoked; without it nothing is left to do")             \
    CR_STEP(CR_STEP_NOTIFY, 6, "notify",                                                           \
        "queues notices that follow each other and have the same receiver, and signals it",        \
        "the journal tells whether the notices are queued, and until then the cleaner's record "   \
        "how many are; a second signal has no effect")                                             \
    CR_STEP(CR_STEP_TELL, 7, "tell", "queues a pre-destroy notice about node to pd, a subscriber", \
        "as notify")                                                                               \
    CR_STEP(CR_STEP_AWAIT, 8, "await",                                                             \
        "waits until every subscriber told so far has answered or cannot answer",                  \
        "it changes nothing")                                                                      \
    CR_STEP(CR_STEP_SETTLE, 9, "settle", "the last step: nothing is left to do",                   \
        "it changes nothing")
/* clang-format on */

typedef enum cr_step_kind {
#define CR_STEP(enumerator, number, ...) enumerator = number,
    CR_STEPS
#undef CR_STEP
        CR_STEP_KIND_COUNT
} cr_step_kind;

typedef struct cr_step {
    cr_step_kind kind;
    cr_ref node;             /* index CR_NONE where there is none */
    cr_ref pd;               /* index CR_NONE where there is none */
    const cr_notice *notice; /* NOTIFY: the first one */
    /* NOTIFY: number of notices, from `notice` on. DESTROY_RESOURCE: number of resources of the
     * space of `node`, which is the first of them. Else 1. */
    uint32_t count;
} cr_step;

/* The number of notices that one step queues, from the notice at `at` on, if nothing was left. `at`
 * is less than the number of notices. */
uint32_t cr_step_notices(const cr_plan *plan, uint32_t at);

/* -- the journal
 *
 * Each row of a plan tells whether it is done: a doomed node by its state in the model and by
 * `stopped`, a core resource and a notice by whether the row still has it. The journal has the
 * place in the plan, and the step that has begun there. Both outlive who carries out the steps (the
 * cleaner). What is to be done is written before it is done: cr_step_take or cr_step_begin comes
 * before the step, cr_step_done after it. Whoever writes names the epoch in which it began. A
 * cleaner that died is followed by one in the next epoch (cr_journal_take_over), and nothing that
 * is left of the old one can write any more.
 *
 * A step that is not one of the row at the cursor is never carried out, and a chain never ends
 * before each row is done or was left, whatever a journal says. */

enum {
    CR_JOURNAL_VERSION = 1,
    CR_STEP_ATTEMPTS = 3, /* a step that failed so often is left for later */
    /* A step queues at most so many notices, or destroys so many resources: others may have to wait
     * until a step is done. */
    CR_STEP_AT_ONCE = 32
};

typedef struct cr_journal {
    uint32_t version;
    uint32_t epoch;
    /* The cursor. */
    uint32_t phase;
    uint32_t index;
    uint32_t done;    /* number of finished steps */
    uint32_t awaited; /* entries of pre_destroy that were awaited */
    /* The step of the row at the cursor that has begun and is not finished. */
    uint32_t attempts; /* how often it began; 0: none has begun */
    uint32_t kind;
    uint32_t count;
    uint32_t half; /* how far it is: whoever carries it out knows what this means */
    cr_ref part;   /* CUT_REQUEST: pd, DESTROY_RESOURCE: node. Else index CR_NONE: see the row */
    /* What was left. */
    uint32_t later;  /* a later run of the cleanup */
    uint32_t second; /* the second run over the phase, or a later run: over what is not done */
    uint32_t n_left; /* rows that this run over the phase left */
    uint32_t n_kept; /* rows that are left for a later run of the cleanup */
    /* The turns of destructors: the doomed nodes up to here were told, awaited and suspended, as
     * far as they have one. 0 before the first turn. */
    uint32_t told;
    uint32_t had;
    uint32_t stopped;
} cr_journal;

/* Begins the journal of a cleanup, in the first epoch of it. */
void cr_journal_start(cr_journal *journal, uint32_t epoch);

/* Begins a later epoch. Writes of the earlier ones are refused from now on. CR_ERR_VERSION: another
 * version wrote the journal. CR_ERR_EPOCH: `epoch` is not later. */
cr_status cr_journal_take_over(cr_journal *journal, uint32_t epoch);

/* Returns the step that has begun and is not finished, or else the step at the cursor, and moves
 * the cursor over rows that need no step. The chain is over when the step is SETTLE.
 * CR_ERR_CORRUPT if the plan has no such step or place, or the model contradicts the plan. */
cr_status cr_step_next(cr_journal *journal, cr_plan *plan, const cr_model *model, cr_step *out);

/* Records that a step begins, or begins again: `attempts` tells how often. CR_ERR_CORRUPT, EPOCH.
 * CR_ERR_BUSY: another step has begun. */
cr_status cr_step_begin(cr_journal *journal, uint32_t epoch, const cr_step *step);

/* cr_step_next, and if the step is neither an AWAIT nor SETTLE also cr_step_begin. The errors are
 * those of both. */
cr_status cr_step_take(cr_journal *journal, uint32_t epoch, cr_plan *plan, const cr_model *model,
                       cr_step *out);

/* Records how far the step is. CR_ERR_EPOCH. CR_ERR_ABSENT: none has begun. */
cr_status cr_step_note(cr_journal *journal, uint32_t epoch, uint32_t half);

/* Records that the step concerns only the first `count` of its notices or resources. CR_ERR_EPOCH,
 * ABSENT. CR_ERR_ARG: `count` is 0 or more than there are. */
cr_status cr_step_shorten(cr_journal *journal, uint32_t epoch, uint32_t count);

/* Records that the step that has begun was carried out. CR_ERR_CORRUPT, EPOCH, ABSENT. */
cr_status cr_step_done(cr_journal *journal, uint32_t epoch, cr_plan *plan);

/* Leaves the step that has begun: the rest goes on. Of several notices only the first is left, and
 * later steps have the others. The first run over a phase leaves it for the second run over it,
 * that one for a later run of the cleanup. Rows of the plan that depend on it are left too. A TELL
 * is left for good. CR_ERR_EPOCH, ABSENT. CR_ERR_STATE: an AWAIT changes nothing, and is never
 * left. */
cr_status cr_step_leave(cr_journal *journal, uint32_t epoch);

/* Begins a later run of a cleanup whose steps are over: over the rows that are not done. The plan
 * may have no pre_destroy. CR_ERR_EPOCH: `epoch` is earlier. CR_ERR_STATE: a step has begun. */
cr_status cr_journal_run_again(cr_journal *journal, uint32_t epoch);

/* Goes on behind the telling of subscribers, whose last AWAIT is done, with a plan that was made
 * anew: it may have other rows. CR_ERR_EPOCH. CR_ERR_STATE: not all were told, a step has begun, or
 * something was left. */
cr_status cr_journal_told(cr_journal *journal, uint32_t epoch);

const char *cr_step_name(cr_step_kind kind);

#ifdef __cplusplus
}
#endif

#endif
