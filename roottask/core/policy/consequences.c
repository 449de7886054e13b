/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The consequences of a crash for the survivors (docs/semantics.md): what they lose, and which
 * notices are owed. Each entry is derived from exactly one doomed end, so it is found once. */
#include "planner.h"

static const cr_ref NOBODY = {CR_NONE, 0};

static void push_pair(cr_planner *planner, cr_pair *pairs, uint32_t *count, uint32_t pd,
                      uint32_t node)
{
    uint32_t place = 0;
    if (cr_take_place(planner, CR_ROOM_LOSSES, count, &place)) {
        pairs[place].pd = cr_ref_to(planner, pd);
        pairs[place].node = cr_ref_to(planner, node);
    }
}

static void push_notice(cr_planner *planner, cr_notice_kind kind, uint32_t to, uint32_t node,
                        cr_ref from)
{
    uint32_t place = 0;
    if (cr_take_place(planner, CR_ROOM_NOTICES, &planner->plan->n_notices, &place)) {
        const cr_notice notice = {.kind = kind,
                                  .to = cr_ref_to(planner, to),
                                  .node = cr_ref_to(planner, node),
                                  .from = from};
        planner->notices[place] = notice;
    }
}

/* A survivor has lost something in `space`. It is owed one LOST notice. No LOST notice is owed to a
 * PD that is already marked: the manager, or a survivor that has its notice. */
static void tell_loss(cr_planner *planner, uint32_t pd, uint32_t space)
{
    if (cr_first_time(planner, pd)) {
        push_notice(planner, CR_NOTICE_LOST, pd, space, NOBODY);
    }
}

/* Returns what is seen in the space, as far as it is not in `seen`. */
static uint32_t losses_in_space(cr_planner *planner, uint32_t space, uint32_t seen)
{
    cr_plan *plan = planner->plan;
    const uint32_t manager = cr_parent_of(planner, cr_look(planner, space));
    int is_root = 0;
    planner->mark++;
    if (cr_survives(planner, manager, &is_root) && !is_root) {
        push_notice(planner, CR_NOTICE_DESTROY, manager, space, NOBODY);
    }
    (void)cr_first_time(planner, manager); /* the manager gets DESTROY, so no LOST */

    cr_walk holders = cr_walk_start(planner, space, CR_EDGE_HOLD, CR_IN);
    while (cr_walk_next(planner, &holders)) {
        if (cr_survives(planner, holders.other, &is_root) && !is_root) {
            push_pair(planner, planner->revoked_spaces, &plan->n_revoked_spaces, holders.other,
                      space);
            tell_loss(planner, holders.other, space);
        }
    }
    if (!cr_must_walk(seen, CR_SEEN_SURVIVOR)) {
        return seen;
    }
    cr_walk requests = cr_walk_start(planner, space, CR_EDGE_REQUEST, CR_IN);
    while (cr_walk_next(planner, &requests)) {
        if (cr_survives(planner, requests.other, &is_root)) {
            push_pair(planner, planner->removed_requests, &plan->n_removed_requests, requests.other,
                      space);
            if (!is_root) {
                tell_loss(planner, requests.other, space);
            }
        }
    }
    uint32_t maps = CR_SEEN;
    cr_walk members = cr_walk_start(planner, space, CR_EDGE_SUBSET, CR_IN);
    while (cr_walk_next(planner, &members)) {
        maps |= cr_see_maps(planner, members.other);
        cr_walk users = cr_walk_start(planner, members.other, CR_EDGE_HOLD, CR_IN);
        while (cr_walk_next(planner, &users)) {
            if (cr_survives(planner, users.other, &is_root) && !is_root) {
                push_pair(planner, planner->revoked, &plan->n_revoked, users.other, members.other);
                tell_loss(planner, users.other, space);
            }
        }
    }
    return seen | maps;
}

/* A doomed PD had a HOLD or REQUEST in a space that is not doomed. If the manager of the space
 * survives, it is owed a notice. */
static void tell_manager(cr_planner *planner, cr_notice_kind kind, uint32_t manager, uint32_t node,
                         uint32_t dead)
{
    int is_root = 0;
    if (cr_survives(planner, manager, &is_root) && !is_root) {
        push_notice(planner, kind, manager, node, cr_ref_to(planner, dead));
    }
}

/* Adds "the node `u` before this PD" to the order. A PD is at the place where it was found. */
static void after(cr_planner *planner, uint32_t u, uint32_t place, uint32_t rank)
{
    if (planner->ordering) {
        cr_order_before(planner, u, place, rank);
    }
}

static void lost_core(cr_planner *planner, uint32_t resource)
{
    cr_scratch *scratch = cr_scratch_of(planner, resource);
    uint32_t place = 0;
    if (scratch->lost_holds == 0 &&
        cr_take_place(planner, CR_ROOM_LOSSES, &planner->n_core, &place)) {
        planner->core[place] = resource;
    }
    scratch->lost_holds++;
}

static void holds_of_dead(cr_planner *planner, uint32_t pd, uint32_t at)
{
    cr_walk holds = cr_walk_start(planner, pd, CR_EDGE_HOLD, CR_OUT);
    while (cr_walk_next(planner, &holds)) {
        const cr_node *held = cr_look(planner, holds.other);
        if (held->kind != CR_NODE_RESOURCE) { /* a HOLD of a space itself is no reason */
            continue;
        }
        const uint32_t space = cr_parent_of(planner, held);
        const int goes = cr_found_of(planner, space) != NULL;
        if (!goes && cr_was_left(planner, holds.other)) {
            continue;
        }
        const cr_node *info = cr_node_at(planner->model, space);
        const uint32_t manager = cr_parent_of(planner, info);
        after(planner, manager, at, CR_IMPLICIT);
        if (goes) {
            continue;
        }
        if ((info->flags & CR_FLAG_CORE) == 0) {
            tell_manager(planner, CR_NOTICE_FREE, manager, holds.other, pd);
        } else {
            lost_core(planner, holds.other);
        }
    }
}

static void requests_of_dead(cr_planner *planner, uint32_t pd, uint32_t at)
{
    cr_walk requests = cr_walk_start(planner, pd, CR_EDGE_REQUEST, CR_OUT);
    while (cr_walk_next(planner, &requests)) {
        if (cr_was_left(planner, requests.other)) {
            continue;
        }
        const cr_node *info = cr_look(planner, requests.other);
        const uint32_t manager = cr_parent_of(planner, info);
        after(planner, manager, at, CR_IMPLICIT);
        if (cr_found_of(planner, requests.other) == NULL && (info->flags & CR_FLAG_CORE) == 0) {
            tell_manager(planner, CR_NOTICE_DISCONNECT, manager, requests.other, pd);
        }
    }
}

static void body_of_dead(cr_planner *planner, uint32_t pd)
{
    int is_root = 0;
    cr_walk bodies = cr_walk_start(planner, pd, CR_EDGE_BODY, CR_OUT);
    while (cr_walk_next(planner, &bodies)) {
        cr_scratch *scratch = cr_scratch_of(planner, bodies.other);
        scratch->is_body = 1;
        scratch->local = CR_GOES;
        cr_walk holders = cr_walk_start(planner, bodies.other, CR_EDGE_HOLD, CR_IN);
        while (cr_walk_next(planner, &holders)) {
            if (cr_survives(planner, holders.other, &is_root) && !is_root) {
                push_pair(planner, planner->revoked_bodies, &planner->plan->n_revoked_bodies,
                          holders.other, bodies.other);
            }
        }
    }
}

/* Whether no PD other than the root task holds this resource any more. A resource may have any
 * number of holders, so its list of holders must not be walked in full. The walk ends at the first
 * survivor, and visits only doomed holders before it. */
static int nobody_left(cr_planner *planner, uint32_t resource)
{
    int is_root = 0;
    if (cr_look(planner, resource)->holders == cr_scratch_of(planner, resource)->lost_holds) {
        return 1;
    }
    cr_walk walk = cr_walk_start(planner, resource, CR_EDGE_HOLD, CR_IN);
    while (cr_walk_next(planner, &walk)) {
        if (cr_survives(planner, walk.other, &is_root) && !is_root) {
            cr_walk_count(planner, &walk);
            return 0;
        }
    }
    return 1;
}

/* Whether the resource is the body of a PD whose creator stays. Nobody holding it says that the
 * creator has released it, which a collection must find. */
static int is_let_go(cr_planner *planner, uint32_t resource)
{
    int found = 0;
    cr_walk bodies = cr_walk_start(planner, resource, CR_EDGE_BODY, CR_IN);
    while (cr_walk_next(planner, &bodies)) {
        cr_walk creators = cr_walk_start(planner, bodies.other, CR_EDGE_OWN, CR_IN);
        while (cr_walk_next(planner, &creators)) {
            found |= cr_found_of(planner, creators.other) == NULL &&
                     cr_is_active(planner, creators.other);
        }
    }
    return found;
}

/* Whether a resource goes, unless something that stays maps to it. */
static int may_stay(cr_planner *planner, uint32_t resource)
{
    const cr_scratch *scratch = cr_scratch_of(planner, resource);
    return scratch->local == CR_GOES && !scratch->is_body;
}

/* Whether something maps to this resource that stays. */
static int carries(cr_planner *planner, uint32_t resource)
{
    cr_walk uppers = cr_walk_start(planner, resource, CR_EDGE_MAP, CR_IN);
    while (cr_walk_next(planner, &uppers)) {
        if (cr_stays(planner, uppers.other)) {
            cr_walk_count(planner, &uppers);
            return 1;
        }
    }
    return 0;
}

/* Whether no survivor holds a core resource, and it does not go with a body. */
static int is_unwanted(cr_planner *planner, uint32_t resource)
{
    return !cr_scratch_of(planner, resource)->is_body && nobody_left(planner, resource) &&
           !is_let_go(planner, resource);
}

/* What a resource that goes maps to goes with it, if that is core and nobody holds it. What a
 * doomed PD holds is known already. */
static void add_lower(cr_planner *planner, uint32_t upper)
{
    cr_walk lowers = cr_walk_start(planner, upper, CR_EDGE_MAP, CR_OUT);
    while (cr_walk_next(planner, &lowers)) {
        cr_scratch *scratch = cr_scratch_of(planner, lowers.other);
        const uint32_t space = cr_parent_of(planner, cr_look(planner, lowers.other));
        uint32_t place = 0;
        if (scratch->lost_holds == 0 && scratch->local != CR_GOES &&
            (cr_look(planner, space)->flags & CR_FLAG_CORE) != 0 &&
            !cr_was_left(planner, lowers.other) && is_unwanted(planner, lowers.other) &&
            cr_take_place(planner, CR_ROOM_LOSSES, &planner->n_core, &place)) {
            planner->core[place] = lowers.other;
            scratch->local = CR_GOES;
        }
    }
}

/* The same of the resources of a doomed space. */
static void add_lower_of_space(cr_planner *planner, uint32_t space)
{
    cr_walk members = cr_walk_start(planner, space, CR_EDGE_SUBSET, CR_IN);
    while (cr_walk_next(planner, &members)) {
        add_lower(planner, members.other);
    }
}

static void keep(cr_planner *planner, uint32_t resource, uint32_t *kept)
{
    uint32_t place = 0;
    if (cr_take_place(planner, CR_ROOM_NODES, kept, &place)) {
        cr_scratch_of(planner, resource)->local = CR_NONE;
        planner->queue[place] = resource;
    }
}

/* Frees the core resources that no PD holds any more, and what they map to. One to which something
 * maps that stays is kept, and then so is what it maps to itself. At first all count as going, so
 * that those that map to each other keep nothing. The queue of the traversal is not needed any
 * more. */
static void free_core(cr_planner *planner)
{
    uint32_t kept = 0;
    for (uint32_t i = planner->n_pds; i < planner->n_found && planner->status == CR_OK; i++) {
        const cr_doomed *space = cr_found_at(planner, i);
        if (cr_must_walk(space->group, CR_SEEN_LOWER)) {
            add_lower_of_space(planner, space->node.index);
        }
    }
    for (uint32_t i = 0; i < planner->n_core && planner->status == CR_OK; i++) {
        if (is_unwanted(planner, planner->core[i])) {
            cr_scratch_of(planner, planner->core[i])->local = CR_GOES;
            add_lower(planner, planner->core[i]);
        }
    }
    for (uint32_t i = 0; i < planner->n_core && planner->status == CR_OK; i++) {
        if (may_stay(planner, planner->core[i]) && carries(planner, planner->core[i])) {
            keep(planner, planner->core[i], &kept);
        }
    }
    for (uint32_t i = 0; i < kept && planner->status == CR_OK; i++) {
        cr_walk lowers = cr_walk_start(planner, planner->queue[i], CR_EDGE_MAP, CR_OUT);
        while (cr_walk_next(planner, &lowers)) {
            if (may_stay(planner, lowers.other)) {
                keep(planner, lowers.other, &kept);
            }
        }
    }
    for (uint32_t i = 0; i < planner->n_core && planner->status == CR_OK; i++) {
        uint32_t place = 0;
        if (may_stay(planner, planner->core[i]) &&
            cr_take_place(planner, CR_ROOM_LOSSES, &planner->plan->n_core_freed, &place)) {
            planner->core_freed[place] = cr_ref_to(planner, planner->core[i]);
        }
    }
}

/* A destructor is a subscription of a PD to itself, but is told when its turn to go has come. */
static void tell_subscribers(cr_planner *planner, cr_doomed *doomed)
{
    const uint32_t node = doomed->node.index;
    int is_root = 0;
    cr_walk subscribers = cr_walk_start(planner, node, CR_EDGE_SUBSCRIBE, CR_IN);
    planner->mark++;
    for (uint32_t edge = subscribers.edge; cr_walk_next(planner, &subscribers);
         edge = subscribers.edge) {
        if (subscribers.other == node &&
            cr_handler_of(cr_edge_at(planner->model, edge)) == CR_HANDLER_DESTRUCTOR) {
            doomed->destructor = doomed->pd_depth > 0;
            planner->plan->n_destructors += doomed->destructor;
            continue;
        }
        if (!cr_first_time(planner, subscribers.other)) {
            continue; /* with another handler: it is told once, of all its handlers */
        }
        const cr_doomed *found = cr_found_of(planner, subscribers.other);
        const int listens = found != NULL
                                ? found->pd_depth > 0
                                : cr_survives(planner, subscribers.other, &is_root) && !is_root;
        uint32_t place = 0;
        if (listens &&
            cr_take_place(planner, CR_ROOM_LOSSES, &planner->plan->n_pre_destroy, &place)) {
            const cr_pair pair = {.pd = cr_ref_to(planner, subscribers.other),
                                  .node = cr_ref_to(planner, node)};
            planner->pre_destroy[place] = pair;
            planner->pre_destroy_groups[place] = doomed->group;
        }
    }
}

/* From the last group to the first, the reverse of the order of destruction. A client is told
 * before its server, so that it can still flush to the server. */
void cr_find_subscribers(cr_planner *planner)
{
    if (planner->n_subscribed == 0) {
        return;
    }
    for (uint32_t i = planner->n_found; i > 0 && planner->status == CR_OK; i--) {
        tell_subscribers(planner, &planner->doomed[i - 1]);
    }
}

void cr_find_consequences(cr_planner *planner)
{
    for (uint32_t i = 0; i < planner->n_found && planner->status == CR_OK; i++) {
        const uint32_t node = planner->found[i].node.index;
        if (i >= planner->n_pds) {
            const uint32_t seen = planner->ordering ? planner->found[i].group : 0;
            planner->found[i].group = losses_in_space(planner, node, seen) & CR_GROUP_MAX;
        }
        if (planner->ordering) {
            cr_order_at_place(planner, i);
        }
        if (i < planner->n_pds) {
            holds_of_dead(planner, node, i);
            requests_of_dead(planner, node, i);
            body_of_dead(planner, node);
        }
    }
    free_core(planner);
    cr_find_broken(planner);
}
