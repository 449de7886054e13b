/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The steps of a cleanup, with any journal, be it damaged or not, any plan whose arrays are as long
 * as it says, a model with any bytes, and any step and epoch: neither the journal nor the model
 * need fit the plan. */
#include "any_model.h"
#include <cellreap/steps.h>

enum { ENTRIES = 4096 };

static cr_doomed doomed[ENTRIES];
static cr_pair pre_destroy[ENTRIES];
static uint32_t pre_destroy_groups[ENTRIES];
static cr_ref core_freed[ENTRIES];
static cr_notice notices[ENTRIES];

void main(void)
{
    const cr_model *model = any_model();
    cr_plan plan;
    static cr_journal journal;
    cr_step step = {0};
    cr_step other;
    MAKE_ANY(&doomed);
    MAKE_ANY(&pre_destroy);
    MAKE_ANY(&pre_destroy_groups);
    MAKE_ANY(&core_freed);
    MAKE_ANY(&notices);
    MAKE_ANY(&plan);
    plan.doomed = doomed;
    plan.pre_destroy = pre_destroy;
    plan.pre_destroy_groups = pre_destroy_groups;
    plan.core_freed = core_freed;
    plan.notices = notices;
    plan.n_doomed = at_most(ENTRIES);
    plan.n_pre_destroy = at_most(ENTRIES);
    plan.n_core_freed = at_most(ENTRIES);
    plan.n_notices = at_most(ENTRIES);

    /* The steps ask for edges of one kind only. */
    (void)cr_model_count(model, (cr_edge_kind)any(), doomed[0].node, doomed[1].node);
    cr_journal_start(&journal, any());
    (void)cr_step_next(&journal, &plan, model, &step);
    MAKE_ANY(&journal);
    if (cr_step_next(&journal, &plan, model, &step) == CR_OK) {
        (void)cr_step_name(step.kind);
    }
    MAKE_ANY(&journal);
    (void)cr_step_take(&journal, any(), &plan, model, &step);
    (void)cr_step_name((cr_step_kind)any());

    MAKE_ANY(&journal);
    MAKE_ANY(&other);
    (void)cr_step_begin(&journal, any(), &other);
    (void)cr_step_note(&journal, any(), any());
    (void)cr_step_shorten(&journal, any(), any());
    (void)cr_journal_take_over(&journal, any());
    MAKE_ANY(&journal);
    (void)cr_step_leave(&journal, any());
    MAKE_ANY(&journal);
    (void)cr_step_done(&journal, any(), &plan);
    MAKE_ANY(&journal);
    (void)cr_journal_run_again(&journal, any());
    (void)cr_journal_told(&journal, any());
}
