/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The planner: which nodes a crash or a collection dooms, what survivors lose, and in which order
 * nodes are destroyed (docs/semantics.md, "What a crash dooms" to "Order", and "Plans without a
 * crash"). The planner reads the model and writes a plan into memory that the caller gives. It
 * changes only the touched counters of the model. Its cost is proportional to the doomed nodes and
 * their edges; that of a collection, which must find what is not reached, to the size of the model.
 *
 * Freestanding, no allocation, no recursion. Parsed by the host tooling. */
#ifndef CELLREAP_POLICY_H
#define CELLREAP_POLICY_H

#include <cellreap/metrics.h>
#include <cellreap/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CR_DEPTH_INF = 0xffffffff };

/* What a plan is for. Only a collection may spare a node later (cr_plan_spare). */
typedef enum cr_plan_kind {
    CR_PLAN_CRASH = 0,     /* one trigger */
    CR_PLAN_SUBTREE = 1,   /* the triggers are a PD and all PDs that it created, transitively */
    CR_PLAN_COLLECT = 2,   /* no trigger: what cannot be reached */
    CR_PLAN_RECONCILE = 3, /* no trigger: what the caller names */
    CR_PLAN_KIND_COUNT = 4
} cr_plan_kind;

/* Why a node is doomed. `cause` of cr_doomed is the node before it on the path from the trigger. */
typedef enum cr_why {
    CR_WHY_TRIGGER = 0,   /* the PD crashed */
    CR_WHY_LINK = 1,      /* cause: the doomed PD that it is linked with */
    CR_WHY_FAULT = 2,     /* cause: its fault handler, which is doomed */
    CR_WHY_REQUEST = 3,   /* cause: the space that it requests; the manager is one depth lower */
    CR_WHY_HOLD = 4,      /* cause: the resource that it holds in such a space */
    CR_WHY_MANAGED = 5,   /* space; cause: its manager, which is doomed */
    CR_WHY_MAP = 6,       /* space; cause: the space that it maps to, one rs depth lower */
    CR_WHY_OWN = 7,       /* a trigger of a subtree; cause: the PD that created it */
    CR_WHY_UNREACHED = 8, /* PD; no cause: a collection did not reach it */
    CR_WHY_UNNAMED = 9,   /* no cause: the caller of cr_plan_reconcile named it */
    CR_WHY_METRIC = 10,   /* PD; cause: the trigger, to which it is close */
    CR_WHY_COUNT = 11
} cr_why;

/* Which PDs policy dooms beside the trigger:
 * CR_POLICY(enumerator, number, word, meaning) */
/* clang-format off */
#define CR_POLICIES                                                                                \
    CR_POLICY(CR_POLICY_DEPTH, 0, "depth", "dependents, up to `pd_depth`")                         \
    CR_POLICY(CR_POLICY_METRIC, 1, "metric",                                                       \
        "PDs that are close to the trigger, whether dependents or not")                            \
    CR_POLICY(CR_POLICY_BOTH, 2, "both",                                                           \
        "dependents, up to `pd_depth`, that are close to the trigger")
/* clang-format on */

typedef enum cr_policy {
#define CR_POLICY(enumerator, number, ...) enumerator = number,
    CR_POLICIES
#undef CR_POLICY
        CR_POLICY_COUNT
} cr_policy;

enum {
    CR_RSI_MINS_MAX = 16,        /* types with a least RSI */
    CR_FR_UNLIMITED = 0xffffffff /* as fr_max: FR makes no PD close */
};

/* A PD is close by this if RSI of the type is at least shared / all. Both are at least 1. */
typedef struct cr_rsi_min {
    uint32_t type;
    uint32_t shared;
    uint32_t all;
} cr_rsi_min;

/* When a PD is close to the trigger: if its FR is at most `fr_max`, or by any of `rsi_min`. */
typedef struct cr_closeness {
    cr_policy policy;
    uint32_t fr_max; /* or CR_FR_UNLIMITED */
    uint32_t n_rsi_min;
    const cr_rsi_min *rsi_min;
    /* What measures, and what resources count as (cr_metrics_begin). Not read for
     * CR_POLICY_DEPTH. */
    cr_metrics *metrics;
    const cr_metric_resource *resources;
} cr_closeness;

/* CR_NOTICE_KIND(enumerator, number, name in traces, what it is about, meaning) */
/* clang-format off */
#define CR_NOTICE_KINDS                                                                            \
    CR_NOTICE_KIND(CR_NOTICE_FREE, 0, "free",                                                      \
        "a resource that the receiver serves, and a PD",                                           \
        "The PD held the resource and is destroyed. The receiver decides what to do with the "     \
        "resource.")                                                                               \
    CR_NOTICE_KIND(CR_NOTICE_DESTROY, 1, "destroy",                                                \
        "a space that the receiver manages",                                                       \
        "The space is destroyed, and its manager survives.")                                       \
    CR_NOTICE_KIND(CR_NOTICE_DISCONNECT, 2, "disconnect",                                          \
        "a space that the receiver manages, and a PD",                                             \
        "The PD was a client of the space. It is destroyed or has dropped its request.")           \
    CR_NOTICE_KIND(CR_NOTICE_LOST, 3, "lost",                                                      \
        "a space, a resource or a PD",                                                             \
        "The receiver lost its request to the space, its holds in it, its holds of the "           \
        "resource, or its capability to the PD. The result `ok` frees the slots.")                 \
    CR_NOTICE_KIND(CR_NOTICE_PRE_DESTROY, 4, "pre-destroy",                                        \
        "a space or PD that the receiver subscribed to",                                           \
        "The space or PD is about to be destroyed. The object is the set of the receiver's "       \
        "handlers for it. A PD with a destructor is told of itself once more, with handler 31 "    \
        "alone, when its turn to go has come. The cleanup waits for the acknowledgement.")         \
    CR_NOTICE_KIND(CR_NOTICE_EXTRACT, 5, "extract",                                                \
        "a space that the receiver manages, or a resource in it",                                  \
        "The receiver is asked what the space or resource is built on.")                           \
    CR_NOTICE_KIND(CR_NOTICE_PROBE, 6, "probe",                                                    \
        "the receiver itself",                                                                     \
        "The root task asks whether the receiver still runs. Any result shows that it does.")      \
    CR_NOTICE_KIND(CR_NOTICE_FAULT, 7, "fault",                                                    \
        "a PD whose fault handler the receiver is",                                                \
        "The PD faulted and is stopped. The result `ok` continues it, `failed` leaves it to "      \
        "the root task. FAULT_INFO tells which fault it is.")
/* clang-format on */

typedef enum cr_notice_kind {
#define CR_NOTICE_KIND(enumerator, number, ...) enumerator = number,
    CR_NOTICE_KINDS
#undef CR_NOTICE_KIND
        CR_NOTICE_KIND_COUNT
} cr_notice_kind;

enum { CR_GROUP_MAX = 0x3fffffff };

typedef struct cr_doomed {
    cr_ref node;       /* a PD or a space */
    uint32_t pd_depth; /* PD: its depth. Space: its manager's, CR_NONE if the manager survives */
    uint32_t rs_depth; /* space: its rs depth, CR_NONE if rs depth did not reach it. PD: CR_NONE */
    uint32_t group : 30;     /* destruction group: 0 is destroyed first */
    uint32_t destructor : 1; /* a PD that has one, and is not at depth 0 */
    uint32_t stopped : 1;    /* a PD whose SUSPEND is done (steps.h); a plan begins with 0 */
    cr_why why;
    cr_ref cause; /* index CR_NONE if there is none */
} cr_doomed;

typedef struct cr_pair {
    cr_ref pd;
    cr_ref node;
} cr_pair;

typedef struct cr_notice {
    cr_notice_kind kind;
    cr_ref to; /* index CR_NONE: it is queued, or nobody is owed it any more (steps.h) */
    cr_ref node;
    cr_ref from;     /* FREE, DISCONNECT: the destroyed PD; PROBE: who waits; else index CR_NONE */
    uint32_t number; /* LOST: how many entries of the plan's `broken` are the receiver's;
                      * PRE_DESTROY: the handlers that are told, bit n for handler n; PROBE: the
                      * milliseconds in which it must be finished, 0: the receiver's deadline */
} cr_notice;

/* A survivor keeps its HOLD of `node`, which is built, directly or further down, on something that
 * goes. */
typedef struct cr_broken {
    cr_ref pd;
    cr_ref node;
    cr_ref on; /* one of the nearest things that go: a space, or a resource */
} cr_broken;

/* The arrays are in the planner's memory and stay valid until the next plan. `doomed` is ordered by
 * group, and spaces come before PDs within a group. So a PD that is destroyed in this order manages
 * no space any more. Of the notices to one PD about one space, those of PDs at a smaller depth come
 * first. The order of the other arrays is unspecified. */
typedef struct cr_plan {
    cr_plan_kind kind;
    cr_ref trigger; /* index CR_NONE: a collection or a reconciliation */
    uint32_t pd_depth;
    uint32_t rs_depth;
    uint32_t groups; /* number of groups */
    uint32_t n_doomed;
    uint32_t n_removed_requests;
    uint32_t n_revoked;
    uint32_t n_revoked_spaces;
    uint32_t n_notices;
    uint32_t n_pre_destroy;
    uint32_t n_destructors; /* entries of `doomed` with a destructor */
    uint32_t n_core_freed;
    uint32_t n_revoked_bodies;
    uint32_t n_broken;
    cr_doomed *doomed;
    const cr_pair *removed_requests; /* REQUESTs of survivors to doomed spaces */
    /* HOLDs of survivors of resources in doomed spaces. The root task's HOLDs are not included,
     * here or in revoked_spaces and revoked_bodies. */
    const cr_pair *revoked;
    const cr_pair *revoked_spaces; /* HOLDs of survivors of doomed spaces themselves */
    cr_notice *notices;            /* FREE, DESTROY, DISCONNECT, LOST; each owed exactly once */
    /* Subscribers (not doomed, or doomed at depth >= 1) and the doomed node, by the node's group,
     * the last group first. */
    const cr_pair *pre_destroy;
    const uint32_t *pre_destroy_groups; /* for each entry of pre_destroy, the node's group */
    /* Core resources that no survivor other than the root task holds any more, and to which nothing
     * maps that stays. The BODY resources of doomed PDs are not included. Index CR_NONE: it is
     * freed, or is no longer to be (steps.h). */
    cr_ref *core_freed;
    const cr_pair *revoked_bodies; /* HOLDs of survivors of doomed PDs' BODY resources */
    const cr_broken *broken;       /* without the root task's HOLDs */
} cr_plan;

typedef struct cr_planner cr_planner;

/* The room that a planner has for plans. A plan of a model needs no more than there are: nodes;
 * edges for `order` and `losses`; nodes and edges for `notices`. */
typedef struct cr_plan_room {
    /* doomed nodes; nodes that are built on what goes; core resources that stay for what is built
     * on them */
    uint32_t nodes;
    uint32_t order;   /* pairs of doomed nodes of which one goes before the other */
    uint32_t losses;  /* entries in each other array; core resources that doomed PDs hold */
    uint32_t notices; /* notices */
} cr_plan_room;

/* The bytes that a planner needs for models of up to `max_nodes` nodes and plans that fit into
 * `room`. 0 if out of range. */
size_t cr_planner_bytes_for(uint32_t max_nodes, const cr_plan_room *room);
cr_status cr_planner_init_for(void *memory, size_t bytes, uint32_t max_nodes,
                              const cr_plan_room *room, cr_planner **out);

/* The same with `max_items` of everything. */
size_t cr_planner_bytes(uint32_t max_nodes, uint32_t max_items);
cr_status cr_planner_init(void *memory, size_t bytes, uint32_t max_nodes, uint32_t max_items,
                          cr_planner **out);

/* The room of a planner; after CR_ERR_FULL_PLAN twice as much of what was too little. For a caller
 * who tries with little room first. */
cr_plan_room cr_planner_wanted(const cr_planner *planner);

/* Plans the crash of an active PD. CR_ERR_STALE, CR_ERR_KIND, CR_ERR_STATE (already doomed),
 * CR_ERR_ROOT, CR_ERR_FULL_PLAN, CR_ERR_ARG (the model is larger than the planner). */
cr_status cr_plan_crash(cr_planner *planner, cr_model *model, cr_ref trigger, uint32_t pd_depth,
                        uint32_t rs_depth, cr_plan *out);

/* As cr_plan_crash, with another policy than depth. NULL, or CR_POLICY_DEPTH: depth. With
 * CR_POLICY_METRIC, `pd_depth` is not looked at. `metrics` must have room for the model. The cost
 * is then not that of cr_plan_crash: CR_POLICY_METRIC measures each PD, CR_POLICY_BOTH each
 * dependent, and either begins with a look at each node and MAP edge. Errors also as of
 * cr_metrics_begin; CR_ERR_ARG: a threshold is out of range, or there is none. */
cr_status cr_plan_close(cr_planner *planner, cr_model *model, cr_ref trigger, uint32_t pd_depth,
                        uint32_t rs_depth, const cr_closeness *close, cr_plan *out);

/* Plans the termination of an active PD together with all PDs that it created, transitively. All of
 * them are triggers: they are at depth 0, and a pin does not protect them. Errors as above. */
cr_status cr_plan_subtree(cr_planner *planner, cr_model *model, cr_ref top, uint32_t pd_depth,
                          uint32_t rs_depth, cr_plan *out);

/* Plans a collection: dooms each active PD that is not reached from the root task, a pinned PD or
 * one of `roots` (PDs that the root task keeps for a reason that is no edge; a stale one counts for
 * nothing), with the spaces that it manages. All are at depth 1, so they run and are told. The plan
 * may doom nothing. The cost is the size of the model. CR_ERR_FULL_PLAN, CR_ERR_ARG. */
cr_status cr_plan_collect(cr_planner *planner, cr_model *model, const cr_ref *roots, uint32_t count,
                          cr_plan *out);

/* Plans the last plan, a collection, anew for the current model: what is reached by now is spared,
 * and nothing else is doomed. The doomed nodes may be marked; none is destroyed. The caller makes
 * active again what the plan no longer dooms. CR_ERR_FULL_PLAN, CR_ERR_CORRUPT, CR_ERR_ARG (`plan`
 * is not the last plan, or no collection). */
cr_status cr_plan_spare(cr_planner *planner, cr_model *model, const cr_ref *roots, uint32_t count,
                        cr_plan *plan);

/* Plans a reconciliation: dooms these PDs and spaces, and the spaces of these PDs, and nothing
 * else. All are at depth 1. A node may be named twice. CR_ERR_STALE, CR_ERR_KIND (a resource, or a
 * core space), CR_ERR_STATE (already doomed), CR_ERR_ROOT, CR_ERR_FULL_PLAN, CR_ERR_ARG. */
cr_status cr_plan_reconcile(cr_planner *planner, cr_model *model, const cr_ref *unnamed,
                            uint32_t count, cr_plan *out);

/* Plans the consequences of the last plan again, for the current model: what survivors lose, which
 * notices they are owed, and which core resources are freed. The doomed nodes, their depths and
 * groups, and pre_destroy do not change. For a cleanup that let PDs run between marking and
 * destroying: the doomed nodes are marked, and none is destroyed. CR_ERR_FULL_PLAN, CR_ERR_ARG
 * (`plan` is not the last plan). */
cr_status cr_plan_again(cr_planner *planner, cr_model *model, cr_plan *plan);

/* Makes a plan of this planner the last plan again, after other plans were made, without its
 * consequences: cr_plan_again must follow before they are used. The caller has kept the plan and
 * its three arrays `doomed`, `pre_destroy` and `pre_destroy_groups`; afterwards the plan has those
 * of the planner. The doomed nodes are not destroyed. CR_ERR_ARG, CR_ERR_CORRUPT. */
cr_status cr_plan_restore(cr_planner *planner, const cr_model *model, cr_plan *plan,
                          const cr_doomed *doomed, const cr_pair *pre_destroy,
                          const uint32_t *pre_destroy_groups);

/* Whether the last plan dooms this PD or space. */
int cr_plan_dooms(const cr_planner *planner, const cr_plan *plan, cr_ref node);

#ifdef __cplusplus
}
#endif

#endif
