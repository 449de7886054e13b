/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What survivors keep although it is built, directly or further down, on something that goes
 * (docs/semantics.md, "What is built on what goes"). Breadth first from all that goes, against the
 * direction of MAP edges, so that each node is found from one of the nearest. Only what is built on
 * what goes is looked at, with its holders. On a core resource that is freed nothing is built that
 * stays.
 *
 * Runs when the other consequences are known. What they counted at resources is not needed any
 * more, and neither is the queue of the traversal. */
#include "planner.h"

/* `local` of a node that is in the queue. */
enum { HANGS = 0xfffffffd };

typedef struct reached {
    uint32_t head;
    uint32_t tail;
} reached;

/* Queues what is built directly on `node`. origin: what goes, and `node` is or is built on. */
static void above(cr_planner *planner, uint32_t node, uint32_t origin, reached *queue)
{
    cr_walk uppers = cr_walk_start(planner, node, CR_EDGE_MAP, CR_IN);
    while (cr_walk_next(planner, &uppers)) {
        uint32_t place = 0;
        cr_scratch *scratch = cr_scratch_of(planner, uppers.other);
        if (scratch->local == HANGS || !cr_stays(planner, uppers.other) ||
            !cr_take_place(planner, CR_ROOM_NODES, &queue->tail, &place)) {
            continue;
        }
        scratch->local = HANGS;
        scratch->slot = origin;
        planner->queue[place] = uppers.other;
    }
}

static void above_space(cr_planner *planner, const cr_doomed *space, reached *queue)
{
    const uint32_t node = space->node.index;
    above(planner, node, node, queue);
    if (!cr_must_walk(space->group, CR_SEEN_UPPER)) {
        return;
    }
    cr_walk members = cr_walk_start(planner, node, CR_EDGE_SUBSET, CR_IN);
    while (cr_walk_next(planner, &members)) {
        above(planner, members.other, members.other, queue);
    }
}

/* What is built on the bodies of dead PDs. */
static void above_bodies(cr_planner *planner, reached *queue)
{
    for (uint32_t i = 0; i < planner->n_found && planner->status == CR_OK; i++) {
        if (i >= planner->n_pds) {
            break;
        }
        cr_walk walk = cr_walk_start(planner, planner->found[i].node.index, CR_EDGE_BODY, CR_OUT);
        while (cr_walk_next(planner, &walk)) {
            above(planner, walk.other, walk.other, queue);
        }
    }
}

static void holders_of(cr_planner *planner, uint32_t node, uint32_t origin)
{
    int is_root = 0;
    const cr_ref kept = cr_ref_to(planner, node);
    const cr_ref on = cr_ref_to(planner, origin);
    cr_walk holders = cr_walk_start(planner, node, CR_EDGE_HOLD, CR_IN);
    while (cr_walk_next(planner, &holders)) {
        uint32_t place = 0;
        if (!cr_survives(planner, holders.other, &is_root) || is_root ||
            !cr_take_place(planner, CR_ROOM_LOSSES, &planner->plan->n_broken, &place)) {
            continue;
        }
        const cr_broken entry = {.pd = cr_ref_to(planner, holders.other), .node = kept, .on = on};
        planner->broken[place] = entry;
        /* Counts what this PD keeps. A PD that is not marked has the count of another part. */
        cr_scratch *scratch = cr_scratch_of(planner, holders.other);
        scratch->slot = scratch->mark != planner->mark ? 1 : scratch->slot + 1;
        scratch->mark = planner->mark;
    }
}

/* A LOST notice tells its receiver how much it keeps that is broken. */
static void tell_counts(cr_planner *planner)
{
    for (uint32_t i = 0; i < planner->plan->n_notices && planner->status == CR_OK; i++) {
        cr_notice *notice = &planner->notices[i];
        const cr_scratch *to = cr_scratch_of(planner, notice->to.index);
        if (notice->kind == CR_NOTICE_LOST && to->mark == planner->mark) {
            notice->number = to->slot;
        }
    }
}

void cr_find_broken(cr_planner *planner)
{
    reached queue = {0, 0};
    for (uint32_t i = planner->n_pds; i < planner->n_found && planner->status == CR_OK; i++) {
        above_space(planner, &planner->found[i], &queue);
    }
    above_bodies(planner, &queue);
    planner->mark++;
    for (; queue.head < queue.tail && planner->status == CR_OK; queue.head++) {
        const uint32_t node = planner->queue[queue.head];
        const uint32_t origin = cr_scratch_of(planner, node)->slot;
        holders_of(planner, node, origin);
        above(planner, node, origin, &queue);
    }
    if (planner->plan->n_broken > 0) {
        tell_counts(planner);
    }
}
