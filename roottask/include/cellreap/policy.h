/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a crash dooms, what becomes of the rest, and in which order (docs/semantics.md, "What a crash
 * dooms" to "Order"). Reads the model and writes a plan into memory that the caller gives; changes nothing
 * in the model but its touched counters. The cost is proportional to the doomed nodes and their edges.
 *
 * Freestanding, no allocation, no recursion. Parsed by the host tooling. */
#ifndef CELLREAP_POLICY_H
#define CELLREAP_POLICY_H

#include <cellreap/model.h>

enum { CR_DEPTH_INF = 0xffffffff };

/* Why a node is doomed: how to explain it to a person, with `cause` as the node before it on the path. */
typedef enum cr_why {
    CR_WHY_TRIGGER = 0, /* it crashed */
    CR_WHY_LINK = 1,    /* cause: the doomed PD it is linked with */
    CR_WHY_FAULT = 2,   /* cause: its doomed fault handler */
    CR_WHY_REQUEST = 3, /* cause: the space it has a REQUEST to, managed by a PD one level up */
    CR_WHY_HOLD = 4,    /* cause: the resource that it holds in such a space */
    CR_WHY_MANAGED = 5, /* space; cause: its doomed manager */
    CR_WHY_MAP = 6,     /* space; cause: the space, one rs level up, that it maps to */
    CR_WHY_COUNT = 7
} cr_why;

/* CR_NOTICE_KIND(enumerator, number, name in traces, what it is about, what it says) */
#define CR_NOTICE_KINDS                                                                            \
    CR_NOTICE_KIND(CR_NOTICE_FREE, 0, "free",                                                      \
        "a resource of the receiver's, a PD",                                                      \
        "That PD is gone and held it. The receiver decides what becomes of it.")                   \
    CR_NOTICE_KIND(CR_NOTICE_DESTROY, 1, "destroy",                                                \
        "a space of the receiver's",                                                               \
        "The space is gone, and its manager is not.")                                              \
    CR_NOTICE_KIND(CR_NOTICE_DISCONNECT, 2, "disconnect",                                          \
        "a space of the receiver's, a PD",                                                         \
        "That client is gone, or has dropped its request.")                                        \
    CR_NOTICE_KIND(CR_NOTICE_LOST, 3, "lost",                                                      \
        "a space",                                                                                 \
        "The receiver lost its request to it, or what it held in it. Done gives the slots back.")  \
    CR_NOTICE_KIND(CR_NOTICE_PRE_DESTROY, 4, "pre-destroy",                                        \
        "a space or PD that the receiver subscribed to",                                           \
        "It is about to go, and the cleanup waits for the answer.")                                \
    CR_NOTICE_KIND(CR_NOTICE_EXTRACT, 5, "extract",                                                \
        "a space or resource of the receiver's",                                                   \
        "What is it built on?")

typedef enum cr_notice_kind {
#define CR_NOTICE_KIND(enumerator, number, ...) enumerator = number,
    CR_NOTICE_KINDS
#undef CR_NOTICE_KIND
    CR_NOTICE_KIND_COUNT
} cr_notice_kind;

typedef struct cr_doomed {
    cr_ref node;       /* a PD or a space */
    uint32_t pd_depth; /* PD: its depth. Space: of its manager, CR_NONE if the manager lives */
    uint32_t rs_depth; /* space: its rs depth, CR_NONE if rs depth did not reach it. PD: CR_NONE */
    uint32_t group;    /* destruction group: 0 is destroyed first */
    cr_why why;
    cr_ref cause; /* index CR_NONE for the trigger */
} cr_doomed;

typedef struct cr_pair {
    cr_ref pd;
    cr_ref node;
} cr_pair;

typedef struct cr_notice {
    cr_notice_kind kind;
    cr_ref to;
    cr_ref node;
    cr_ref from; /* FREE, DISCONNECT: the dead PD; else index CR_NONE */
} cr_notice;

/* The arrays lie in the planner's memory and hold until the next plan. Orders: doomed by group, in a
 * group spaces before PDs, so that destroying them one by one never finds a manager busy; the rest
 * unspecified. */
typedef struct cr_plan {
    cr_ref trigger;
    uint32_t pd_depth;
    uint32_t rs_depth;
    uint32_t groups; /* number of groups */
    uint32_t n_doomed;
    uint32_t n_removed_requests;
    uint32_t n_revoked;
    uint32_t n_revoked_spaces;
    uint32_t n_notices;
    uint32_t n_pre_destroy;
    uint32_t n_core_freed;
    uint32_t n_revoked_bodies;
    const cr_doomed *doomed;
    const cr_pair *removed_requests; /* REQUESTs of survivors to doomed spaces */
    const cr_pair *revoked;          /* HOLDs of survivors other than the root task of resources in doomed spaces */
    const cr_pair *revoked_spaces;   /* HOLDs of survivors other than the root task of doomed spaces themselves */
    const cr_notice *notices;        /* FREE, DESTROY, DISCONNECT, LOST; each owed exactly once */
    const cr_pair *pre_destroy;      /* subscribers (live, or doomed at depth >= 1) and the doomed node; by the
                                      * node's group, the last group first */
    const uint32_t *pre_destroy_groups; /* the node's group, entry by entry */
    const cr_ref *core_freed;        /* core resources whose last holder but the root task is doomed; the
                                      * BODY resources of doomed PDs are not among them */
    const cr_pair *revoked_bodies;   /* HOLDs of survivors other than the root task of doomed PDs' BODY resources */
} cr_plan;

typedef struct cr_planner cr_planner;

/* Bytes for a planner over models of up to `max_nodes` nodes whose plans have up to `max_items` entries in
 * each array (and twice as many order edges). 0 if out of range. */
size_t cr_planner_bytes(uint32_t max_nodes, uint32_t max_items);
cr_status cr_planner_init(void *memory, size_t bytes, uint32_t max_nodes, uint32_t max_items, cr_planner **out);

/* Plans the crash of an active PD. CR_ERR_STALE, CR_ERR_KIND, CR_ERR_STATE (already doomed), CR_ERR_ROOT,
 * CR_ERR_FULL_PLAN, CR_ERR_ARG (the model is larger than the planner). */
cr_status cr_plan_crash(cr_planner *planner, cr_model *model, cr_ref trigger, uint32_t pd_depth,
                        uint32_t rs_depth, cr_plan *out);

/* The consequences of the plan made last, anew: what survivors lose and are told, and what is freed, for the model as
 * it is now. Doomed nodes, their depths and groups, and pre_destroy stay. For a cleanup in which time passed
 * between marking and destroying; the doomed nodes are marked and none is destroyed. CR_ERR_FULL_PLAN, CR_ERR_ARG (not
 * the plan made last). */
cr_status cr_plan_again(cr_planner *planner, cr_model *model, cr_plan *plan);

/* Is this PD or space in the plan made last? */
int cr_plan_dooms(const cr_planner *planner, const cr_plan *plan, cr_ref node);

#endif
