/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The model: which nodes exist, which PD holds what, and which PD depends on which
 * (docs/semantics.md, "The model").
 *
 * The whole model is in one arena that the caller gives. Nodes and edges are addressed by 32-bit
 * indices, never by pointers, so an arena can be copied, saved, compared and loaded at another
 * address. A reference to a node carries the generation of the node's entry. A reference to a node
 * that no longer exists is CR_ERR_STALE forever, and never names another node.
 *
 * Every node has one list for each kind of edge in each direction, and every edge is found by
 * hashing (kind, from, to). So a function looks only at the nodes and edges that it is about,
 * except cr_model_init and cr_model_check. `touched_nodes` and `touched_edges` count what functions
 * looked at.
 *
 * Freestanding, no allocation, no recursion. Not thread-safe: one owner at a time. Parsed by the
 * host tooling: plain declarations, enums for constants, no attributes. */
#ifndef CELLREAP_MODEL_H
#define CELLREAP_MODEL_H

#include <cellreap/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CR_NONE = 0xffffffff, /* no index */
    CR_MODEL_MAGIC = 0x4d6c6c63,
    CR_MODEL_VERSION = 1,
    CR_GENERATION_MAX = 0x0fffffff, /* fits a 64-bit badge with a 32-bit index and a 4-bit kind */
    CR_COUNT_MAX = 0xfffff,         /* the largest count of a HOLD or SUBSCRIBE edge */
    CR_HANDLER_COUNT = 32,          /* numbers of handlers of one PD: a set of them is a word */
    /* A PD that subscribes to itself with this handler has a destructor. */
    CR_HANDLER_DESTRUCTOR = 31
};

/* CR_NODE_KIND(enumerator, number, name in a model state, meaning) */
/* clang-format off */
#define CR_NODE_KINDS                                                                              \
    CR_NODE_KIND(CR_NODE_FREE, 0, "", "an entry that is not in use")                               \
    CR_NODE_KIND(CR_NODE_PD, 1, "PD", "a protection domain")                                       \
    CR_NODE_KIND(CR_NODE_SPACE, 2, "RESOURCE_SPACE",                                               \
        "a set of resources of one type, with a manager")                                          \
    CR_NODE_KIND(CR_NODE_RESOURCE, 3, "RESOURCE", "an object in a space")
/* clang-format on */

typedef enum cr_node_kind {
#define CR_NODE_KIND(enumerator, number, ...) enumerator = number,
    CR_NODE_KINDS
#undef CR_NODE_KIND
        CR_NODE_KIND_COUNT
} cr_node_kind;

/* active -> doomed -> destroyed, and doomed -> active (cr_model_spare). */
typedef enum cr_node_state {
    CR_STATE_ACTIVE = 0,
    CR_STATE_DOOMED = 1,
    CR_STATE_DESTROYED = 2,
    CR_STATE_COUNT = 3
} cr_node_state;

/* Flags of a node, or-ed. */
enum {
    CR_FLAG_ROOT = 1,   /* PD: the root task; at most one in a model */
    CR_FLAG_PINNED = 2, /* PD: REQUEST and HOLD do not doom it; LINK and FAULT do */
    CR_FLAG_CORE = 4,   /* space: of a type that the root task itself serves */
    CR_FLAG_REGIONS = 8 /* core space: its resources are parts of their holders' address spaces */
};

/* CR_EDGE_KIND(enumerator, number, name in a model state, meaning). A kind without a name has no
 * rows in a state. */
/* clang-format off */
#define CR_EDGE_KINDS                                                                              \
    CR_EDGE_KIND(CR_EDGE_HOLD, 0, "HOLD", "PD -> resource or space, counted")                      \
    CR_EDGE_KIND(CR_EDGE_REQUEST, 1, "REQUEST", "PD -> space")                                     \
    CR_EDGE_KIND(CR_EDGE_MAP, 2, "MAP", "resource -> resource, space -> space")                    \
    CR_EDGE_KIND(CR_EDGE_SUBSET, 3, "SUBSET", "resource -> space; exists as long as the resource") \
    CR_EDGE_KIND(CR_EDGE_FAULT, 4, "FAULT",                                                        \
        "PD -> PD that handles its faults; at most one from a PD")                                 \
    CR_EDGE_KIND(CR_EDGE_LINK, 5, "LINK",                                                          \
        "PD - PD, symmetric: stored once, found from both ends in either order")                   \
    CR_EDGE_KIND(CR_EDGE_OWN, 6, "OWN", "PD -> PD that it created")                                \
    CR_EDGE_KIND(CR_EDGE_SUBSCRIBE, 7, "SUBSCRIBE",                                                \
        "PD -> PD or space, one edge for each handler, counted; a PD may subscribe to itself")     \
    CR_EDGE_KIND(CR_EDGE_MANAGE, 8, "", "PD -> space; exists as long as the space")                \
    CR_EDGE_KIND(CR_EDGE_BODY, 9, "",                                                              \
        "PD -> core resource that is the capability to its body; at most one")
/* clang-format on */

typedef enum cr_edge_kind {
#define CR_EDGE_KIND(enumerator, number, ...) enumerator = number,
    CR_EDGE_KINDS
#undef CR_EDGE_KIND
        CR_EDGE_KIND_COUNT
} cr_edge_kind;

/* The types of the spaces that the root task itself serves. No server's space can have them. Only
 * PD and RESSPC exist in a running system; the others occur in model states of other systems.
 * CR_CORE_TYPE(name, what a resource of the type is) */
#define CR_CORE_TYPES                                                                              \
    CR_CORE_TYPE("ADS", "an address space")                                                        \
    CR_CORE_TYPE("VMR", "a mapped range of an address space")                                      \
    CR_CORE_TYPE("MO", "a memory object")                                                          \
    CR_CORE_TYPE("VCPU", "a virtual processor")                                                    \
    CR_CORE_TYPE("PCPU", "a physical processor")                                                   \
    CR_CORE_TYPE("CPU", "a thread's processor state")                                              \
    CR_CORE_TYPE("EP", "an endpoint")                                                              \
    CR_CORE_TYPE("PD", "the capability to a PD's body")                                            \
    CR_CORE_TYPE("RESSPC", "the right to create spaces")                                           \
    CR_CORE_TYPE("IRQ", "an interrupt line")                                                       \
    CR_CORE_TYPE("PORT", "a range of I/O ports")                                                   \
    CR_CORE_TYPE("CHANNEL", "two PDs that may signal each other")

typedef enum cr_direction { CR_OUT = 0, CR_IN = 1 } cr_direction;

typedef struct cr_ref {
    uint32_t index;
    uint32_t generation;
} cr_ref;

/* The answer of cr_model_get. */
typedef struct cr_node_info {
    cr_node_kind kind;
    cr_node_state state;
    uint32_t flags;
    uint32_t type;    /* space, resource: the caller's number of the type; PD: 0 */
    uint32_t number;  /* PD, space: the number in its id; resource: its object number */
    uint32_t holders; /* resource, space: PDs with a HOLD of it, each counted once */
    uint32_t members; /* space: its resources */
    /* A tombstone's space and manager may be destroyed: these two references may be stale. */
    cr_ref space;   /* resource: its space; else index CR_NONE */
    cr_ref manager; /* space: its manager; resource: its space's manager; else index CR_NONE */
} cr_node_info;

typedef struct cr_edge_info {
    cr_edge_kind kind;
    uint32_t count;   /* of a HOLD or SUBSCRIBE; else 1 */
    uint32_t handler; /* of a SUBSCRIBE; else 0 */
    cr_ref from;
    cr_ref to;
} cr_edge_info;

typedef struct cr_model_stats {
    uint32_t max_nodes;
    uint32_t max_edges;
    uint32_t nodes; /* in use, tombstones included */
    uint32_t edges;
    uint32_t retired; /* entries for nodes that are never used again */
    uint64_t touched_nodes;
    uint64_t touched_edges;
} cr_model_stats;

typedef struct cr_model cr_model;

/* The bytes that a model of these limits needs. 0 if a limit is 0 or >= 2^31. */
size_t cr_model_bytes(uint32_t max_nodes, uint32_t max_edges);

/* Makes an empty model in `memory` (aligned to 8 bytes). CR_ERR_ARG, CR_ERR_MEMORY. */
cr_status cr_model_init(void *memory, size_t bytes, uint32_t max_nodes, uint32_t max_edges,
                        cr_model **out);

/* For tests: leaves each entry of a new model `uses` uses, at most CR_GENERATION_MAX. CR_ERR_ARG.
 * CR_ERR_STATE: another node than the root was made. */
cr_status cr_model_age(cr_model *model, uint32_t uses);

/* Opens an arena that was saved and loaded again. Checks its header and every index in it, so that
 * an arena with arbitrary bytes is safe in later calls. CR_ERR_MEMORY, CR_ERR_CORRUPT.
 * CR_ERR_VERSION: a later version wrote it. */
cr_status cr_model_open(void *memory, size_t bytes, cr_model **out);

/* New nodes are active. `flags` may only be flags of that kind of node, else CR_ERR_ARG; a second
 * root is CR_ERR_EXISTS. Numbers are the caller's and need not be unique for the model. add_space
 * makes the MANAGE edge, and add_resource the SUBSET edge; only add_edge makes HOLD edges. A core
 * space's manager must be the root task (CR_ERR_ARG). CR_ERR_STALE / KIND / STATE for the manager
 * or space, CR_ERR_FULL_NODES / FULL_EDGES. */
cr_status cr_model_add_pd(cr_model *model, uint32_t number, uint32_t flags, cr_ref *out);
cr_status cr_model_add_space(cr_model *model, uint32_t type, uint32_t number, uint32_t flags,
                             cr_ref manager, cr_ref *out);
cr_status cr_model_add_resource(cr_model *model, cr_ref space, uint32_t number, cr_ref *out);

cr_status cr_model_set_pinned(cr_model *model, cr_ref pd, int pinned);

/* CR_ERR_STALE if the node was released. A tombstone has the state CR_STATE_DESTROYED. */
cr_status cr_model_get(const cr_model *model, cr_ref node, cr_node_info *out);

/* The space of a resource; that with index CR_NONE if the node is none. */
cr_ref cr_model_space(const cr_model *model, cr_ref resource);

/* The node at an index, for walking tables kept beside the model. CR_ERR_ABSENT for free entries
 * and tombstones. */
cr_status cr_model_at(const cr_model *model, uint32_t index, cr_ref *out);

/* Adds an edge, or adds one to the count of a counted edge. Errors:
 *   CR_ERR_STATE: an end is destroyed; it must be active or doomed
 *   CR_ERR_KIND: an end is of the wrong kind, or a BODY is in a space that is not core
 *   CR_ERR_EXISTS: the edge exists and is not counted; a second FAULT edge from a PD, a second
 *     BODY of a PD, or a second PD for a BODY
 *   CR_ERR_ARG: MANAGE or SUBSET; a LINK, FAULT, OWN or MAP edge of a node to itself
 *   CR_ERR_ROOT: the root task cannot be linked, be created by a PD, subscribe, or have a fault
 *     handler
 *   CR_ERR_FULL_EDGES: no edge is left, or the count is CR_COUNT_MAX */
cr_status cr_model_add_edge(cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to);

/* The same for a SUBSCRIBE edge with a handler, which is part of what the edge is: subscriptions
 * with different handlers are different edges. A handler is a number of the PD's own; 0 is none.
 * The functions above and below that take a kind mean handler 0. CR_ERR_ARG: the handler is not
 * below CR_HANDLER_COUNT. cr_model_unsubscribe: as cr_model_drop_edge. */
cr_status cr_model_subscribe(cr_model *model, cr_ref pd, cr_ref node, uint32_t handler);
cr_status cr_model_unsubscribe(cr_model *model, cr_ref pd, cr_ref node, uint32_t handler);
/* The count of a PD's subscriptions to a node with this handler. */
uint32_t cr_model_subscriptions(const cr_model *model, cr_ref pd, cr_ref node, uint32_t handler);
/* The handlers with which a PD subscribed to a node: bit n for handler n. */
uint32_t cr_model_handlers(const cr_model *model, cr_ref pd, cr_ref node);

/* Takes one from the count and removes the edge at zero. CR_ERR_ABSENT, CR_ERR_STALE; MANAGE and
 * SUBSET: CR_ERR_ARG. */
cr_status cr_model_drop_edge(cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to);

/* Removes the edge, whatever its count. Errors as for cr_model_drop_edge. */
cr_status cr_model_cut_edge(cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to);

/* The count of an edge. 0 if the edge does not exist or an end is stale. This and cr_model_find are
 * not for MANAGE and SUBSET: cr_model_get tells those. */
uint32_t cr_model_count(const cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to);

/* The index of an edge, for tables kept beside the model; CR_NONE if the edge does not exist. The
 * index is valid until the edge is removed. */
uint32_t cr_model_find(const cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to);

/* The first edge of a kind at a node, or CR_NONE. For LINK use CR_OUT, which gives all links. */
uint32_t cr_model_first(const cr_model *model, cr_ref node, cr_edge_kind kind,
                        cr_direction direction);

/* A walk over the edges of one kind at a node, as cr_model_first finds them:
 *   cr_edge_walk walk = cr_model_walk(model, node, kind, direction);
 *   while (cr_model_next(&walk)) { ... }
 * The present edge may be dropped. At the end, `next` is CR_NONE, unless the list is corrupt. */
typedef struct cr_edge_walk {
    const cr_model *model;
    uint32_t edge; /* the present one */
    cr_ref other;  /* the node at its other end */
    uint32_t node;
    uint32_t kind;
    uint32_t direction;
    uint32_t next;
    uint32_t left; /* a longer list is corrupt */
} cr_edge_walk;

cr_edge_walk cr_model_walk(const cr_model *model, cr_ref node, cr_edge_kind kind,
                           cr_direction direction);
/* Returns 0 when there is no further edge. */
int cr_model_next(cr_edge_walk *walk);

cr_status cr_model_edge(const cr_model *model, uint32_t edge, cr_edge_info *out);

/* State transitions. CR_ERR_STATE for a node in another state, CR_ERR_ROOT.
 *   doom: active -> doomed
 *   spare: doomed -> active
 *   destroy: doomed -> destroyed; for resources also active -> destroyed. Removes every edge of the
 *     node. A space must have no resources, and a PD must manage no space (CR_ERR_BUSY). Leaves a
 *     tombstone, which only cr_model_get and cr_model_release accept. */
cr_status cr_model_doom(cr_model *model, cr_ref node);
cr_status cr_model_spare(cr_model *model, cr_ref node);
cr_status cr_model_destroy(cr_model *model, cr_ref node);

typedef struct cr_edge_taken {
    uint32_t index; /* that the edge had */
    cr_edge_info info;
} cr_edge_taken;

/* Removes edges of a node that may be destroyed: at most `room`, which come into `out`; their
 * number into *count. Errors as for destroy. Edges come by kind, and by the end at which the node
 * is, OUT first. A SUBSCRIBE is the last one of its call, because what it counts depends on the
 * others of the same PD. *list: 0 at the first call for a node; CR_NONE when no edge is left: then
 * the node is destroyed. From the first call on it must not be used until then, and no later call
 * is refused. */
cr_status cr_model_take_edges(cr_model *model, cr_ref node, uint32_t *list, cr_edge_taken *out,
                              uint32_t room, uint32_t *count);

/* Frees a tombstone's entry and raises its generation. CR_ERR_STATE if the node is not destroyed.
 * An entry that was used CR_GENERATION_MAX times is not used again, so a reference never names a
 * second node. */
cr_status cr_model_release(cr_model *model, cr_ref node);

cr_model_stats cr_model_get_stats(const cr_model *model);
/* Adds to the touched counters, for planners, which read by the const functions above. */
void cr_model_touch(cr_model *model, uint32_t nodes, uint32_t edges);
void cr_model_reset_touched(cr_model *model);

/* Checks that all lists, hash chains, counts and free lists agree. CR_ERR_CORRUPT. For tests and
 * for arenas from outside. The cost is the size of the arena. */
cr_status cr_model_check(const cr_model *model);

#ifdef __cplusplus
}
#endif

#endif
