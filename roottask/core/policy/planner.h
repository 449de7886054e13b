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

#include <cellreap/policy.h>

typedef struct cr_scratch {
    uint64_t epoch;      /* number of the plan that this record belongs to */
    uint64_t mark;       /* value of planner->mark when cr_first_time last marked this node */
    uint32_t local;      /* place among the doomed nodes, CR_NONE if not doomed */
    uint32_t lost_holds; /* resource: how many of its holders are doomed */
    uint32_t slot;       /* order.c: place of the edge from or to this node; valid with `mark` */
    uint32_t is_body;    /* resource: it stands for the body of a doomed PD */
} cr_scratch;

/* "u before v" between doomed nodes, given by their places. `ranks`: the reasons, or-ed. */
typedef struct cr_before {
    uint32_t u;
    uint32_t v;
    uint32_t ranks;
} cr_before;

/* Data about a doomed node for Tarjan's algorithm and the longest path. */
typedef struct cr_order_node {
    uint32_t succ_start; /* first of its edges in `succ`; they end where the next node's begin */
    uint32_t pred_start; /* first of its edges in `before` */
    uint32_t number;     /* order of discovery; CR_NONE: not visited yet */
    uint32_t low;
    uint32_t component; /* CR_NONE while undecided */
    uint32_t cursor;    /* next edge to visit */
    uint32_t caller;    /* node to return to */
    uint32_t level;     /* of the component with this number: its group */
} cr_order_node;

struct cr_planner {
    uint64_t epoch;
    uint64_t mark;
    uint32_t max_nodes;
    uint32_t max_items;
    uint32_t max_before;
    cr_status status;
    cr_model *model;

    /* Found by this plan. PDs come first, by depth; spaces follow. */
    uint32_t n_found;
    uint32_t n_pds;
    uint32_t n_core; /* core resources that a doomed PD holds */
    uint32_t n_before;
    uint32_t n_stack;
    cr_plan *plan;
    uint32_t pd_depth; /* arguments of the plan; cr_plan_again compares them */
    uint32_t rs_depth;

    cr_scratch *scratch;   /* max_nodes */
    cr_doomed *found;      /* max_items each, from here on */
    cr_doomed *doomed;     /* `found` by group */
    cr_pair *removed_requests;
    cr_pair *revoked;
    cr_pair *revoked_spaces;
    cr_pair *pre_destroy;
    uint32_t *pre_destroy_groups;
    cr_pair *revoked_bodies;
    cr_notice *notices;
    cr_ref *core_freed;
    cr_ref *core;
    uint32_t *queue;       /* traversal.c: spaces to visit; order.c: the stack */
    uint32_t *sequence;    /* order.c: nodes by component */
    cr_order_node *order;  /* max_items + 1 */
    cr_before *before;     /* max_before */
    uint32_t *succ;        /* max_before: places in `before`, by u */
};

/* ---- looking at the model (look.c) ---------------------------------------------------------- */

/* The parts read the graph only through these functions, so that the counters are complete. */

typedef struct cr_walk {
    cr_ref node;
    cr_direction direction;
    uint32_t edge;
    uint32_t left; /* steps left; a longer list is broken */
    cr_ref other;  /* the other end of the current edge */
} cr_walk;

cr_walk cr_walk_start(cr_planner *planner, cr_ref node, cr_edge_kind kind, cr_direction direction);
int cr_walk_next(cr_planner *planner, cr_walk *walk);
cr_node_info cr_look(cr_planner *planner, cr_ref node);

/* The scratch record of a node, empty if this plan has not written to it. */
cr_scratch *cr_scratch_of(cr_planner *planner, cr_ref node);

/* The doomed record of a node; NULL if this plan does not doom it. */
cr_doomed *cr_found_of(cr_planner *planner, cr_ref node);

/* Marks a node. Returns 1 if the node was not marked since planner->mark was last incremented. */
int cr_first_time(cr_planner *planner, cr_ref node);

/* Whether a PD is active and not doomed by this plan. *is_root: it is the root task. */
int cr_survives(cr_planner *planner, cr_ref pd, int *is_root);

/* Fails the plan. The first error is kept. */
void cr_fail(cr_planner *planner, cr_status status);

/* Takes the next place in an array with `*count` entries. If there is none, the plan fails with
 * CR_ERR_FULL_PLAN. Returns 0 then, and if the plan has already failed. */
int cr_take_place(cr_planner *planner, uint32_t *count, uint32_t *place);

/* The entries at a place that was read from memory. Only damaged memory contains a place out of
 * range. Any entry then serves, because no access may leave the arrays (docs/proof.md). */
static inline cr_doomed *cr_found_at(const cr_planner *planner, uint32_t place)
{
    return &planner->found[place < planner->max_items ? place : 0];
}

static inline cr_order_node *cr_order_at(const cr_planner *planner, uint32_t place)
{
    return &planner->order[place <= planner->max_items ? place : 0];
}

static inline cr_before *cr_before_at(const cr_planner *planner, uint32_t place)
{
    return &planner->before[place < planner->max_before ? place : 0];
}

static inline uint32_t *cr_succ_at(const cr_planner *planner, uint32_t place)
{
    return &planner->succ[place < planner->max_before ? place : 0];
}

/* ---- the parts, in the order in which a plan is made ----------------------------------------- */

/* traversal.c */
void cr_find_doomed(cr_planner *planner, cr_ref trigger, uint32_t pd_depth, uint32_t rs_depth);
/* consequences.c */
void cr_find_consequences(cr_planner *planner);
/* order.c */
void cr_find_order(cr_planner *planner);
/* consequences.c */
void cr_find_subscribers(cr_planner *planner);

#endif
