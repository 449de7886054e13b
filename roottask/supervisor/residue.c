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

static int is_left(uint32_t at)
{
    return cr_sup.residues.at[at].use == CR_RESIDUE_LEFT;
}

int cr_residue_any(void)
{
    uint32_t at = 0;
    while (at < CR_MAX_RESIDUES && !is_left(at)) {
        at++;
    }
    return at < CR_MAX_RESIDUES || cr_sup.residues.for_good > 0;
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

/* CR_MAX_RESIDUES: there is none. */
static uint32_t free_place(void)
{
    uint32_t at = 0;
    while (at < CR_MAX_RESIDUES && cr_sup.residues.at[at].use != CR_RESIDUE_FREE) {
        at++;
    }
    return at;
}

/* The place that a cleanup has already if it is being carried out again, or has a record.
 * CR_MAX_RESIDUES: it has none. */
static uint32_t place_of_now(void)
{
    const uint32_t record = cr_sup.cleaner.now.record;
    return record != 0 ? record - 1 : cr_sup.residues.current;
}

int cr_residue_tell(void)
{
    const cr_cleanup *now = &cr_sup.cleaner.now;
    if (now->journal.n_kept == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < now->plan.n_doomed; i++) {
        const cr_doomed *doomed = &now->plan.doomed[i];
        if (cr_pd_of(doomed->node) != 0 && !doomed->stopped) {
            tell(CR_STEP_SUSPEND, none, doomed->node);
        }
        tell_node(doomed->node);
    }
    for (uint32_t i = 0; i < now->plan.n_core_freed; i++) {
        if (now->plan.core_freed[i].index != CR_NONE) {
            tell(CR_STEP_DESTROY_RESOURCE, now->plan.core_freed[i], none);
        }
    }
    for (uint32_t i = 0; i < now->plan.n_notices; i++) {
        if (now->plan.notices[i].to.index != CR_NONE) {
            tell(CR_STEP_NOTIFY, now->plan.notices[i].node, now->plan.notices[i].to);
        }
    }
    if (place_of_now() == CR_MAX_RESIDUES && free_place() == CR_MAX_RESIDUES) {
        cr_sup.residues.for_good++;
        return 0;
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

static void use(cr_residue *residue, cr_plan *plan)
{
    plan->doomed = residue->doomed;
    plan->core_freed = residue->core;
    plan->notices = &cr_sup.residues.notices[residue->first_notice];
}

static void drop(uint32_t at, uint32_t n_notices)
{
    close_gap(cr_sup.residues.at[at].first_notice, n_notices);
    cr_sup.residues.at[at].use = CR_RESIDUE_FREE;
}

/* The newest of the cleanups that left something has no later run any more. */
static void leave_for_good(void)
{
    cr_residues *residues = &cr_sup.residues;
    uint32_t newest = CR_MAX_RESIDUES;
    for (uint32_t i = 0; i < CR_MAX_RESIDUES; i++) {
        if (is_left(i) && (newest == CR_MAX_RESIDUES ||
                           residues->at[i].cleanup.tag > residues->at[newest].cleanup.tag)) {
            newest = i;
        }
    }
    if (newest == CR_MAX_RESIDUES) {
        cr_panic("more cleanups wait than may", CR_MAX_RESIDUES);
    }
    residues->for_good++;
    cr_cleaner_bury(&residues->at[newest].cleanup);
    drop(newest, residues->at[newest].cleanup.plan.n_notices);
}

void cr_residue_record(cr_cleanup *waits)
{
    cr_residues *residues = &cr_sup.residues;
    if (waits->record != 0) {
        return;
    }
    if (free_place() == CR_MAX_RESIDUES) {
        leave_for_good();
    }
    const uint32_t at = free_place();
    if (waits->plan.n_notices > CR_RESIDUE_NOTICES - residues->n_notices) {
        cr_panic("a cleanup that waits has no record", waits->tag);
    }
    waits->record = at + 1;
    residues->at[at].use = CR_RESIDUE_RECORD;
    residues->at[at].first_notice = residues->n_notices;
    copy_plan(&residues->at[at], &waits->plan);
    for (uint32_t i = 0; i < waits->plan.n_notices; i++) {
        residues->notices[residues->n_notices++] = waits->plan.notices[i];
    }
}

void cr_residue_take_up(cr_cleanup *goes_on)
{
    if (goes_on->record != 0) {
        use(&cr_sup.residues.at[goes_on->record - 1], &goes_on->plan);
    }
}

/* Keeps the notices that are still owed. `stand`: they stand in this array already. */
static void keep_notices(cr_residue *residue, cr_plan *plan, int stand)
{
    cr_residues *residues = &cr_sup.residues;
    const uint32_t first = stand ? residue->first_notice : residues->n_notices;
    uint32_t at = first;
    for (uint32_t i = 0; i < plan->n_notices; i++) {
        if (plan->notices[i].to.index == CR_NONE) {
            continue;
        }
        if (at == CR_RESIDUE_NOTICES) {
            cr_panic("cleanups owe more notices than there are edges", at);
        }
        residues->notices[at++] = plan->notices[i];
    }
    residue->first_notice = first;
    if (stand) {
        close_gap(at, plan->n_notices - (at - first));
    } else {
        residues->n_notices = at;
    }
    plan->n_notices = at - first;
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
    const uint32_t its = place_of_now();
    cr_residue *residue = &residues->at[its != CR_MAX_RESIDUES ? its : free_place()];
    keep_notices(residue, &now->plan, its != CR_MAX_RESIDUES);
    if (its == CR_MAX_RESIDUES) {
        copy_plan(residue, &now->plan);
    }
    if (residues->current == CR_MAX_RESIDUES) {
        residue->delay_ms = cr_sys.image->await_ms != 0 ? cr_sys.image->await_ms : 1;
    }
    residue->use = CR_RESIDUE_LEFT;
    residue->cleanup = *now;
    residue->cleanup.plan.n_pre_destroy = 0;
    residue->cleanup.record = 0;
    use(residue, &residue->cleanup.plan);
    residue->cleanup.phase = CR_PHASE_NONE;
    set_due(residue);
    residues->current = CR_MAX_RESIDUES;
}

void cr_residue_forget(void)
{
    const uint32_t its = place_of_now();
    if (its != CR_MAX_RESIDUES) {
        drop(its, cr_sup.cleaner.now.plan.n_notices);
    }
    cr_sup.residues.current = CR_MAX_RESIDUES;
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
    for (uint32_t i = 0; i < CR_MAX_RESIDUES; i++) {
        cr_residue *residue = &residues->at[i];
        if (!is_left(i) || !is_due(residue)) {
            continue;
        }
        residues->current = i;
        cleaner->now = residue->cleanup;
        use(residue, &cleaner->now.plan);
        cleaner->now.runs = ++residue->cleanup.runs;
        cr_status status = cr_journal_run_again(&cleaner->now.journal, cleaner->epoch);
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
    for (uint32_t i = 0; i < CR_MAX_RESIDUES; i++) {
        const uint64_t at = is_left(i) ? cr_sup.residues.at[i].due : 0;
        due = at != 0 && (due == 0 || at < due) ? at : due;
    }
    return due;
}
