/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What cleanups left. See residue.h. */
#include "residue.h"
#include "arena.h"
#include "carry.h"
#include "clock.h"

void cr_residue_init(void)
{
    cr_sup.residues.current = CR_MAX_RESIDUES;
}

int cr_residue_any(void)
{
    return cr_sup.residues.count > 0;
}

/* -- what is left */

static void tell(cr_step_kind kind, cr_ref node, cr_ref pd)
{
    cr_carry_begin_line(CR_EV_LEFT);
    cr_trace_name(&cr_sys.trace, cr_step_name(kind));
    cr_trace_node(node);
    cr_trace_node(pd);
    cr_trace_end(&cr_sys.trace);
}

static const cr_ref none = {CR_NONE, 0};

/* Tells of the other ends of a node's edges of this kind. */
static void tell_ends(cr_ref node, cr_edge_kind kind, cr_direction direction)
{
    for (uint32_t edge = cr_model_first(cr_sys.model, node, kind, direction); edge != CR_NONE;
         edge = cr_model_next(cr_sys.model, edge, node, direction)) {
        cr_edge_info info;
        if (cr_model_edge(cr_sys.model, edge, &info) != CR_OK) {
            cr_panic("an edge that was found is not there", edge);
        }
        if (kind == CR_EDGE_REQUEST) {
            tell(CR_STEP_CUT_REQUEST, node, info.from);
        } else {
            tell(CR_STEP_DESTROY_RESOURCE, direction == CR_OUT ? info.to : info.from, none);
        }
    }
}

static void tell_node(cr_ref node)
{
    cr_node_info info;
    if (cr_model_get(cr_sys.model, node, &info) != CR_OK || info.state == CR_STATE_DESTROYED) {
        return;
    }
    if (info.kind == CR_NODE_PD) {
        tell_ends(node, CR_EDGE_BODY, CR_OUT);
        tell(CR_STEP_DESTROY_PD, node, node);
        return;
    }
    tell_ends(node, CR_EDGE_REQUEST, CR_IN);
    tell_ends(node, CR_EDGE_SUBSET, CR_IN);
    tell(CR_STEP_DESTROY_SPACE, node, none);
}

int cr_residue_tell(void)
{
    const cr_cleanup *now = &cr_sup.cleaner.now;
    const cr_journal *journal = cr_journal_of(now);
    if (journal->n_kept == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < now->plan.n_doomed; i++) {
        if (cr_journal_entry(journal, CR_LEFT_SUSPEND, i) != CR_ENTRY_CLEAR) {
            tell(CR_STEP_SUSPEND, none, now->plan.doomed[i].node);
        }
        tell_node(now->plan.doomed[i].node);
    }
    for (uint32_t i = 0; i < now->plan.n_core_freed; i++) {
        if (cr_journal_entry(journal, CR_LEFT_CORE, i) != CR_ENTRY_CLEAR) {
            tell(CR_STEP_DESTROY_RESOURCE, now->plan.core_freed[i], none);
        }
    }
    for (uint32_t i = 0; i < now->plan.n_notices; i++) {
        if (cr_journal_entry(journal, CR_LEFT_NOTIFY, i) != CR_ENTRY_CLEAR) {
            tell(CR_STEP_NOTIFY, now->plan.notices[i].node, now->plan.notices[i].to);
        }
    }
    return 1;
}

/* -- keeping */

/* Removes `count` notices. Those behind them move up. */
static void close_gap(uint32_t at, uint32_t count)
{
    cr_residues *residues = &cr_sup.residues;
    residues->n_notices -= count;
    for (uint32_t i = at; i < residues->n_notices; i++) {
        residues->notices[i] = residues->notices[i + count];
    }
    for (uint32_t i = 0; count != 0 && i < CR_MAX_RESIDUES; i++) {
        cr_residue *other = &residues->at[i];
        other->first_notice -= other->first_notice >= at + count ? count : 0;
    }
}

static void copy_plan(cr_residue *to, const cr_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        to->doomed[i] = plan->doomed[i];
    }
    for (uint32_t i = 0; i < plan->n_core_freed; i++) {
        to->core[i] = plan->core_freed[i];
    }
}

static void use(const cr_residue *residue, cr_plan *plan)
{
    plan->doomed = residue->doomed;
    plan->core_freed = residue->core;
    plan->notices = &cr_sup.residues.notices[residue->first_notice];
}

static int is_record(uint32_t at)
{
    for (uint32_t i = 0; i < cr_sup.cleaner.n_waiting; i++) {
        if (cr_sup.cleaner.waiting[i].record == at) {
            return 1;
        }
    }
    return 0;
}

void cr_residue_record(cr_cleanup *waits)
{
    cr_residues *residues = &cr_sup.residues;
    uint32_t at = CR_MAX_RESIDUES - 1;
    if (waits->record != 0) {
        return;
    }
    while (is_record(at)) {
        at--;
    }
    if (at < residues->count || waits->plan.n_notices > CR_RESIDUE_NOTICES - residues->n_notices) {
        cr_panic("a cleanup that waits has no record", waits->tag);
    }
    waits->record = at;
    residues->at[at].first_notice = residues->n_notices;
    copy_plan(&residues->at[at], &waits->plan);
    for (uint32_t i = 0; i < waits->plan.n_notices; i++) {
        residues->notices[residues->n_notices++] = waits->plan.notices[i];
    }
}

void cr_residue_take_up(cr_cleanup *goes_on)
{
    if (goes_on->record != 0) {
        use(&cr_sup.residues.at[goes_on->record], &goes_on->plan);
    }
}

/* Keeps the notices that are still owed. After a later run they stand in this array already. */
static void keep_notices(cr_residue *residue, cr_plan *plan, cr_journal *journal, int again)
{
    cr_residues *residues = &cr_sup.residues;
    const uint32_t first = again ? residue->first_notice : residues->n_notices;
    uint32_t at = first;
    for (uint32_t i = 0; i < plan->n_notices; i++) {
        if (cr_journal_entry(journal, CR_LEFT_NOTIFY, i) != CR_ENTRY_KEPT) {
            continue;
        }
        if (at == CR_RESIDUE_NOTICES) {
            cr_panic("cleanups owe more notices than there are edges", at);
        }
        residues->notices[at++] = plan->notices[i];
    }
    residue->first_notice = first;
    if (again) {
        close_gap(at, plan->n_notices - (at - first));
    } else {
        residues->n_notices = at;
    }
    plan->n_notices = at - first;
    cr_journal_pack_notices(journal);
}

static void set_due(cr_residue *residue)
{
    const cr_residues *residues = &cr_sup.residues;
    residue->settled = residues->settled;
    residue->triggers = residues->triggers;
    residue->due = cr_clock_due(residue->delay_ms);
    residue->delay_ms = 2 * residue->delay_ms < CR_RESIDUE_DELAY_MS_MAX
                            ? 2 * residue->delay_ms
                            : CR_RESIDUE_DELAY_MS_MAX;
}

void cr_residue_keep(void)
{
    cr_residues *residues = &cr_sup.residues;
    cr_cleanup *now = &cr_sup.cleaner.now;
    const int again = residues->current != CR_MAX_RESIDUES;
    if (!again && residues->count == CR_MAX_RESIDUES) {
        cr_panic("more cleanups left something than may begin", now->tag);
    }
    cr_residue *residue = &residues->at[again ? residues->current : residues->count++];
    if (now->record != 0) {
        residue->first_notice = residues->at[now->record].first_notice;
    }
    keep_notices(residue, &now->plan, cr_journal_of(now), again || now->record != 0);
    if (!again) {
        copy_plan(residue, &now->plan);
        residue->delay_ms = cr_sys.image->await_ms != 0 ? cr_sys.image->await_ms : 1;
    }
    residue->cleanup = *now;
    residue->cleanup.plan.n_pre_destroy = 0;
    residue->cleanup.record = 0;
    use(residue, &residue->cleanup.plan);
    residue->cleanup.phase = CR_PHASE_NONE;
    cr_cleaner_remain(&residue->cleanup);
    set_due(residue);
    residues->current = CR_MAX_RESIDUES;
}

void cr_residue_forget(void)
{
    cr_residues *residues = &cr_sup.residues;
    const uint32_t at = residues->current;
    if (cr_sup.cleaner.now.record != 0) {
        close_gap(residues->at[cr_sup.cleaner.now.record].first_notice,
                  cr_sup.cleaner.now.plan.n_notices);
    }
    if (at == CR_MAX_RESIDUES) {
        return;
    }
    close_gap(residues->at[at].first_notice, cr_sup.cleaner.now.plan.n_notices);
    residues->at[at] = residues->at[--residues->count];
    residues->current = CR_MAX_RESIDUES;
}

void cr_residue_note_settled(void)
{
    cr_sup.residues.settled++;
}

void cr_residue_try_all(void)
{
    cr_sup.residues.triggers++;
}

/* -- later runs */

static int is_due(const cr_residue *residue)
{
    const cr_residues *residues = &cr_sup.residues;
    return residue->settled != residues->settled || residue->triggers != residues->triggers ||
           (residue->due != 0 && residue->due <= cr_sup.clock.base);
}

int cr_residue_take_due(void)
{
    cr_residues *residues = &cr_sup.residues;
    cr_cleaner *cleaner = &cr_sup.cleaner;
    for (uint32_t i = 0; i < residues->count; i++) {
        cr_residue *residue = &residues->at[i];
        if (!is_due(residue)) {
            continue;
        }
        residues->current = i;
        cleaner->now = residue->cleanup;
        use(residue, &cleaner->now.plan);
        cleaner->now.runs = ++residue->cleanup.runs;
        cr_status status = cr_journal_run_again(cr_journal_of(&cleaner->now), cleaner->epoch);
        if (status != CR_OK) {
            cr_panic("the journal of a cleanup that left something is damaged", cleaner->now.tag);
        }
        cr_cleaner_return(&cleaner->now);
        return 1;
    }
    return 0;
}

uint64_t cr_residue_due(void)
{
    uint64_t due = 0;
    for (uint32_t i = 0; i < cr_sup.residues.count; i++) {
        const uint64_t at = cr_sup.residues.at[i].due;
        due = at != 0 && (due == 0 || at < due) ? at : due;
    }
    return due;
}
