/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Declarations shared by the parts of the planner. Private to policy/.
 *
 * The cost of a plan must be proportional to the doomed nodes and their edges, but the planner has
 * to store data about nodes. So each node has a scratch record, which counts as empty unless it has
 * the number of the current plan. A new plan takes a new number. Records are never cleared.
 *
 * Errors are sticky. The first error is kept; after it, arrays no longer grow and every walk ends.
 * The loops therefore need no error handling, and cr_plan_crash checks the status after each
 * part. */
#ifndef CELLREAP_POLICY_PLANNER_H
#define CELLREAP_POLICY_PLANNER_H

#include "../model/arena.h"
#include <cellreap/policy.h>

/* `local` of a PD or space that a collection spares. It is still marked while its plan is made. */
enum { CR_SPARED = 0xfffffffe };

/* `local` of a core resource that goes: the body of a doomed PD, or one that is freed. */
enum { CR_GOES = 0xfffffffc };

/* Small, because a plan touches one for each node near the doomed ones. A resource is never marked,
 * so its counts share the memory of the marks. */
typedef struct cr_scratch {
    uint32_t epoch; /* number of the plan that this record belongs to */
    uint32_t local; /* place among the doomed nodes, CR_NONE if not doomed */
    union {
        uint32_t mark;       /* value of planner->mark when cr_first_time last marked this node */
        uint32_t lost_holds; /* resource: how many of its holders are doomed */
    };
    union {
        /* order.c: place of the edge from or to this node; collection.c: the next PD in the queue.
         * Valid with `mark`. */
        uint32_t slot;
        uint32_t seen;    /* space, before it is found: what the traversal saw in it */
        uint32_t is_body; /* resource: it stands for the body of a doomed PD */
    };
} cr_scratch;

/* What was seen in a space by who first walked its REQUESTs and members, or-ed: the traversal of
 * PDs, or else losses_in_space. If none of these was seen, a later part need not walk them again.
 * Until the order is known, `group` of a space in `found` keeps this. */
enum {
    CR_SEEN = 1,          /* they were walked */
    CR_SEEN_SURVIVOR = 2, /* PDs that were not doomed there and then */
    CR_SEEN_UPPER = 4,    /* resources that map to a member */
    CR_SEEN_LOWER = 8     /* resources that a member maps to */
};

static inline int cr_must_walk(uint32_t seen, uint32_t what)
{
    return (seen & CR_SEEN) == 0 || (seen & what) != 0;
}

/* "u before v" between doomed nodes, given by their places. `ranks`: the reasons, or-ed. */
typedef struct cr_before {
    uint32_t u;
    uint32_t v;
    uint32_t ranks;
} cr_before;

/* Data about a doomed node for Tarjan's algorithm and the longest path. */
typedef struct cr_order_node {
    uint32_t pred_start; /* first of its edges in `before`; they end where the next node's begin */
    uint32_t succ_start; /* first of its edges in `succ`, likewise */
    uint32_t number;     /* order of discovery; CR_NONE: not visited yet */
    uint32_t low;
    uint32_t component; /* one of its members; CR_NONE while undecided */
    uint32_t cursor;    /* next edge to visit */
    uint32_t caller;    /* node to return to */
    uint32_t level;     /* its group, once the component is complete */
} cr_order_node;

/* The kinds of room, as in cr_plan_room. */
typedef enum cr_room {
    CR_ROOM_NODES,
    CR_ROOM_ORDER,
    CR_ROOM_LOSSES,
    CR_ROOM_NOTICES,
    CR_ROOM_COUNT
} cr_room;

struct cr_planner {
    uint32_t epoch;
    uint32_t mark;
    uint32_t max_nodes;
    uint32_t room[CR_ROOM_COUNT]; /* lengths of the arrays */
    cr_room full;                 /* with CR_ERR_FULL_PLAN: what was too short */
    cr_status status;
    cr_model *model;

    /* Found by this plan. PDs come first, by depth; spaces follow. */
    uint32_t n_found;
    uint32_t n_pds;
    uint32_t n_core; /* core resources that a doomed PD holds */
    uint32_t n_before;
    uint32_t n_stack;
    cr_plan *plan;
    cr_plan_kind kind; /* of the last plan, as its trigger */
    cr_ref trigger;
    uint32_t pd_depth; /* arguments of the plan; cr_plan_again compares them */
    uint32_t rs_depth;
    uint32_t n_managed;        /* spaces of doomed PDs, in `queue` until they are in `found` */
    uint32_t n_subscribed;     /* doomed nodes with subscribers */
    int ordering;              /* the reasons for the order are collected with the consequences */
    const cr_closeness *close; /* of the plan under way; NULL: policy is depth alone */

    cr_scratch *scratch;  /* max_nodes */
    cr_doomed *found;     /* CR_ROOM_NODES each, from here on */
    cr_doomed *doomed;    /* `found` by group */
    uint32_t *queue;      /* traversal.c: spaces to visit; order.c: the stack */
    cr_order_node *order; /* one more */
    uint32_t *core;       /* CR_ROOM_LOSSES each, from here on */
    cr_ref *core_freed;
    cr_pair *removed_requests;
    cr_pair *revoked;
    cr_pair *revoked_spaces;
    cr_pair *revoked_bodies;
    cr_broken *broken;
    cr_pair *pre_destroy;
    uint32_t *pre_destroy_groups;
    cr_notice *notices; /* CR_ROOM_NOTICES */
    cr_before *before;  /* CR_ROOM_ORDER */
    uint32_t *succ;     /* CR_ROOM_ORDER: places in `before`, by u */
};

/* ---- looking at the model ------------------------------------------------------------------- */

/* The parts read the graph only through these functions, so that the counters are complete. */

typedef struct cr_walk {
    uint32_t node;
    cr_direction direction;
    uint32_t edge;
    uint32_t left;  /* steps left; a longer list is broken */
    uint32_t other; /* the node at the other end of the current edge */
} cr_walk;

/* Fails the plan. The first error is kept. */
static inline void cr_fail(cr_planner *planner, cr_status status)
{
    if (planner->status == CR_OK) {
        planner->status = status;
    }
}

/* Counts what a walk has read. A walk that is left before its end must be counted by its caller. */
static inline void cr_walk_count(cr_planner *planner, const cr_walk *walk)
{
    planner->model->touched_nodes++;
    planner->model->touched_edges += planner->model->max_edges - walk->left;
}

/* Starts a walk along one list of a node. */
static inline cr_walk cr_walk_start(cr_planner *planner, uint32_t node, cr_edge_kind kind,
                                    cr_direction direction)
{
    const cr_walk walk = {
        .node = node,
        .direction = direction,
        .edge = cr_node_at(planner->model, node)->head[kind][cr_list_of(kind, direction)],
        .left = planner->model->max_edges,
        .other = CR_NONE,
    };
    return walk;
}

static inline int cr_walk_next(cr_planner *planner, cr_walk *walk)
{
    if (walk->edge == CR_NONE || planner->status != CR_OK) {
        cr_walk_count(planner, walk);
        return 0;
    }
    const cr_edge *edge = cr_edge_at(planner->model, walk->edge);
    const cr_direction side = cr_side_of(edge, walk->node, walk->direction);
    if (walk->left == 0 || walk->edge >= planner->model->max_edges ||
        edge->end[side] != walk->node) {
        cr_fail(planner, CR_ERR_CORRUPT);
        return 0;
    }
    walk->left--;
    walk->other = edge->end[side == CR_OUT ? CR_IN : CR_OUT];
    walk->edge = edge->next[side];
    return 1;
}

/* The node at an index that the model named. */
static inline const cr_node *cr_look(cr_planner *planner, uint32_t node)
{
    planner->model->touched_nodes++;
    if (node >= planner->model->max_nodes || node >= planner->max_nodes) {
        cr_fail(planner, CR_ERR_CORRUPT);
    }
    return cr_node_at(planner->model, node);
}

/* The space of a resource, or the manager of a space. Only in a damaged arena it is not there. */
static inline uint32_t cr_parent_of(cr_planner *planner, const cr_node *node)
{
    if (cr_look(planner, node->parent.index)->generation != node->parent.generation) {
        cr_fail(planner, CR_ERR_CORRUPT);
    }
    return node->parent.index;
}

static inline cr_ref cr_ref_to(const cr_planner *planner, uint32_t node)
{
    const cr_ref ref = {node, cr_node_at(planner->model, node)->generation};
    return ref;
}

/* The scratch record of a node, empty if this plan has not written to it. */
static inline cr_scratch *cr_scratch_of(cr_planner *planner, uint32_t node)
{
    /* Only a corrupt arena contains an index out of range. The plan has then failed, so any record
     * serves. */
    if (node >= planner->max_nodes) {
        cr_fail(planner, CR_ERR_CORRUPT);
    }
    cr_scratch *scratch = &planner->scratch[node < planner->max_nodes ? node : 0];
    if (scratch->epoch != planner->epoch) {
        const cr_scratch empty = {
            .epoch = planner->epoch, .local = CR_NONE, .lost_holds = 0, .is_body = 0};
        *scratch = empty;
    }
    return scratch;
}

/* What the edges of a member of a space add to what was seen in it. */
static inline uint32_t cr_see_maps(const cr_planner *planner, uint32_t member)
{
    const cr_node *info = cr_node_at(planner->model, member);
    return (info->head[CR_EDGE_MAP][CR_IN] != CR_NONE ? CR_SEEN_UPPER : 0u) |
           (info->head[CR_EDGE_MAP][CR_OUT] != CR_NONE ? CR_SEEN_LOWER : 0u);
}

static inline void cr_fail_full(cr_planner *planner, cr_room room)
{
    if (planner->status == CR_OK) {
        planner->full = room;
    }
    cr_fail(planner, CR_ERR_FULL_PLAN);
}

/* Takes the next place in an array with `*count` entries. If there is none, the plan fails with
 * CR_ERR_FULL_PLAN. Returns 0 then, and if the plan has already failed. */
static inline int cr_take_place(cr_planner *planner, cr_room room, uint32_t *count, uint32_t *place)
{
    const uint32_t next = *count;
    if (next >= planner->room[room]) {
        cr_fail_full(planner, room);
        return 0;
    }
    if (planner->status != CR_OK) {
        return 0;
    }
    *place = next;
    *count = next + 1;
    return 1;
}

/* The entries at a place that was read from memory. Only damaged memory contains a place out of
 * range. Any entry then serves, because no access may leave the arrays (docs/proof.md). */
static inline cr_doomed *cr_found_at(const cr_planner *planner, uint32_t place)
{
    return &planner->found[place < planner->room[CR_ROOM_NODES] ? place : 0];
}

static inline cr_order_node *cr_order_at(const cr_planner *planner, uint32_t place)
{
    return &planner->order[place <= planner->room[CR_ROOM_NODES] ? place : 0];
}

static inline cr_before *cr_before_at(const cr_planner *planner, uint32_t place)
{
    return &planner->before[place < planner->room[CR_ROOM_ORDER] ? place : 0];
}

static inline uint32_t *cr_succ_at(const cr_planner *planner, uint32_t place)
{
    return &planner->succ[place < planner->room[CR_ROOM_ORDER] ? place : 0];
}

/* The doomed record of a node; NULL if this plan does not doom it. */
static inline cr_doomed *cr_found_of(cr_planner *planner, uint32_t node)
{
    const uint32_t local = cr_scratch_of(planner, node)->local;
    return local < planner->n_found ? cr_found_at(planner, local) : NULL;
}

/* Whether no cleanup dooms a node, except the one that is planned. */
static inline int cr_is_active(cr_planner *planner, uint32_t node)
{
    return cr_look(planner, node)->state == CR_STATE_ACTIVE ||
           cr_scratch_of(planner, node)->local == CR_SPARED;
}

/* Whether another cleanup has doomed a PD or space. */
static inline int cr_is_doomed_besides(cr_planner *planner, uint32_t node)
{
    return !cr_is_active(planner, node) && cr_found_of(planner, node) == NULL;
}

/* Whether an earlier cleanup has doomed a space, that of a resource, or the PD whose body this is,
 * and left it. Then it is as if it were gone. */
static inline int cr_was_left(cr_planner *planner, uint32_t node)
{
    const cr_node *info = cr_look(planner, node);
    if (info->kind != CR_NODE_RESOURCE) {
        return cr_is_doomed_besides(planner, node);
    }
    cr_walk bodies = cr_walk_start(planner, node, CR_EDGE_BODY, CR_IN);
    if (cr_walk_next(planner, &bodies) && cr_is_doomed_besides(planner, bodies.other)) {
        return 1;
    }
    return cr_is_doomed_besides(planner, cr_parent_of(planner, info));
}

/* Whether a node neither goes nor was left, when it is known which core resources go. */
static inline int cr_stays(cr_planner *planner, uint32_t node)
{
    const uint32_t local = cr_scratch_of(planner, node)->local;
    if (local < planner->n_found || local == CR_GOES) {
        return 0;
    }
    const cr_node *info = cr_look(planner, node);
    if (info->kind != CR_NODE_RESOURCE) {
        return cr_is_active(planner, node);
    }
    const uint32_t space = cr_parent_of(planner, info);
    if (cr_found_of(planner, space) != NULL || !cr_is_active(planner, space)) {
        return 0;
    }
    cr_walk bodies = cr_walk_start(planner, node, CR_EDGE_BODY, CR_IN);
    return !cr_walk_next(planner, &bodies) || !cr_is_doomed_besides(planner, bodies.other);
}

/* Marks a PD or space. Returns 1 if it was not marked since planner->mark was last incremented. */
static inline int cr_first_time(cr_planner *planner, uint32_t node)
{
    cr_scratch *scratch = cr_scratch_of(planner, node);
    const int first = scratch->mark != planner->mark;
    scratch->mark = planner->mark;
    return first;
}

/* Whether a PD is active and not doomed by this plan. *is_root: it is the root task. */
static inline int cr_survives(cr_planner *planner, uint32_t pd, int *is_root)
{
    const uint32_t local = cr_scratch_of(planner, pd)->local;
    if (local < planner->n_found) {
        *is_root = 0; /* never doomed */
        return 0;
    }
    const cr_node *node = cr_look(planner, pd);
    *is_root = (node->flags & CR_FLAG_ROOT) != 0;
    return node->kind == CR_NODE_PD && (node->state == CR_STATE_ACTIVE || local == CR_SPARED);
}

/* ---- closeness (close.c) -------------------------------------------------------------------- */

/* CR_ERR_ARG: it is not possible. */
cr_status cr_check_closeness(const cr_closeness *close);
/* Begins to measure how close PDs are to the trigger. */
void cr_begin_closeness(cr_planner *planner, cr_ref trigger);
/* Whether an active PD is close to the trigger. */
int cr_is_close(cr_planner *planner, cr_ref pd);

/* ---- the parts, in the order in which a plan is made ----------------------------------------- */

/* traversal.c. with_created: the PDs that the trigger created, transitively, are triggers too. */
void cr_find_doomed(cr_planner *planner, uint32_t trigger, int with_created, uint32_t pd_depth,
                    uint32_t rs_depth);
void cr_add_found(cr_planner *planner, const cr_doomed *entry);
/* Lists the active spaces that a PD manages; dooms all that are listed. */
void cr_list_managed(cr_planner *planner, uint32_t pd);
void cr_find_managed_spaces(cr_planner *planner);
/* collection.c: each finds the doomed nodes of one kind of plan. */
void cr_find_unreached(cr_planner *planner, const cr_ref *roots, uint32_t count);
void cr_keep_unreached(cr_planner *planner, const cr_ref *roots, uint32_t count);
void cr_find_unnamed(cr_planner *planner, const cr_ref *unnamed, uint32_t count);
/* consequences.c. With planner->ordering also the reasons for the order. */
void cr_find_consequences(cr_planner *planner);
/* broken.c. Part of the consequences, after all others. */
void cr_find_broken(cr_planner *planner);
/* order.c */

/* Reasons for "u before v". The smaller bit has precedence. */
enum { CR_EXPLICIT = 1, CR_OWNERSHIP = 2, CR_IMPLICIT = 4 };

/* The reasons of the doomed node at place `v` follow. Places are given in ascending order. */
void cr_order_at_place(cr_planner *planner, uint32_t v);
/* Adds "`u` before the node at place `v`" if `u` is doomed too. */
void cr_order_before(cr_planner *planner, uint32_t u, uint32_t v, uint32_t rank);
void cr_find_order(cr_planner *planner);
/* consequences.c */
void cr_find_subscribers(cr_planner *planner);

#endif
