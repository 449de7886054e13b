/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The planner, on a model with any bytes, which may change in any way between two calls. All that
 * the planner keeps has any bytes, except its sizes and pointers, which are as cr_planner_init
 * leaves them, and the number of nodes that its last plan found, which fits the sizes. The metrics,
 * which have their own memory, answer anything: core/metrics is not analysed. */
#include "any_model.h"
#include "planner.h"
#include <cellreap/metrics.h>

#ifndef OPERATION /* one of the operations below, for a shorter analysis */
#define OPERATION any()
#endif

enum { ITEMS = 4096, BEFORE = 2 * ITEMS };

static cr_scratch scratch[NODES];
static cr_doomed found[ITEMS];
static cr_doomed doomed[ITEMS];
static cr_pair removed_requests[ITEMS];
static cr_pair revoked[ITEMS];
static cr_pair revoked_spaces[ITEMS];
static cr_pair pre_destroy[ITEMS];
static uint32_t pre_destroy_groups[ITEMS];
static cr_pair revoked_bodies[ITEMS];
static cr_broken broken[ITEMS];
static cr_notice notices[ITEMS];
static cr_ref core_freed[ITEMS];
static uint32_t core[ITEMS];
static uint32_t queue[ITEMS];
static cr_order_node order[ITEMS + 1];
static cr_before before[BEFORE];
static uint32_t succ[BEFORE];
static uint64_t small_memory[1000];

cr_status cr_metrics_begin(cr_metrics *metrics, cr_model *model,
                           const cr_metric_resource *resources, int with_root)
{
    return (cr_status)any();
}

cr_status cr_metrics_first(cr_metrics *metrics, cr_ref pd)
{
    return (cr_status)any();
}

cr_status cr_metrics_second(cr_metrics *metrics, cr_ref pd)
{
    return (cr_status)any();
}

cr_status cr_metrics_fr(const cr_metrics *metrics, uint32_t *fr)
{
    *fr = any();
    return (cr_status)any();
}

cr_status cr_metrics_rsi(const cr_metrics *metrics, uint32_t type, cr_rsi *out)
{
    MAKE_ANY(out);
    return (cr_status)any();
}

/* A policy with any thresholds that cr_check_closeness accepts: Eva does not remember what was
 * checked behind a pointer. */
static cr_closeness any_closeness(void)
{
    static cr_rsi_min rsi_mins[CR_RSI_MINS_MAX];
    static const cr_metric_resource resources[NODES];
    /*@ loop unroll CR_RSI_MINS_MAX; */
    for (uint32_t i = 0; i < CR_RSI_MINS_MAX; i++) {
        rsi_mins[i].type = any();
        rsi_mins[i].shared = any();
        rsi_mins[i].all = at_most(UINT32_MAX - 1) + 1;
    }
    const cr_closeness close = {
        .policy = (cr_policy)at_most(CR_POLICY_COUNT),
        .fr_max = any(),
        .n_rsi_min = at_most(CR_RSI_MINS_MAX),
        .rsi_min = rsi_mins,
        .metrics = (cr_metrics *)small_memory, /* what is in it, only core/metrics knows */
        .resources = resources};
    return close;
}

static cr_planner any_planner(void)
{
    cr_planner planner;
    MAKE_ANY(&scratch);
    MAKE_ANY(&found);
    MAKE_ANY(&doomed);
    MAKE_ANY(&removed_requests);
    MAKE_ANY(&revoked);
    MAKE_ANY(&revoked_spaces);
    MAKE_ANY(&pre_destroy);
    MAKE_ANY(&pre_destroy_groups);
    MAKE_ANY(&revoked_bodies);
    MAKE_ANY(&broken);
    MAKE_ANY(&notices);
    MAKE_ANY(&core_freed);
    MAKE_ANY(&core);
    MAKE_ANY(&queue);
    MAKE_ANY(&order);
    MAKE_ANY(&before);
    MAKE_ANY(&succ);
    MAKE_ANY(&planner);
    planner.max_nodes = NODES;
    planner.close = 0; /* it is set while a plan is made */
    planner.room[CR_ROOM_NODES] = ITEMS;
    planner.room[CR_ROOM_LOSSES] = ITEMS;
    planner.room[CR_ROOM_NOTICES] = ITEMS;
    planner.room[CR_ROOM_ORDER] = BEFORE;
    planner.n_found = at_most(ITEMS);
    planner.full = (cr_room)at_most(CR_ROOM_COUNT - 1);
    planner.scratch = scratch;
    planner.found = found;
    planner.doomed = doomed;
    planner.removed_requests = removed_requests;
    planner.revoked = revoked;
    planner.revoked_spaces = revoked_spaces;
    planner.pre_destroy = pre_destroy;
    planner.pre_destroy_groups = pre_destroy_groups;
    planner.revoked_bodies = revoked_bodies;
    planner.broken = broken;
    planner.notices = notices;
    planner.core_freed = core_freed;
    planner.core = core;
    planner.queue = queue;
    planner.order = order;
    planner.before = before;
    planner.succ = succ;
    return planner;
}

void main(void)
{
    static cr_doomed kept_doomed[ITEMS];
    static cr_pair kept_pre_destroy[ITEMS];
    static uint32_t kept_groups[ITEMS];
    static cr_ref refs[3];
    cr_model *model = any_model();
    cr_planner planner = any_planner();
    cr_planner *made = 0;
    cr_plan plan;
    MAKE_ANY(&plan);
    MAKE_ANY(&kept_doomed);
    MAKE_ANY(&kept_pre_destroy);
    MAKE_ANY(&kept_groups);
    MAKE_ANY(&refs);
    /*@ widen_hints global:"all", 4095, 4096, 8191, 8192; */ /* the lengths of the arrays */
    plan.doomed = doomed; /* the only pointer of a plan that the planner looks at */
    switch (OPERATION) {
    case 0:
        (void)cr_plan_crash(&planner, model, any_ref(), any(), any(), &plan);
        break;
    case 1:
        (void)cr_plan_again(&planner, model, &plan);
        break;
    case 2:
        (void)cr_plan_restore(&planner, model, &plan, kept_doomed, kept_pre_destroy, kept_groups);
        break;
    case 3:
        (void)cr_plan_dooms(&planner, &plan, any_ref());
        break;
    case 4:
        (void)cr_planner_bytes(any(), any());
        break;
    case 5:
        (void)cr_planner_wanted(&planner);
        break;
    case 6:
        (void)cr_plan_subtree(&planner, model, any_ref(), any(), any(), &plan);
        break;
    case 7:
        (void)cr_plan_collect(&planner, model, refs, at_most(3), &plan);
        break;
    case 8:
        (void)cr_plan_spare(&planner, model, refs, at_most(3), &plan);
        break;
    case 9:
        (void)cr_plan_reconcile(&planner, model, refs, at_most(3), &plan);
        break;
    case 10: {
        const cr_closeness close = any_closeness();
        (void)cr_plan_close(&planner, model, any_ref(), any(), any(), &close, &plan);
        break;
    }
    default:
        (void)cr_planner_init(small_memory, at_most(sizeof(small_memory)), 2, 2, &made);
        break;
    }
}
