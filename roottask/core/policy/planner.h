/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the parts of the planner share. Private to policy/.
 *
 * Planning must cost what it dooms and no more, though it needs to remember things about nodes: so there is
 * one scratch record a node that counts as empty unless it carries the number of the current plan. A new plan
 * is a new number; nothing is ever cleared.
 *
 * An error is sticky: the first one is kept, pushes after it do nothing and every walk ends. So each loop
 * reads as what it computes, and cr_plan_crash asks once per part. */
#ifndef CELLREAP_POLICY_PLANNER_H
#define CELLREAP_POLICY_PLANNER_H

#include <cellreap/policy.h>

typedef struct cr_scratch {
    uint64_t epoch;      /* the plan this record is about */
    uint64_t mark;       /* last question (planner->mark) for which this node was ticked off */
    uint32_t local;      /* place among the doomed nodes, CR_NONE if not doomed */
    uint32_t lost_holds; /* resource: how many of its holders are doomed */
    uint32_t slot;       /* order: where the edge from or to this node was put, valid with `mark` */
    uint32_t is_body;    /* resource: it stands for the body of a doomed PD */
} cr_scratch;

/* "u before v" between doomed nodes, by their places; `ranks` says for which reasons, or-ed. */
typedef struct cr_before {
    uint32_t u;
    uint32_t v;
    uint32_t ranks;
} cr_before;

/* What Tarjan's algorithm and the longest path keep about a doomed node. */
typedef struct cr_order_node {
    uint32_t succ_start; /* first of its edges in `succ`; they end where the next node's begin */
    uint32_t pred_start; /* first of its edges in `before` */
    uint32_t number;     /* order of discovery, CR_NONE: not seen yet */
    uint32_t low;
    uint32_t component; /* CR_NONE while undecided */
    uint32_t cursor;    /* next edge to look at */
    uint32_t caller;    /* whom to return to */
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

    /* Found in this plan. PDs come first, by depth; then the spaces. */
    uint32_t n_found;
    uint32_t n_pds;
    uint32_t n_core; /* core resources that a doomed PD holds */
    uint32_t n_before;
    uint32_t n_stack;
    cr_plan *plan;
    uint32_t pd_depth; /* what the plan was made with, to know it again */
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
    uint32_t *queue;       /* also the stack of the order part */
    uint32_t *sequence;    /* the order part: nodes by component */
    cr_order_node *order;  /* max_items + 1 */
    cr_before *before;     /* max_before */
    uint32_t *succ;        /* max_before: places in `before`, by u */
};

/* ---- looking at the model (look.c): nothing else in policy/ does, so the counters miss nothing ------- */

typedef struct cr_walk {
    cr_ref node;
    cr_direction direction;
    uint32_t edge;
    uint32_t left; /* steps until a list this long must be broken */
    cr_ref other;  /* the far end of the edge at hand */
} cr_walk;

cr_walk cr_walk_start(cr_planner *planner, cr_ref node, cr_edge_kind kind, cr_direction direction);
int cr_walk_next(cr_planner *planner, cr_walk *walk);
cr_node_info cr_look(cr_planner *planner, cr_ref node);

/* The scratch record of a node, empty if this plan has not written to it. */
cr_scratch *cr_scratch_of(cr_planner *planner, cr_ref node);

/* The doomed record of a node; NULL if this plan does not doom it. */
cr_doomed *cr_found_of(cr_planner *planner, cr_ref node);

/* 1 the first time that a node is asked about since planner->mark was last raised. */
int cr_first_time(cr_planner *planner, cr_ref node);

/* A PD that lives on after this plan (the root task counts). */
int cr_survives(cr_planner *planner, cr_ref pd, int *is_root);

/* Keeps the first error. */
void cr_fail(cr_planner *planner, cr_status status);

/* May one more entry go where `count` are? Fails the plan with CR_ERR_FULL_PLAN if not. */
int cr_room(cr_planner *planner, uint32_t count);

/* ---- the parts, in the order in which a plan is made -------------------------------------------- */

void cr_find_doomed(cr_planner *planner, cr_ref trigger, uint32_t pd_depth, uint32_t rs_depth); /* traversal.c */
void cr_find_consequences(cr_planner *planner);                                                /* consequences.c */
void cr_find_order(cr_planner *planner);                                                       /* order.c */
void cr_find_subscribers(cr_planner *planner);                                                 /* consequences.c */

#endif
