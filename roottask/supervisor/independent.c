/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finds the cleanups that may proceed side by side. While a cleanup awaits subscribers, another one
 * may begin and end if the two have nothing to do with each other. Otherwise it waits, so that the
 * result is that of the cleanups one after the other.
 *
 * A cleanup concerns each doomed node and everything that an edge joins to a doomed node or to a
 * resource in a doomed space or to the body of a doomed PD: PDs, spaces with their managers, the
 * managers of resources, and resources of the root task. All survivors that lose something, all
 * receivers of notices and all subscribers are among these. Edges of doomed nodes are not added
 * while a cleanup waits, so this is known when it begins.
 *
 * What a cleanup left concerns nobody. It is doomed, so another cleanup passes it by. */
#include "arena.h"
#include "kept.h"

/* A node has one mark: two cleanups under way concern no node both. A later run over what was left
 * may concern what another cleanup does, which keeps the mark. Marks are not taken away: those of a
 * cleanup count as long as it is under way, and those of the queue until it is looked at again. */
enum { QUEUED = 1u << 31 }; /* no cleanup has such a tag */

static int is_under_way(uint32_t tag)
{
    const cr_cleaner *cleaner = &cr_sup.cleaner;
    int is = cleaner->now.phase != CR_PHASE_NONE && cleaner->now.tag == tag;
    for (uint32_t i = 0; i < cleaner->n_kept; i++) {
        is |= !cleaner->kept[i].left && cleaner->kept[i].tag == tag;
    }
    return is;
}

int cr_cleaner_concerns(cr_ref node)
{
    const cr_touch *touch = &cr_sup.cleaner.touched[node.index];
    return touch->generation == node.generation && touch->by != 0 &&
           (touch->by == cr_sup.cleaner.queued || is_under_way(touch->by));
}

/* Marks one node. 0: only looks. Returns whether it had a mark of another cleanup. */
static int mark_node(cr_ref node, uint32_t by)
{
    if (node.index == CR_NONE || cr_same(node, cr_sys.root)) {
        return 0;
    }
    cr_touch *touch = &cr_sup.cleaner.touched[node.index];
    if (cr_cleaner_concerns(node)) {
        return touch->by != by;
    }
    if (by != 0) {
        *touch = (cr_touch){by, node.generation};
    }
    return 0;
}

/* A region stands for its memory object, too: the last that refers to that takes it along. */
static int mark_core(cr_ref resource, uint32_t by)
{
    int had = mark_node(resource, by);
    cr_edge_walk maps = cr_model_walk(cr_sys.model, resource, CR_EDGE_MAP, CR_OUT);
    while (cr_model_next(&maps)) {
        had |= mark_node(maps.other, by);
    }
    return had;
}

/* Marks what a node stands for. Spaces of the root task concern nobody. */
static int mark_end(cr_ref node, uint32_t by)
{
    cr_node_info info;
    if (cr_model_get(cr_sys.model, node, &info) != CR_OK) {
        return 0;
    }
    if (info.kind == CR_NODE_PD) {
        return mark_node(node, by);
    }
    if (!cr_same(info.manager, cr_sys.root)) {
        const cr_ref space = info.kind == CR_NODE_SPACE ? node : info.space;
        return mark_node(space, by) | mark_node(info.manager, by);
    }
    return info.kind == CR_NODE_RESOURCE ? mark_core(node, by) : 0;
}

/* Marks the other ends of all edges of a node. */
static int mark_around(cr_ref node, uint32_t by)
{
    int had = mark_end(node, by);
    for (uint32_t list = 0; list < 2 * CR_EDGE_KIND_COUNT; list++) {
        cr_edge_walk edges =
            cr_model_walk(cr_sys.model, node, (cr_edge_kind)(list / 2), (cr_direction)(list % 2));
        while (cr_model_next(&edges)) {
            had |= mark_end(edges.other, by);
        }
    }
    return had;
}

static int mark_all(const cr_plan *plan, uint32_t by)
{
    int had = 0;
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        cr_ref node = plan->doomed[i].node;
        had |= mark_around(node, by);
        cr_edge_walk members = cr_model_walk(cr_sys.model, node, CR_EDGE_SUBSET, CR_IN);
        while (cr_model_next(&members)) {
            had |= mark_around(members.other, by);
        }
        cr_edge_walk body = cr_model_walk(cr_sys.model, node, CR_EDGE_BODY, CR_OUT);
        while (cr_model_next(&body)) {
            had |= mark_around(body.other, by);
        }
    }
    return had;
}

/* Whether the cleanup tells anybody, and so may have to wait. */
static int may_wait(const cr_plan *plan)
{
    return plan->n_pre_destroy > 0 || plan->n_destructors > 0;
}

int cr_cleaner_may_begin(const cr_plan *plan)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    const uint32_t waiting = cr_kept_count(0);
    /* A cleanup that tells nobody never waits, so others that wait leave it room at any time. */
    const int room = !may_wait(plan) || waiting < CR_MAX_CLEANUPS;
    if (room && ((waiting == 0 && !cleaner->any_queued) || mark_all(plan, 0) == 0)) {
        return 1;
    }
    (void)mark_all(plan, cleaner->queued);
    cleaner->any_queued = 1;
    return 0;
}

void cr_cleaner_forget_queued(void)
{
    cr_sup.cleaner.queued = (cr_sup.cleaner.queued + 1) | QUEUED;
    cr_sup.cleaner.any_queued = 0;
}

/* Whether anything else may happen before the end of the cleanup, or of its later run: it awaits
 * subscribers, or PDs run between its steps. Otherwise nobody looks at its marks. */
static int is_beside_others(const cr_plan *plan)
{
    return may_wait(plan) || cr_sys.image->cleaner_priority != 0;
}

void cr_cleaner_arrive(const cr_cleanup *cleanup)
{
    if (is_beside_others(&cleanup->plan)) {
        (void)mark_all(&cleanup->plan, cleanup->tag);
    }
}

void cr_cleaner_return(const cr_cleanup *cleanup)
{
    const cr_plan *plan = &cleanup->plan;
    if (!is_beside_others(plan)) {
        return;
    }
    (void)mark_all(plan, cleanup->tag);
    for (uint32_t i = 0; i < plan->n_core_freed; i++) {
        (void)mark_end(plan->core_freed[i], cleanup->tag);
    }
    for (uint32_t i = 0; i < plan->n_notices; i++) {
        (void)mark_end(plan->notices[i].to, cleanup->tag);
    }
}
