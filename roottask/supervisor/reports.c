/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reports to listeners. See reports.h. A report is made where the trace tells the same, so the two
 * have the same order. */
#include "reports.h"
#include "arena.h"

_Static_assert((int)CR_REPORT_WORD_COUNT == (int)CR_REPORT_WORDS, "the table has them all");

/* -- the number of steps */

/* The place of a node among the doomed ones, or the number of these. An entry of `places` counts
 * only if the plan says the same, so the table needs no clearing. */
static uint32_t place_of(const cr_plan *plan, cr_ref node)
{
    const uint32_t place = cr_sup.reports.places[node.index];
    return place < plan->n_doomed && cr_same(plan->doomed[place].node, node) ? place
                                                                             : plan->n_doomed;
}

/* The steps that destroy the resources of a doomed space. */
static uint32_t count_members(cr_ref space)
{
    cr_node_info info;
    const uint32_t members = cr_model_get(cr_sys.model, space, &info) == CR_OK ? info.members : 0;
    return (members + CR_STEP_AT_ONCE - 1) / CR_STEP_AT_ONCE;
}

/* A REQUEST of a PD that is destroyed before the space goes with that PD. */
static uint32_t count_requests(const cr_plan *plan, uint32_t at)
{
    cr_edge_walk requests =
        cr_model_walk(cr_sys.model, plan->doomed[at].node, CR_EDGE_REQUEST, CR_IN);
    uint32_t count = 0;
    while (cr_model_next(&requests)) {
        const uint32_t place = place_of(plan, requests.other);
        count += place == plan->n_doomed || place > at;
    }
    return count;
}

static uint32_t count_groups(const cr_plan *plan)
{
    uint32_t count = plan->n_pre_destroy > 0;
    for (uint32_t i = 1; i < plan->n_pre_destroy; i++) {
        count += plan->pre_destroy_groups[i] != plan->pre_destroy_groups[i - 1];
    }
    return count;
}

/* The steps that tell the PDs with destructors, and await each group of them. */
static uint32_t count_turns(const cr_plan *plan)
{
    uint32_t count = plan->n_destructors;
    uint32_t last = CR_NONE;
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        if (plan->doomed[i].destructor) {
            count += plan->doomed[i].group != last;
            last = plan->doomed[i].group;
        }
    }
    return count;
}

uint32_t cr_reports_count_steps(const cr_plan *plan)
{
    uint32_t count = plan->n_doomed + plan->n_pre_destroy + count_groups(plan) + count_turns(plan) +
                     plan->n_core_freed;
    for (uint32_t at = 0; at < plan->n_notices;
         at += plan->n_destructors > 0 ? 1 : cr_step_notices(plan, at)) {
        count++;
    }
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        cr_sup.reports.places[plan->doomed[i].node.index] = i;
    }
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        const cr_ref node = plan->doomed[i].node;
        if (cr_pd_of(node) != 0) {
            const int has_body =
                cr_model_first(cr_sys.model, node, CR_EDGE_BODY, CR_OUT) != CR_NONE;
            count += 2u + (has_body ? 1u : 0u); /* to suspend and to destroy it, and its body */
        } else {
            count += 1u + count_requests(plan, i) + count_members(node);
        }
    }
    return count;
}

/* -- making reports */

static cr_report *begin(cr_report_kind kind)
{
    cr_report *report = &cr_sup.reports.at[++cr_sup.reports.last % CR_MAX_REPORTS];
    *report = (cr_report){0};
    report->words[CR_REPORT_NUMBER] = cr_sup.reports.last;
    report->words[CR_REPORT_KIND] = (uint64_t)kind;
    return report;
}

static cr_report *begin_of_cleanup(cr_report_kind kind)
{
    const cr_cleanup *now = &cr_sup.cleaner.now;
    cr_report *report = begin(kind);
    report->words[CR_REPORT_CLEANUP] = now->tag;
    report->words[CR_REPORT_STEPS] = now->steps;
    return report;
}

void cr_report_start(void)
{
    cr_report *report = begin_of_cleanup(CR_REPORT_STARTING);
    report->words[CR_REPORT_PD] = cr_id_or_none(cr_sup.cleaner.now.plan.trigger)->pd;
}

void cr_report_end(void)
{
    const cr_journal *journal = &cr_sup.cleaner.now.journal;
    const int leaves = journal->n_kept != 0;
    cr_report *report = begin_of_cleanup(leaves ? CR_REPORT_UNFINISHED : CR_REPORT_COMPLETED);
    report->words[CR_REPORT_STEP] = journal->done;
    report->words[CR_REPORT_RESULT] = leaves ? CR_RESULT_FAILED : CR_RESULT_OK;
    report->words[CR_REPORT_PD] = cr_id_or_none(cr_sup.cleaner.now.plan.trigger)->pd;
}

void cr_report_death(const cr_step *step, uint32_t number, uint32_t attempts, int leaves)
{
    cr_report *report = begin_of_cleanup(leaves ? CR_REPORT_LEFT : CR_REPORT_ERRORED);
    report->words[CR_REPORT_STEP] = number;
    report->words[CR_REPORT_STEP_KIND] = (uint64_t)step->kind;
    report->words[CR_REPORT_ATTEMPTS] = attempts;
    report->words[CR_REPORT_RESULT] = CR_RESULT_FAILED;
    /* As the line about this death: the step may have destroyed them. */
    report->words[CR_REPORT_PD] = cr_sup.cleaner.at.pd->pd;
    report->words[CR_REPORT_SPACE] = cr_sup.cleaner.at.node->space;
    report->words[CR_REPORT_OBJECT] = cr_sup.cleaner.at.node->object;
}

void cr_report_unmade(cr_made made, const cr_make_result *result)
{
    cr_report *report = begin(CR_REPORT_UNMADE);
    report->words[CR_REPORT_STEP] = result->done + 1;
    report->words[CR_REPORT_STEP_KIND] = (uint64_t)result->step.kind;
    report->words[CR_REPORT_OBJECT] = (uint64_t)made;
    report->words[CR_REPORT_RESULT] = (uint64_t)cr_result_of(result->status);
}

/* -- telling them */

const cr_report *cr_report_after(uint64_t seen)
{
    const cr_reports *reports = &cr_sup.reports;
    if (seen >= reports->last) {
        return 0;
    }
    const uint64_t gone = reports->last > CR_MAX_REPORTS ? reports->last - CR_MAX_REPORTS : 0;
    return &reports->at[((seen > gone ? seen : gone) + 1) % CR_MAX_REPORTS];
}

void cr_reports_follow_up(void)
{
    if (cr_sup.reports.seen == cr_sup.reports.last) {
        return;
    }
    cr_sup.reports.seen = cr_sup.reports.last;
    for (uint32_t i = 1; cr_sys.may_listen && i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_is_up(pd) && (pd->flags & CR_IMAGE_MAY_LISTEN) != 0 && !pd->has_reports) {
            pd->has_reports = 1;
            cr_notice_signal(pd);
        }
    }
}
