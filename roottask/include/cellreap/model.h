/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The model: who exists, who holds what, who depends on whom (docs/semantics.md, "The model").
 *
 * The whole model lives in one arena that the caller gives. Nodes and edges are addressed by 32-bit
 * indices, never by pointers, so an arena can be copied, saved, compared and loaded at another address.
 * A node reference carries the generation of its slot: a reference to something that is gone is
 * CR_ERR_STALE for ever, never somebody else's object.
 *
 * Every node has one list a kind of edge in each direction, and every edge is found by hashing
 * (kind, from, to): no function here looks at more than the nodes and edges it is about, but for
 * cr_model_init and cr_model_check. `touched_nodes` and `touched_edges` count what was looked at.
 *
 * Freestanding, no allocation, no recursion. Not thread-safe: one owner at a time.
 * Parsed by the host tooling: plain declarations, enums for constants, no attributes. */
#ifndef CELLREAP_MODEL_H
#define CELLREAP_MODEL_H

#include <cellreap/status.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CR_NONE = 0xffffffff, /* no index */
    CR_MODEL_MAGIC = 0x4d6c6c63,
    CR_MODEL_VERSION = 1,
    CR_GENERATION_MAX = 0x0fffffff, /* fits a 64-bit badge beside a 32-bit index and a 4-bit kind */
    CR_COUNT_MAX = 0xfffff          /* of one HOLD or SUBSCRIBE edge */
};

/* CR_NODE_KIND(enumerator, number, name in a model state, meaning) */
#define CR_NODE_KINDS                                                                             \
    CR_NODE_KIND(CR_NODE_FREE, 0, "", "an entry that is not in use")                              \
    CR_NODE_KIND(CR_NODE_PD, 1, "PD", "a protection domain")                                      \
    CR_NODE_KIND(CR_NODE_SPACE, 2, "RESOURCE_SPACE",                                              \
        "a set of resources of one type, with a manager")                                         \
    CR_NODE_KIND(CR_NODE_RESOURCE, 3, "RESOURCE", "an object in a space")

typedef enum cr_node_kind {
#define CR_NODE_KIND(enumerator, number, ...) enumerator = number,
    CR_NODE_KINDS
#undef CR_NODE_KIND
    CR_NODE_KIND_COUNT
} cr_node_kind;

/* active -> doomed -> destroyed, and doomed -> active for what a collection spares. */
typedef enum cr_node_state {
    CR_STATE_ACTIVE = 0,
    CR_STATE_DOOMED = 1,
    CR_STATE_DESTROYED = 2,
    CR_STATE_COUNT = 3
} cr_node_state;

/* Flags of a node, or-ed. */
enum {
    CR_FLAG_ROOT = 1,   /* PD: the root task; at most one in a model */
    CR_FLAG_PINNED = 2, /* PD: policy does not doom it; LINK and FAULT still do */
    CR_FLAG_CORE = 4    /* space: of a type that the root task itself serves */
};

/* CR_EDGE_KIND(enumerator, number, name in a model state, meaning). Without a name it is no row of a state. */
#define CR_EDGE_KINDS                                                                             \
    CR_EDGE_KIND(CR_EDGE_HOLD, 0, "HOLD", "PD -> resource or space, counted")                     \
    CR_EDGE_KIND(CR_EDGE_REQUEST, 1, "REQUEST", "PD -> space")                                    \
    CR_EDGE_KIND(CR_EDGE_MAP, 2, "MAP", "resource -> resource, space -> space")                   \
    CR_EDGE_KIND(CR_EDGE_SUBSET, 3, "SUBSET",                                                     \
        "resource -> space; made and dropped with the resource only")                             \
    CR_EDGE_KIND(CR_EDGE_FAULT, 4, "FAULT",                                                       \
        "PD -> PD that handles its faults; at most one out of a PD")                              \
    CR_EDGE_KIND(CR_EDGE_LINK, 5, "LINK",                                                         \
        "PD - PD, symmetric: stored once, found from both ends in either order")                  \
    CR_EDGE_KIND(CR_EDGE_OWN, 6, "OWN", "PD -> PD it created")                                    \
    CR_EDGE_KIND(CR_EDGE_SUBSCRIBE, 7, "SUBSCRIBE",                                               \
        "PD -> PD or space, counted; a PD may subscribe to itself")                               \
    CR_EDGE_KIND(CR_EDGE_MANAGE, 8, "", "PD -> space; made and dropped with the space only")      \
    CR_EDGE_KIND(CR_EDGE_BODY, 9, "",                                                             \
        "PD -> core resource that stands for the capability to its body; at most one")

typedef enum cr_edge_kind {
#define CR_EDGE_KIND(enumerator, number, ...) enumerator = number,
    CR_EDGE_KINDS
#undef CR_EDGE_KIND
    CR_EDGE_KIND_COUNT
} cr_edge_kind;

/* The types of the spaces that the root task itself serves, and that no server's space can have. Only PD and
 * RESSPC exist in a running system; the others stand in model states of other systems.
 * CR_CORE_TYPE(name, what a resource of the type is) */
#define CR_CORE_TYPES                                                                             \
    CR_CORE_TYPE("ADS", "an address space")                                                       \
    CR_CORE_TYPE("VMR", "a mapped range of an address space")                                     \
    CR_CORE_TYPE("MO", "a memory object")                                                         \
    CR_CORE_TYPE("VCPU", "a virtual processor")                                                   \
    CR_CORE_TYPE("PCPU", "a physical processor")                                                  \
    CR_CORE_TYPE("CPU", "a thread's processor state")                                             \
    CR_CORE_TYPE("EP", "an endpoint")                                                             \
    CR_CORE_TYPE("PD", "the capability to a PD's body")                                           \
    CR_CORE_TYPE("RESSPC", "the right to make spaces")

typedef enum cr_direction { CR_OUT = 0, CR_IN = 1 } cr_direction;

typedef struct cr_ref {
    uint32_t index;
    uint32_t generation;
} cr_ref;

/* What cr_model_get tells about a node. */
typedef struct cr_node_info {
    cr_node_kind kind;
    cr_node_state state;
    uint32_t flags;
    uint32_t type;    /* space, resource: the caller's number of the type; PD: 0 */
    uint32_t number;  /* PD, space: the number in its id; resource: the object's number in its space */
    uint32_t holders; /* resource, space: PDs with a HOLD of it, however often each holds it */
    cr_ref space;     /* resource: its space; else index CR_NONE */
    cr_ref manager;   /* space: its manager; resource: its space's manager; else index CR_NONE.
                       * A tombstone's space and manager may be gone: these references may be stale */
} cr_node_info;

typedef struct cr_edge_info {
    cr_edge_kind kind;
    uint32_t count; /* HOLD, SUBSCRIBE: how often; else 1 */
    cr_ref from;
    cr_ref to;
} cr_edge_info;

typedef struct cr_model_stats {
    uint32_t max_nodes;
    uint32_t max_edges;
    uint32_t nodes; /* in use, tombstones included */
    uint32_t edges;
    uint64_t touched_nodes;
    uint64_t touched_edges;
} cr_model_stats;

typedef struct cr_model cr_model;

/* Bytes of memory that a model of these limits needs. 0 if a limit is 0 or >= 2^31. */
size_t cr_model_bytes(uint32_t max_nodes, uint32_t max_edges);

/* Makes an empty model in `memory` (aligned to 8 bytes). CR_ERR_ARG, CR_ERR_MEMORY. */
cr_status cr_model_init(void *memory, size_t bytes, uint32_t max_nodes, uint32_t max_edges, cr_model **out);

/* Takes an arena that was saved and loaded again; checks its header and every index in it, so that bytes
 * from anywhere cannot make a later call go astray. CR_ERR_MEMORY, CR_ERR_CORRUPT. */
cr_status cr_model_open(void *memory, size_t bytes, cr_model **out);

/* New nodes are active. `flags`: only those that fit the kind, else CR_ERR_ARG; a second root is
 * CR_ERR_EXISTS. Numbers are the caller's: the model does not need them to be unique.
 * add_space makes the MANAGE edge, add_resource the SUBSET edge; HOLD edges are made by add_edge alone.
 * A core space's manager must be the root task (CR_ERR_ARG).
 * CR_ERR_STALE / KIND / STATE for the manager or space, CR_ERR_FULL_NODES / FULL_EDGES. */
cr_status cr_model_add_pd(cr_model *model, uint32_t number, uint32_t flags, cr_ref *out);
cr_status cr_model_add_space(cr_model *model, uint32_t type, uint32_t number, uint32_t flags, cr_ref manager,
                             cr_ref *out);
cr_status cr_model_add_resource(cr_model *model, cr_ref space, uint32_t number, cr_ref *out);

cr_status cr_model_set_pinned(cr_model *model, cr_ref pd, int pinned);

/* CR_ERR_STALE if the node is gone; a tombstone answers with state CR_STATE_DESTROYED. */
cr_status cr_model_get(const cr_model *model, cr_ref node, cr_node_info *out);

/* The node at an index, so that tables kept beside the model can be walked. Free slots and tombstones:
 * CR_ERR_ABSENT. */
cr_status cr_model_at(const cr_model *model, uint32_t index, cr_ref *out);

/* Adds an edge, or one to the count of a counted one. Both ends must be active, or doomed: nothing is
 * added to what is destroyed (CR_ERR_STATE). Wrong kinds of ends: CR_ERR_KIND. An uncounted edge that is
 * there already, a second FAULT edge out of a PD, a second BODY of a PD or a second PD for a BODY:
 * CR_ERR_EXISTS. MANAGE and SUBSET: CR_ERR_ARG. A LINK, FAULT, OWN or MAP edge of a node to itself: CR_ERR_ARG.
 * The root task is linked with nobody, made by nobody, subscribes to nothing, and has no fault handler:
 * CR_ERR_ROOT. No edge left, or a count at CR_COUNT_MAX: CR_ERR_FULL_EDGES. A BODY in a space that is not core:
 * CR_ERR_KIND. */
cr_status cr_model_add_edge(cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to);

/* Takes one from the count; the edge goes at zero. CR_ERR_ABSENT, CR_ERR_STALE; MANAGE and SUBSET: CR_ERR_ARG. */
cr_status cr_model_drop_edge(cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to);

/* Drops the edge whatever its count. Errors as for cr_model_drop_edge. */
cr_status cr_model_cut_edge(cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to);

/* The count of an edge; 0 if there is none (also for stale ends). */
uint32_t cr_model_count(const cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to);

/* The index of an edge, for tables kept beside the model; CR_NONE if there is none. It holds until the edge goes. */
uint32_t cr_model_find(const cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to);

/* Walks the edges of one kind at a node: first, then next with the same direction, CR_NONE at the end.
 * For LINK use CR_OUT: it gives all links, and `to` of cr_model_edge is then not always the other end.
 * The edge just returned may be dropped only after its successor was taken. */
uint32_t cr_model_first(const cr_model *model, cr_ref node, cr_edge_kind kind, cr_direction direction);
uint32_t cr_model_next(const cr_model *model, uint32_t edge, cr_ref node, cr_direction direction);
cr_status cr_model_edge(const cr_model *model, uint32_t edge, cr_edge_info *out);

/* State transitions. doom: active -> doomed; spare: doomed -> active; CR_ERR_STATE else, CR_ERR_ROOT.
 * destroy: doomed -> destroyed: drops every edge that the node has (a space's resources must be gone
 * first, and a PD may manage no space: CR_ERR_BUSY) and leaves a tombstone that only cr_model_get
 * and cr_model_release take. Resources are destroyed directly from active or doomed. */
cr_status cr_model_doom(cr_model *model, cr_ref node);
cr_status cr_model_spare(cr_model *model, cr_ref node);
cr_status cr_model_destroy(cr_model *model, cr_ref node);

/* Gives a tombstone's slot back; the generation moves on. CR_ERR_STATE if it is not destroyed. A slot that
 * was used CR_GENERATION_MAX times is not used again: a reference never comes to name a second object. */
cr_status cr_model_release(cr_model *model, cr_ref node);

cr_model_stats cr_model_get_stats(const cr_model *model);
/* Adds to the touched counters: for planners, which read through the const functions above. */
void cr_model_touch(cr_model *model, uint32_t nodes, uint32_t edges);
void cr_model_reset_touched(cr_model *model);

/* Walks everything: lists, hash chains, counts and free lists agree. CR_ERR_CORRUPT. For tests and for
 * arenas that come from outside; costs the size of the arena. */
cr_status cr_model_check(const cr_model *model);

#endif
