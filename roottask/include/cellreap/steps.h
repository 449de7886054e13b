/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A plan as a chain of small steps. The next step follows from the plan, the model
 * and the journal's cursor, so a cleanup can be continued from a saved journal. If the last step
 * was done and not recorded, a mark, a cut or a destruction does not follow again, because the
 * model shows it. Any other step follows again.
 *
 * The order is (docs/semantics.md, "Order"):
 *
 *   1. PDs at depth 0 are stopped.
 *   2. All doomed nodes are marked.
 *   3. Subscribers are told, group by group, and are waited for after each group.
 *   4. The other doomed PDs are stopped.
 *   5. The doomed nodes are destroyed group by group: a space after the requests to it and the
 *      resources in it, a PD after the capability to its body.
 *   6. Core resources that no PD holds any more are freed.
 *   7. The owed notices are queued.
 *
 * cr_plan_again may replace the consequences of the plan until the last AWAIT is done, because no
 * earlier step reads them. The doomed nodes, the groups and the subscribers must stay the same. */
#ifndef CELLREAP_STEPS_H
#define CELLREAP_STEPS_H

#include <cellreap/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CR_STEP(enumerator, number, name in traces, what it does) */
#define CR_STEPS                                                                                   \
    CR_STEP(CR_STEP_SUSPEND, 0, "suspend",                                                         \
        "stops pd, if it is not stopped yet, and answers the PDs that are in a call to it")        \
    CR_STEP(CR_STEP_MARK, 1, "mark", "marks node as doomed")                                       \
    CR_STEP(CR_STEP_CUT_REQUEST, 2, "cut-request", "removes pd's REQUEST to node, a space")        \
    CR_STEP(CR_STEP_DESTROY_RESOURCE, 3, "destroy-resource",                                       \
        "destroys node and every capability to it")                                                \
    CR_STEP(CR_STEP_DESTROY_SPACE, 4, "destroy-space",                                             \
        "destroys node, which has no resources any more")                                          \
    CR_STEP(CR_STEP_DESTROY_PD, 5, "destroy-pd",                                                   \
        "destroys pd: its untyped is revoked and free again")                                      \
    CR_STEP(CR_STEP_NOTIFY, 6, "notify", "queues notice and signals its receiver")                 \
    CR_STEP(CR_STEP_TELL, 7, "tell", "queues a pre-destroy notice about node to pd, a subscriber") \
    CR_STEP(CR_STEP_AWAIT, 8, "await",                                                             \
        "waits until every subscriber told so far has answered or cannot answer")                  \
    CR_STEP(CR_STEP_SETTLE, 9, "settle", "the last step: nothing is left to do")

typedef enum cr_step_kind {
#define CR_STEP(enumerator, number, ...) enumerator = number,
    CR_STEPS
#undef CR_STEP
    CR_STEP_KIND_COUNT
} cr_step_kind;

typedef struct cr_step {
    cr_step_kind kind;
    cr_ref node;            /* index CR_NONE where there is none */
    cr_ref pd;              /* index CR_NONE where there is none */
    const cr_notice *notice; /* NOTIFY */
} cr_step;

enum { CR_JOURNAL_MAGIC = 0x4a6c6c63 };

typedef struct cr_journal {
    uint32_t magic;
    uint32_t phase;
    uint32_t index;
    uint32_t done;    /* number of finished steps */
    uint32_t awaited; /* entries of pre_destroy that were awaited */
} cr_journal;

void cr_journal_start(cr_journal *journal);

/* Returns the step at the cursor, and moves the cursor over entries that need no step. The chain is
 * over when the step is SETTLE. CR_ERR_CORRUPT if the journal is invalid or the model contradicts
 * the plan. */
cr_status cr_step_next(cr_journal *journal, const cr_plan *plan, const cr_model *model,
                       cr_step *out);

/* Records that the step was carried out. CR_ERR_CORRUPT. */
cr_status cr_step_done(cr_journal *journal, const cr_step *step);

const char *cr_step_name(cr_step_kind kind);

#ifdef __cplusplus
}
#endif

#endif
