/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The system as the root task keeps it: the model, and beside it, by the model's indices, what the kernel
 * knows each node and edge as. Every change is made here and nowhere else, to model, kernel and trace at once:
 * a function either does all three or nothing and says why.
 *
 * One thread uses this. Nothing here waits for a PD. */
#ifndef CELLREAP_SEL4_SYSTEM_H
#define CELLREAP_SEL4_SYSTEM_H

#include "body.h"
#include <cellreap/image.h>
#include <cellreap/limits.h>
#include <cellreap/machines.h>
#include <cellreap/policy.h>
#include <cellreap/protocol.h>
#include <cellreap/steps.h>
#include <cellreap/trace.h>
#include <cellreap/work.h>

enum {
    CR_MAX_PLAN = CR_MAX_NODES + CR_MAX_EDGES, /* enough for any plan over such a model */
    /* What one cleanup can owe: each notice, those before its end as well, has an edge of its own, or a space. */
    CR_CLEANUP_NOTICES = CR_MAX_EDGES + CR_MAX_SPACES,
    CR_MAX_NOTICES = CR_CLEANUP_NOTICES + CR_NOTICE_BACKLOG + CR_MAX_NODES, /* the last: an extraction */
    CR_ID_BYTES = 48
};

_Static_assert(CR_MAX_PDS == CR_IMAGE_MAX_PDS + 1, "the configuration's PDs and the root task");

/* What a slot of a PD's CSpace is. */
enum {
    CR_SLOT_FREE = 0,
    CR_SLOT_USED = 1,
    CR_SLOT_RESERVED = 2, /* for the capability to a PD that the configuration names, while that PD is not there */
    CR_SLOT_EMPTIED = 3, /* taken back by a server that lives on: empty, until its PD's next request */
    CR_SLOT_LOST = 0x80000000 /* + the number of the space: empty, until its PD acknowledged the loss */
};

typedef struct cr_pd {
    cr_life life;       /* changed by cr_pd_become alone */
    cr_wait wait;       /* which answer it waits for; changed by cr_pd_wait alone */
    uint64_t wait_due;  /* when it is answered whatever has come of it; 0: never */
    uint64_t ticket;    /* waits for TICKET, TERMINATE: that one */
    uint32_t told;      /* notices that the cleanup under way gave it before its end, or another's */
    uint32_t deadline_ms; /* to acknowledge a notice; 0: none */
    uint64_t last_token;  /* of the notice queued last */
    uint64_t released;    /* the last one when it was let go so as to answer */
    uint64_t grace;       /* notices up to this token had their deadline put off, once */
    uint32_t lost;        /* slots that wait for its acknowledgement */
    uint32_t refusals;
    uint32_t refusals_untold;
    uint32_t says;
    uint32_t config; /* in the image's table, or CR_IMAGE_NONE: spawned */
    uint32_t program;
    uint32_t number;
    uint32_t generation;
    uint32_t flags;
    uint32_t pd_depth; /* of a cleanup that it triggers; CR_IMAGE_DEPTH_DEFAULT */
    uint32_t rs_depth;
    uint32_t pd_slots; /* slots from CR_SLOT_FIRST_FREE on that are for configured PD capabilities */
    cr_ref node;
    cr_body body;
    char name[CR_NAME_BYTES];
    char wanted[CR_NAME_BYTES]; /* waits for CONNECT: the space's name */
    uint32_t slots[1 << CR_CSPACE_BITS_MAX];
    /* Slots that were emptied while their server lived on: the server's number. A client may be waiting for that
     * server's answer to a call with a capability that it does not have any more. */
    uint32_t servers[1 << CR_CSPACE_BITS_MAX];
    uint32_t emptied; /* how many of them there are */
} cr_pd;

typedef struct cr_request_entry {
    int used;
    uint32_t generation;
    uint32_t pd; /* index */
    uint32_t slot;
    uint32_t next_free;
    cr_ref space;
} cr_request_entry;

typedef struct cr_space_entry {
    int used;
    int manager_dead; /* set when its manager is doomed: its capabilities go with the manager's endpoint */
    uint32_t next_object;
    char name[CR_NAME_BYTES];
} cr_space_entry;

/* The ends of a MAP edge as requests name them. Objects 0 and 0: the spaces. */
typedef struct cr_map_ends {
    uint32_t space;
    uint32_t object;
    uint32_t target_space;
    uint32_t target_object;
} cr_map_ends;

typedef struct cr_system {
    const cr_image_header *image;
    cr_model *model;
    cr_planner *planner;
    cr_trace trace;
    cr_work *work;
    cr_ref root;
    cr_ref pd_space;     /* core: capabilities to PDs */
    cr_ref resspc_space; /* core: the right to make spaces */
    seL4_CPtr endpoint;  /* faults and requests */
    uint32_t next_pd;    /* numbers of PDs and spaces are never used again */
    uint32_t next_space;
    uint32_t cleanups; /* begun */
    uint32_t settled;  /* number of the last one that is over */
    int changed;        /* the model, since its state was printed last */
    int memory_changed; /* what PDs and resources use, since ACCOUNT was printed last */
    uint64_t base_bytes;
    char types[CR_MAX_TYPES][CR_TYPE_BYTES];
    uint32_t type_spaces[CR_MAX_TYPES]; /* spaces of that type; at 0 the entry is free */
    cr_pd pds[CR_MAX_PDS];
    cr_request_entry requests[CR_MAX_REQUESTS];
    uint32_t free_request;
    cr_space_entry spaces[CR_MAX_SPACES];
    uint32_t node_entry[CR_MAX_NODES]; /* PD: index in pds; space: in spaces; resource: pool slot of its parent capability */
    uint32_t edge_entry[CR_MAX_EDGES]; /* HOLD: slot in the PD's CSpace; REQUEST: index in requests */
} cr_system;

extern cr_system cr_sys;

/* -- a PD's life, and what it waits for (machines.h) */

/* Changes the state. An edge that the table does not have stops the system. A PD that goes down, or is stopped, waits
 * for nothing any more. */
void cr_pd_become(cr_pd *pd, cr_life to);
void cr_pd_wait(cr_pd *pd, cr_wait to);

/* The number that cr_work knows a PD by. */
uint32_t cr_receiver(const cr_pd *pd);

/* Whether the table's entry is a PD. */
static inline int cr_pd_exists(const cr_pd *pd)
{
    return pd->life != CR_LIFE_ABSENT;
}

/* Whether its operations are served: it is there, and not a trigger, nor stopped. */
static inline int cr_pd_is_served(const cr_pd *pd)
{
    return pd->life == CR_LIFE_RUNS || pd->life == CR_LIFE_FROZEN;
}

/* Whether its thread is suspended, and must not be resumed. */
static inline int cr_pd_is_suspended(const cr_pd *pd)
{
    return pd->life == CR_LIFE_FROZEN || pd->life == CR_LIFE_STOPPED;
}

/* -- ids and trace */

/* Writes a node's id; `out` has CR_ID_BYTES. */
void cr_node_id(cr_ref node, char *out);
void cr_pd_id(const cr_pd *pd, char *out);
/* Begins the line of an event that changes the model. */
void cr_trace_change(cr_event event);
void cr_trace_node(cr_ref node);
void cr_trace_pd(const cr_pd *pd);
/* Whole lines of changes: two nodes; a PD, a node and a slot. */
void cr_trace_pair(cr_event event, cr_ref a, cr_ref b);
void cr_trace_slot(cr_event event, cr_ref pd, cr_ref node, uint32_t slot);
uint64_t cr_slots_used(void);
/* Prints the accounts if they changed since they were printed last. */
void cr_account(void);

/* -- looking up */

/* A slot of a PD's CSpace, and where the parent of the REQUEST capability in that slot is. */
static inline cr_slot cr_pd_slot(const cr_pd *pd, uint32_t slot)
{
    return cr_slot_in(cr_body_cap(&pd->body, CR_BODY_CSPACE), slot, pd->body.cspace_bits);
}

static inline cr_slot cr_pd_parent(const cr_pd *pd, uint32_t slot)
{
    return cr_slot_at(cr_body_cap(&pd->body, pd->body.parents + slot));
}

cr_pd *cr_pd_of(cr_ref node);
/* Whether it goes by the cleanup under way. */
int cr_is_doomed(const cr_pd *pd);
/* CR_RESULT_OK, NO_SUCH, GONE. Numbers as in ids. */
cr_result cr_find_space(uint32_t number, cr_ref *out);
/* Whether a space of that number is in the model and not destroyed, doomed or not. */
int cr_is_there(uint32_t space_number);
cr_result cr_find_resource(uint32_t space, uint32_t object, cr_ref *out);
/* The live PD that a configured PD became, or 0. */
cr_pd *cr_find_configured(uint32_t config);
/* The live PD that a badge of that kind names. CR_RESULT_OK, BAD_BADGE, GONE. */
cr_result cr_find_badged(uint64_t badge, cr_badge_kind kind, cr_pd **out);
cr_result cr_find_request(uint64_t badge, cr_request_entry **out);
int cr_same(cr_ref a, cr_ref b);
cr_pd *cr_manager_of(cr_ref node);
/* Both ends of a MAP edge: the first is the PD's, the second something it holds or may ask for. */
cr_result cr_find_map_ends(const cr_pd *from, const cr_map_ends *ends, cr_ref *source, cr_ref *target);
const char *cr_type_name(uint32_t type);
cr_space_entry *cr_space_entry_of(cr_ref space);

/* -- changes: each traces itself */

cr_status cr_system_init(const cr_image_header *image, seL4_CPtr endpoint);
cr_status cr_core_space(const char *type, cr_ref *out);

/* Creates a PD and lets it run. `creator`: 0 for the root task. Making its body may fail for lack of
 * kernel memory or slots; then everything is as it was before. CR_ERR_MEMORY, FULL_NODES,
 * FULL_EDGES, ARG. */
cr_status cr_make_pd(uint32_t config, uint32_t program, const char *name, cr_pd *creator, cr_pd **out);

/* For what a PD asks for there are two functions each. cr_can_... changes nothing and says why it
 * cannot be done. It may find the slot of the PD's CSpace that the capability goes into.
 * cr_make_..., right after it, is given that slot and cannot fail. */

/* Whether there is room for a PD, and for the capability to it that its creator gets.
 * CR_RESULT_FULL, UNACKED. */
cr_result cr_can_spawn(const cr_pd *creator, uint32_t *slot);
/* `first`: the space's first client, or 0; *slot is for its request. CR_RESULT_FULL, UNACKED. */
cr_result cr_can_make_space(const char *type, const cr_pd *first, uint32_t *slot);
cr_ref cr_make_space(cr_pd *manager, const char *type, const char *name);
/* CR_RESULT_GONE, FULL. */
cr_result cr_can_make_resource(cr_ref space);
cr_ref cr_make_resource(cr_ref space);
/* CR_RESULT_GONE, FULL, UNACKED; EXISTS, and *slot is the one it has: 0 for a core space. */
cr_result cr_can_make_request(const cr_pd *pd, cr_ref space, uint32_t *slot);
void cr_make_request(cr_pd *pd, cr_ref space, uint32_t slot);
/* One more hold. The capability is copied with the first; *slot is the one it has or gets.
 * CR_RESULT_FULL, UNACKED. */
cr_result cr_can_make_hold(const cr_pd *pd, cr_ref resource, uint32_t *slot);
void cr_make_hold(cr_pd *pd, cr_ref resource, uint32_t slot);
/* Whether there is room for so many more edges, and for the notices that all edges and spaces could be owed for: every notice
 * of a cleanup is one less of either. So no cleanup, nor any number of them, is ever without room. */
int cr_edges_left(uint32_t n);
/* The core resource that stands for a PD's body, made when first wanted. */
cr_result cr_body_resource(cr_pd *pd, cr_ref *out);
/* Whether one of the PD's holds can be dropped. CR_RESULT_NO_SUCH; DENIED: it manages the
 * resource. */
cr_result cr_can_drop_hold(const cr_pd *pd, cr_ref resource);
/* Drops one, and returns how many are left. `by`: the PD itself, or the resource's manager. */
uint32_t cr_drop_hold(cr_pd *by, cr_pd *pd, cr_ref resource);
/* The PD has a request to that space. */
void cr_drop_request(cr_pd *pd, cr_ref space);
/* By their manager, which is told nothing of it. */
void cr_delete_resource(cr_pd *by, cr_ref resource);
void cr_delete_space(cr_pd *by, cr_ref space);

/* -- what a cleanup takes apart: model and kernel, no trace. Each may be repeated. */

cr_status cr_take_request(cr_pd *pd, cr_ref space);
cr_status cr_take_resource(cr_ref resource);
cr_status cr_take_space(cr_ref space);
cr_status cr_take_pd(cr_pd *pd);

/* The PD has acknowledged the loss of a space; it has made a request, so it waits for no server's answer. */
void cr_free_lost_slots(cr_pd *pd, uint32_t space);
void cr_free_emptied_slots(cr_pd *pd);
void cr_free_slot(cr_pd *pd, uint32_t slot);
/* A client that waits for an answer of a server that is gone, over a slot that is empty, is set going again. */
cr_status cr_unblock(cr_pd *client, uint32_t slot_state, uint32_t server);
cr_result cr_result_of(cr_status status);

#endif
