/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What cleanups left. See residue.h. */
#include "residue.h"
#include "arena.h"
#include "execution.h"
#include "clock.h"
#include "kept.h"

int cr_residue_any(void)
{
    return cr_kept_count(1) > 0 || cr_sup.residues.for_good > 0;
}

/* -- what is left */

static void tell(cr_step_kind kind, cr_ref node, cr_ref pd)
{
    cr_execution_begin_line(CR_EV_LEFT);
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
    if (now->runs == 0 && cr_kept_count(1) == CR_MAX_RESIDUES) {
        cr_sup.residues.for_good++;
        return 0;
    }
    return 1;
}

void cr_residue_keep(void)
{
    cr_cleanup *now = &cr_sup.cleaner.now;
    if (now->runs == 0) {
        now->delay_ms = cr_sys.image->await_ms != 0 ? cr_sys.image->await_ms : 1;
    }
    now->occasion = cr_sup.residues.occasions;
    now->due = cr_clock_due(now->delay_ms);
    now->delay_ms =
        2 * now->delay_ms < CR_RESIDUE_DELAY_MS_MAX ? 2 * now->delay_ms : CR_RESIDUE_DELAY_MS_MAX;
    cr_kept_put(1);
}

void cr_residue_try_all(void)
{
    cr_sup.residues.occasions++;
}

/* -- later runs */

static int is_due(const cr_cleanup *cleanup)
{
    return cleanup->left && (cleanup->occasion != cr_sup.residues.occasions ||
                             (cleanup->due != 0 && cleanup->due <= cr_sup.clock.base));
}

int cr_residue_take_due(void)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    uint32_t at = 0;
    while (at < cleaner->n_kept && !is_due(&cleaner->kept[at])) {
        at++;
    }
    if (at == cleaner->n_kept) {
        return 0;
    }
    cr_kept_take(at);
    cleaner->now.runs++;
    cr_status status = cr_journal_run_again(&cleaner->now.journal, cleaner->epoch);
    if (status != CR_OK) {
        cr_panic("the journal of a cleanup that left something is damaged", cleaner->now.tag);
    }
    cr_cleaner_return(&cleaner->now);
    return 1;
}

uint64_t cr_residue_due(void)
{
    uint64_t due = 0;
    for (uint32_t i = 0; i < cr_sup.cleaner.n_kept; i++) {
        const cr_cleanup *cleanup = &cr_sup.cleaner.kept[i];
        due = cr_clock_earlier(due, cleanup->left ? cleanup->due : 0);
    }
    return due;
}
