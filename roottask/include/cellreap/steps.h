/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A plan as a chain of small steps. Each step may be repeated safely: what comes next is read off the plan,
 * the model and the journal's cursor, and a step that was done but not yet counted is done again to no
 * effect. So whoever finds a journal with a cursor in it can go on from there.
 *
 * Order (docs/semantics.md, "Order"): PDs at depth 0 are suspended first; then everything doomed is marked;
 * subscribers are told, group by group, and waited for after each group; the other doomed PDs are suspended;
 * the doomed nodes are destroyed group by group, a space after the requests to it and the resources in it, a
 * PD after the capability to its body; core resources that nobody holds any more are freed; clients that wait
 * for an answer from a PD that is gone are set going again; the notices owed are queued.
 *
 * Only what is told and how it is grouped must be the same plan up to the last AWAIT: the consequences may be
 * made anew then (cr_plan_again), since no step before it reads them. */
#ifndef CELLREAP_STEPS_H
#define CELLREAP_STEPS_H

#include <cellreap/policy.h>

/* CR_STEP(enumerator, number, name in traces, what it does) */
#define CR_STEPS                                                                                  \
    CR_STEP(CR_STEP_SUSPEND, 0, "suspend", "pd: its TCB runs no more")                            \
    CR_STEP(CR_STEP_MARK, 1, "mark", "node: doomed from here on")                                 \
    CR_STEP(CR_STEP_CUT_REQUEST, 2, "cut-request", "pd loses its REQUEST to node, a space")       \
    CR_STEP(CR_STEP_DESTROY_RESOURCE, 3, "destroy-resource", "node and every capability to it")   \
    CR_STEP(CR_STEP_DESTROY_SPACE, 4, "destroy-space", "node, which has no resources any more")   \
    CR_STEP(CR_STEP_DESTROY_PD, 5, "destroy-pd", "pd: its untyped is revoked and free again")     \
    CR_STEP(CR_STEP_UNBLOCK, 6, "unblock",                                                        \
        "pd: if it waits for an answer out of node, a dead server's space, it gets an error")     \
    CR_STEP(CR_STEP_NOTIFY, 7, "notify", "notice: queued, its receiver signalled")                \
    CR_STEP(CR_STEP_TELL, 8, "tell", "pd, a subscriber, is told that node is about to go")        \
    CR_STEP(CR_STEP_AWAIT, 9, "await", "until everybody told so far has answered or cannot")      \
    CR_STEP(CR_STEP_SETTLE, 10, "settle", "the last step: nothing is left to do")

typedef enum cr_step_kind {
#define CR_STEP(enumerator, number, ...) enumerator = number,
    CR_STEPS
#undef CR_STEP
    CR_STEP_KIND_COUNT
} cr_step_kind;

typedef struct cr_step {
    cr_step_kind kind;
    cr_ref node;            /* index CR_NONE where there is none */
    cr_ref pd;              /* likewise */
    const cr_notice *notice; /* NOTIFY */
} cr_step;

enum { CR_JOURNAL_MAGIC = 0x4a6c6c63 };

typedef struct cr_journal {
    uint32_t magic;
    uint32_t phase;
    uint32_t index;
    uint32_t done;    /* steps counted as done */
    uint32_t awaited; /* entries of pre_destroy that AWAIT is over for */
} cr_journal;

void cr_journal_start(cr_journal *journal);

/* The step at the cursor; moves the cursor over entries that need nothing. The chain is over when the step is
 * SETTLE. CR_ERR_CORRUPT if the journal is none, or the model contradicts the plan. */
cr_status cr_step_next(cr_journal *journal, const cr_plan *plan, const cr_model *model, cr_step *out);

/* The step was carried out. CR_ERR_CORRUPT. */
cr_status cr_step_done(cr_journal *journal, const cr_step *step);

const char *cr_step_name(cr_step_kind kind);

#endif
