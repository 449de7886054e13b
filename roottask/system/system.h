/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The system as the root task knows it: the model and, by the model's indices, the kernel objects
 * and capabilities of each node and edge.
 *
 * All changes to the model and to the kernel objects of PDs are made here and nowhere else. A
 * function changes model, kernel and trace together, or changes nothing and returns the reason.
 * This keeps the three consistent after every operation. Only for the parts of a cleanup
 * (cr_take_...) does the cleaner write the trace.
 *
 * Only one thread uses this code, and nothing here may wait for a PD. */
#ifndef CELLREAP_SEL4_SYSTEM_H
#define CELLREAP_SEL4_SYSTEM_H

#include "body.h"
#include "kernel/objects.h"
#include "tombstones.h"
#include <cellreap/image.h>
#include <cellreap/limits.h>
#include <cellreap/machines.h>
#include <cellreap/policy.h>
#include <cellreap/protocol.h>
#include <cellreap/steps.h>
#include <cellreap/trace.h>
#include <cellreap/trace_text.h>
#include <cellreap/work.h>

enum { CR_ID_BYTES = 48 };

/* Enough for any plan over a model of this size. */
static inline uint32_t cr_max_plan(void)
{
    return cr_most.nodes + cr_most.edges;
}

/* An edge that is gone leaves its place to the notice about it. Beside these there are the
 * questions of extractions under way: one about each space in each extraction, and those about
 * resources, which the quotas of nodes limit. Each PD has taken some, one notice about each space
 * stands for several, and there are two probes and a fault of each PD (docs/architecture.md,
 * "Accounts"). */
static inline uint32_t cr_max_notices(void)
{
    return cr_most.edges + (CR_MAX_EXTRACTIONS + 1) * cr_most.spaces + cr_most.nodes +
           (CR_MAX_TAKEN + 3) * cr_most.pds;
}

_Static_assert((int)CR_MAX_PDS < (int)CR_OWNER_BODY,
               "the numbers of accounts are below the bodies'");

/* The states of a slot of a PD's CSpace. A slot that somebody else emptied must not be filled again
 * before its PD has acknowledged the LOST notice about it: the PD may still use the slot for what
 * was there before. */
enum {
    CR_SLOT_FREE = 0,
    CR_SLOT_USED = 1,
    /* for a configured PD capability, while the PD that it names does not exist */
    CR_SLOT_RESERVED = 2,
    /* the same, when that PD may exist: cr_fill_due_slots fills the slot */
    CR_SLOT_DUE = 3,
    CR_SLOT_REFUSED = 4, /* the same, and the kernel refused it */
    /* + the number of the PD whose capability was there: empty until the loss is acknowledged */
    CR_SLOT_LOST_PD = 0x40000000,
    CR_SLOT_UNTOLD = 0x20000000, /* with LOST_PD: the PD has not been told yet */
    /* + the number of the space: empty until the loss is acknowledged */
    CR_SLOT_LOST = 0x80000000
};

/* The clock of a receiver (supervisor/progress.h). Times are in nanoseconds. They only count while
 * the PD has a notice to fetch or finish, and somebody awaits it or it has a deadline. */
typedef struct cr_run {
    uint64_t ran;     /* in which it could run, in all */
    uint64_t mark;    /* `ran` when it last finished a notice, or was first owed one */
    uint64_t in_call; /* in calls, without a break, since then or since it had another PD probed */
    uint64_t circle;  /* in circles of calls, since it was probed */
    uint32_t answers; /* probes that the PD at the end of its calls finished since it is in_call */
    uint64_t held_up; /* in calls to other PDs while it was awaited, since it was last given up */
    uint64_t untold;  /* the time since which it has had a notice and finished none, and nothing was
                       * told of that; other than the rest, it counts the root task's work, too */
    uint64_t waited;  /* waiting for the root task, in its first wait since `mark` */
    uint32_t waits;   /* waits for the root task since `mark`, while it was owed something */
    uint32_t stuck;   /* looks in a row at which its held fault could never be answered */
    int chance;       /* it has had the processor since it was first owed something */
    uint32_t slot;    /* the slot that its call named at the last look, or 0 */
    uint32_t server;  /* the number of the PD that it called then, or 0 */
} cr_run;

/* The limits of how long the PD says nothing, and of how long it waits in a call, and their clocks
 * (supervisor/hung.h). Times are in nanoseconds, unless it says ms. */
typedef struct cr_limits {
    uint32_t heartbeat_ms; /* 0: none */
    uint32_t call_ms;      /* 0: none */
    /* in which it could run, since it was last seen to wait for a message, or finished something */
    uint64_t silent;
    uint64_t token;      /* of the probe that a limit had it sent, until it is finished; or 0 */
    uint32_t probe_ms;   /* in which it must be finished */
    uint64_t unanswered; /* the same as `silent`, since that probe */
    int waited;          /* it was seen to wait for a message since that probe */
    uint64_t age;        /* the probe is there so long, and nothing was told of that */
    uint64_t sum;        /* over its registers at the last look, if it was in a call, else 0 */
    uint32_t end;        /* the number of the PD that its calls led to then */
    uint64_t call;       /* in which both could run, since that call, or since the PD answered */
    uint64_t received;   /* the same, while each look showed that the PD waits for a message */
    uint64_t elsewhere;  /* the same, for one that is no call */
    uint64_t idle;       /* in which it computed nothing, though it waits for nothing */
} cr_limits;

typedef struct cr_pd {
    cr_life life;       /* changed only by cr_pd_become */
    cr_wait wait;       /* the answer it waits for; changed only by cr_pd_wait */
    uint64_t wait_due;  /* its wait ends at this time with any result; 0: never */
    uint64_t maker_ran; /* CONNECT wait: in which the PD that it depends on could run */
    uint64_t ticket;    /* the ticket of a TICKET or TERMINATE wait */
    uint32_t ticket_op; /* the cr_op of a TERMINATE wait */
    uint32_t told;      /* PRE_DESTROY notices from the cleanup `told_by`, which is under way */
    uint32_t told_by;
    uint32_t given_up;    /* the last cleanup that goes on without its answers */
    uint32_t deadline_ms; /* for finishing a notice; 0: none */
    cr_run run;
    cr_limits limits;
    cr_time time;
    int passive;       /* it runs on the time of its callers, and on its own only for its notices */
    uint64_t still;    /* passive: the sum of its registers at the last look; see hung.c */
    uint64_t has_time; /* passive: the same, when it stood still and had time */
    uint64_t last_token; /* of the notice queued last */
    uint64_t released;   /* last_token when its wait was ended so that it can acknowledge */
    uint32_t lost;       /* slots that wait for its acknowledgement of a loss */
    uint32_t just_lost;  /* a slot that the present operation emptied; 0: none, or it is told */
    uint32_t untold;     /* slots that are CR_SLOT_UNTOLD */
    uint32_t attached;   /* regions that it has by a resource in a slot */
    uint32_t refusals;
    uint32_t refusals_untold;
    uint32_t answers; /* to questions that no other event tells of */
    uint32_t says;
    uint32_t consents; /* its ALLOWs and SUBSCRIBEs since cr_sys.settled was consents_since */
    uint32_t consents_since;
    uint64_t asked;  /* root-task time that it used since its equals had their turn; see share.h */
    int rests;       /* its thread is suspended until they have had it */
    uint32_t config; /* index in the image's table; CR_IMAGE_NONE: spawned */
    uint32_t program;
    uint32_t number;
    uint32_t generation;
    uint32_t flags;
    /* position of it, or of the PD that it descends from, in the configuration, from 1; 0: root */
    uint32_t account;
    uint32_t priority;
    uint32_t pd_depth; /* of a cleanup that it triggers, or CR_IMAGE_DEPTH_DEFAULT */
    uint32_t rs_depth;
    cr_ref node;
    cr_body body;
    char name[CR_NAME_BYTES];
    char wanted[CR_NAME_BYTES]; /* CONNECT wait: the name of the space */
    uint32_t *slots;            /* of its CSpace */
    /* For each slot that was emptied while its server lived on: the number of the server's PD, else
     * 0. The client may still wait for that server's reply to a call with the removed
     * capability. */
    uint32_t *servers;
    uint32_t emptied; /* the number of slots with a server */
    int has_reports;  /* a listener: it was signalled, and not told since that there are no more */
    int loud;         /* it is stopped, and its devices have not become quiet (regions.h) */
    int stopping;     /* its endpoint was revoked, and not all PDs in a call to it are answered */
    uint32_t shown_for; /* the number of the last PD with a door that it called when that stopped */
    uint32_t taken_by;  /* the same of the last one that had taken its call */
    seL4_Word shown[CR_CALL_REGISTERS]; /* what an answer to that call may change */
    uint32_t answered_for; /* the number of the last stopped server that it was in a call to */
    uint64_t stop_calls[CR_CALL_COUNT]; /* that stopped it, and that no step counts yet */
} cr_pd;

typedef struct cr_request_entry {
    int used;
    uint32_t generation;
    uint32_t pd; /* index */
    uint32_t slot;
    uint32_t next_free;
    int needed; /* the configuration has the PD make it */
    cr_ref space;
} cr_request_entry;

typedef struct cr_space_entry {
    int used;
    int saved;  /* of the saved state: its manager has not created it yet */
    int needed; /* the configuration has its manager make it */
    uint32_t next_object;
    cr_ref node;
    uint32_t next_named; /* the next entry whose name has the same bucket, + 1; 0: none */
    char name[CR_NAME_BYTES];
} cr_space_entry;

/* The ends of a MAP edge as operations name them. If both objects are 0, the ends are spaces. */
typedef struct cr_map_ends {
    uint32_t space;
    uint32_t object;
    uint32_t target_space;
    uint32_t target_object;
} cr_map_ends;

/* Why the model changes: an operation (cr_op) of a PD. 0 and 0: the configuration says so. */
typedef struct cr_cause_of {
    const cr_pd *asker;
    uint32_t op;
} cr_cause_of;

/* The id of a node as text: a piece of a text (trace_text.h), as it is recorded. */
typedef struct cr_id {
    uint32_t generation; /* of the node */
    uint32_t words;      /* of the piece; 0: there is none */
    /* The numbers in it, as messages have them: of a PD, of a space, of a resource its space's and
     * its own. The rest are 0. */
    uint32_t pd;
    uint32_t space;
    uint64_t object;
    uint64_t head;          /* the first word of the piece */
    char text[CR_ID_BYTES]; /* filled up with anything */
} cr_id;

_Static_assert(offsetof(cr_id, text) == offsetof(cr_id, head) + 8, "one piece");

_Static_assert(CR_ID_BYTES % 8 == 0 && sizeof(cr_id) % 8 == 0 && CR_NAME_BYTES % 8 == 0 &&
                   CR_TYPE_BYTES % 8 == 0,
               "copied by words");

typedef struct cr_system {
    const cr_image_header *image;
    cr_model *model;
    cr_planner *planner;
    cr_trace trace;
    cr_work *work;
    cr_ref root;
    cr_ref pd_space;   /* core: capabilities to PDs */
    cr_ref mo_space;   /* core: memory objects; index CR_NONE: nobody may allocate */
    cr_ref vmr_space;  /* core: regions; the same */
    cr_ref irq_space;  /* core: interrupt lines; index CR_NONE: no PD has any */
    cr_ref port_space; /* core: ranges of I/O ports; the same */
    uint32_t memories; /* number of memory objects and regions */
    int let_go;        /* a PD let memory go, and others still refer to it; all may be doomed */
    cr_ref region_objects[CR_IMAGE_MAX_REGIONS]; /* of the configured regions, if they are there */
    cr_ref channel_space;                        /* core: channels; index CR_NONE: there are none */
    cr_ref channels[CR_IMAGE_MAX_CHANNELS];      /* of the configuration, if they are there */
    cr_ref ads_space; /* core: address spaces of several threads; index CR_NONE: there are none */
    cr_ref address_spaces[CR_IMAGE_MAX_PDS]; /* by the place of the process in the configuration */
    cr_ref resspc_space;                     /* core: the right to create spaces */
    seL4_CPtr endpoint;                      /* for faults and operations */
    uint32_t next_pd;                        /* numbers of PDs and spaces are never reused */
    uint32_t next_space;
    uint32_t first_object; /* the number of the first resource of each space */
    int makes_saved;       /* what is being made is of the saved state */
    uint32_t pds_made;     /* numbers may be left out: saved.h */
    uint32_t cleanups;     /* number of cleanups that have begun */
    uint32_t settled;      /* number of cleanups that have ended */
    uint32_t pds_there;    /* number of PDs that exist, with the root task; see cr_pd_become */
    uint32_t allowances;   /* number of entries of `allowed` that are not 0 */
    int has_passive;       /* a PD may be passive */
    int may_listen;        /* a PD may listen to reports */
    int respawnable_gone;  /* a PD that is marked for respawn was destroyed; see population.c */
    int may_be_emptied;    /* a PD may have slots with a server (cr_pd.servers) */
    int losses_untold;     /* a PD may have slots that are CR_SLOT_UNTOLD */
    int refusals_untold;   /* a PD may have refusals that no event tells yet */
    int memory_changed;    /* the use of memory and slots has changed since the last USAGE */
    int slots_due;         /* a slot may be CR_SLOT_DUE or REFUSED */
    uint32_t refused_for;  /* messages until the slots that are REFUSED are tried again, */
    uint32_t refused_then; /* and then, if one is refused again; see granted.c */
    int any_of_microkit;   /* a PD for Microkit was made */
    int doors_due;         /* what PDs for Microkit have may be missing in the model (doors.h) */
    cr_cause_of cause;     /* of what changes now */
    uint64_t digest;       /* of the model state (digest.h); changed only by rows.c */
    uint64_t *labels;      /* by index of a node, for the digest */
    /* Spaces and resources by their numbers, for cr_rows_find: the first node of each bucket, and
     * the next one of each node, + 1; 0: none. */
    uint32_t *numbered;
    uint32_t *next_numbered;
    uint32_t *named; /* for cr_rows_find_named: the first entry of each bucket, + 1 */
    uint32_t waiting[CR_WAIT_COUNT]; /* how many PDs wait; nothing is counted for NOTHING */
    uint64_t rows_gone;              /* that the cleanup under way has removed; see cr_count_gone */
    cr_id *ids;                      /* of the node that has or had each index last */
    uint8_t *sorts;                  /* see cr_sort_of */
    cr_tombstones tombstones;        /* changed only by tombstones.c */
    /* set by the supervisor */
    uint32_t (*tickets_in_use)(void);
    void (*report_unmade)(cr_made made, const cr_make_result *result);
    const struct cr_injections *injections; /* of the scenario; 0: none. See inject.h. */
    char (*types)[CR_TYPE_BYTES];
    uint32_t *type_spaces; /* number of spaces of the type; 0: the entry is free */
    cr_pd *pds;
    uint32_t *slots; /* of all PDs: cr_pd.slots and cr_pd.servers */
    uint32_t *servers;
    cr_request_entry *requests;
    uint32_t free_request;
    cr_space_entry *spaces;
    /* How many more edges the second PD may make for the first; by index. See consent.c. */
    uint32_t *allowed;
    /* PD: index in pds; space: index in spaces; resource: pool slot of its parent capability */
    uint32_t *node_entry;
    uint16_t *accounts; /* of the PD, of the manager, of who made the memory */
    /* HOLD: slot in the PD's CSpace, of a region that of the resource that let the PD map it;
     * REQUEST: index in requests; MAP to memory and HOLD of a memory object: where, and whether to
     * write (protocol.h); SUBSET of memory: its block */
    uint32_t *edge_entry;
} cr_system;

extern cr_system cr_sys;

/* What a resource of a core space is, or-ed. */
enum {
    CR_SORT_MEMORY = 1, /* a memory object or a region */
    CR_SORT_REGION = 2,
    CR_SORT_BARE = 4, /* no kernel object: a channel (channels.h), or an address space */
    CR_SORT_LINE = 8  /* an interrupt line or a range of I/O ports (lines.h) */
};

/* Of a node that is there; 0 of one that is not. */
static inline uint32_t cr_sort_of(cr_ref node)
{
    return node.index < cr_node_entries() && cr_sys.ids[node.index].generation == node.generation
               ? cr_sys.sorts[node.index]
               : 0;
}

static inline int cr_is_memory(cr_ref node)
{
    return (cr_sort_of(node) & CR_SORT_MEMORY) != 0;
}

static inline int cr_is_region(cr_ref node)
{
    return (cr_sort_of(node) & CR_SORT_REGION) != 0;
}

static inline int cr_is_bare(cr_ref node)
{
    return (cr_sort_of(node) & CR_SORT_BARE) != 0;
}

static inline int cr_is_line(cr_ref node)
{
    return (cr_sort_of(node) & CR_SORT_LINE) != 0;
}

/* -- the life of a PD and its wait (machines.h) */

/* Change the state. A change that the table does not have stops the system. A PD that becomes
 * stopped no longer waits. */
void cr_pd_become(cr_pd *pd, cr_life to);
void cr_pd_wait(cr_pd *pd, cr_wait to);

/* The number that cr_work uses for a PD. */
static inline uint32_t cr_receiver(const cr_pd *pd)
{
    return (uint32_t)(pd - cr_sys.pds);
}

/* Whether the table's entry is in use. */
static inline int cr_pd_exists(const cr_pd *pd)
{
    return pd->life != CR_LIFE_ABSENT;
}

/* Whether the root task serves the PD's operations: the PD exists, its fault is not held, and it is
 * not stopped. */
static inline int cr_pd_is_served(const cr_pd *pd)
{
    return pd->life == CR_LIFE_RUNS || pd->life == CR_LIFE_FROZEN;
}

/* Whether the PD exists and is not stopped. It need not be served: its fault handler may
 * have a fault of it. */
static inline int cr_pd_is_up(const cr_pd *pd)
{
    return cr_pd_is_served(pd) || pd->life == CR_LIFE_FAULTED;
}

static inline cr_pd *cr_if_up(cr_pd *pd)
{
    return pd != 0 && cr_pd_is_up(pd) ? pd : 0;
}

static inline int cr_pd_is_protected(const cr_pd *pd)
{
    return (pd->flags & CR_IMAGE_PREVENT_DESTROY) != 0;
}

static inline int cr_pd_is_of_microkit(const cr_pd *pd)
{
    return (pd->flags & CR_IMAGE_MICROKIT) != 0;
}

/* Whether other PDs call it over a door (doors.h). */
int cr_pd_has_door(const cr_pd *pd);
/* The slot over which messages and signals reach it. */
static inline uint32_t cr_input_of(const cr_pd *pd)
{
    return cr_pd_is_of_microkit(pd) ? (uint32_t)CR_MICROKIT_SLOT_INPUT : (uint32_t)CR_SLOT_ENDPOINT;
}

/* Whether the PD's thread is suspended and must not be resumed because of a call. */
static inline int cr_pd_is_suspended(const cr_pd *pd)
{
    return pd->life == CR_LIFE_FROZEN || pd->life == CR_LIFE_FAULTED || pd->life == CR_LIFE_STOPPED;
}

/* The PD that a call with the capability in this slot goes to, or 0. For a slot that was emptied,
 * it is the PD that may still reply to a call that was made before. */
cr_pd *cr_called_over(const cr_pd *pd, uint32_t slot);
/* The PD's thread is suspended, and nobody is in a call to it any more: time that it has lent on
 * goes back to whose it is. See lent.c. */
void cr_return_time(const cr_pd *from);
/* Of an interval in which a PD could run, how long it had time for. A passive PD has that of a
 * caller; which one's is not known, so it counts as that of the one with the least. */
uint64_t cr_could_run_for(const cr_pd *pd, uint64_t interval);

/* -- ids and trace */

/* Writes the id of a node. `out` has CR_ID_BYTES. */
void cr_node_id(cr_ref node, char *out);
/* The same text where it is kept. */
extern const cr_id cr_id_unknown;
static inline const cr_id *cr_id_of(cr_ref node)
{
    const cr_id *id = &cr_sys.ids[node.index];
    return node.index < cr_node_entries() && id->generation == node.generation && id->words != 0
               ? id
               : &cr_id_unknown;
}
/* The same for a node that may be none: its id is then "-". */
extern const cr_id cr_id_none;
static inline const cr_id *cr_id_or_none(cr_ref node)
{
    return node.index != CR_NONE ? cr_id_of(node) : &cr_id_none;
}
/* Keeps the id of a node that was just added. */
void cr_keep_id(cr_ref node);
void cr_pd_id(const cr_pd *pd, char *out);
void cr_pd_number_id(uint32_t number, char *out);
/* Begin and end the line of an event that changes the model. The end prints the cause. BODY has
 * none: it belongs to the PD before it. */
void cr_trace_change(cr_event event);
void cr_trace_change_end(void);
/* Adds the name of an operation to a line. */
void cr_trace_op(cr_op op);
static inline void cr_trace_id(const cr_id *id)
{
    cr_trace_pieces(&cr_sys.trace, &id->head, id->words);
}
void cr_trace_node(cr_ref node);
void cr_trace_pd(const cr_pd *pd);
void cr_trace_pd_or_none(const cr_pd *pd);
/* Begins the line of an event that tells first what became of something. */
void cr_trace_begin_of(cr_event event, cr_change change);
void cr_trace_thread(cr_change change, const cr_pd *pd, const cr_pd *by);
void cr_trace_notice(cr_change change, const cr_pd *pd, uint64_t token);
uint64_t cr_slots_used(void);
/* Prints the rules that the PD lives by: when it is made, and when its pin or depths change. */
void cr_trace_rights(const cr_pd *pd);
/* The depth of a PD's cleanup: its own, or the system's if it has none. */
static inline uint32_t cr_depth_of(uint32_t own, uint32_t systems)
{
    return own == CR_IMAGE_DEPTH_DEFAULT ? systems : own;
}

/* Prints what is in use if memory has changed since the last print. */
void cr_account(void);

/* -- look-up */

/* A slot of a PD's CSpace, and the slot of the parent of the REQUEST capability in it. */
static inline cr_slot cr_pd_slot(const cr_pd *pd, uint32_t slot)
{
    return cr_slot_in(cr_body_cap(&pd->body, CR_BODY_CSPACE), slot, pd->body.cspace_bits);
}

static inline cr_slot cr_pd_parent(const cr_pd *pd, uint32_t slot)
{
    return cr_slot_at(cr_body_cap(&pd->body, pd->body.parents + slot));
}

static inline int cr_same(cr_ref a, cr_ref b)
{
    return a.index == b.index && a.generation == b.generation;
}

/* The PD of a node, or 0. */
static inline cr_pd *cr_pd_of(cr_ref node)
{
    if (node.index >= cr_node_entries()) {
        return 0;
    }
    /* The entry of a space or resource is in another table, and may be too large for this one. */
    const uint32_t entry = cr_sys.node_entry[node.index];
    cr_pd *pd = &cr_sys.pds[entry < cr_most.pds ? entry : 0];
    return cr_pd_exists(pd) && cr_same(pd->node, node) ? pd : 0;
}
/* Whether the cleanup under way will destroy the PD. */
int cr_is_doomed(const cr_pd *pd);
/* Numbers as in ids. CR_RESULT_OK, NO_SUCH, GONE. */
cr_result cr_find_space(uint32_t number, cr_ref *out);
/* Whether the model has a space of that number that is active or doomed. */
int cr_is_there(uint32_t space_number);
cr_result cr_find_resource(uint32_t space, uint32_t object, cr_ref *out);
/* The PD of this number. CR_RESULT_OK, NO_SUCH, GONE. */
cr_result cr_find_pd(uint32_t number, cr_pd **out);
/* The slot of the capability that a HOLD or REQUEST edge stands for. 0: it has none. */
uint32_t cr_edge_slot(uint32_t edge, cr_edge_kind kind);
/* The existing PD of this configuration entry, or 0. */
cr_pd *cr_find_configured(uint32_t config);
/* The configured PD that is the first thread of the PD's process. CR_IMAGE_NONE: it shares its
 * address space with nobody. */
uint32_t cr_process_of(const cr_pd *pd);
/* The configured space of this name, or CR_IMAGE_NONE. */
uint32_t cr_find_configured_space(const char *name);
/* The existing PD that a badge of this kind names. CR_RESULT_OK, BAD_BADGE, GONE. */
cr_result cr_find_badged(uint64_t badge, cr_badge_kind kind, cr_pd **out);
cr_result cr_find_request(uint64_t badge, cr_request_entry **out);
cr_pd *cr_manager_of(cr_ref node);
/* The manager, or 0 if it is stopped. Then no capability to the node exists any more. */
cr_pd *cr_server_of(cr_ref node);
/* Both ends of a MAP edge. The PD must manage the first. For the second the PD must have a hold of
 * it or a request to its space. */
cr_result cr_find_map_ends(const cr_pd *from, const cr_map_ends *ends, cr_ref *source,
                           cr_ref *target);
const char *cr_type_name(uint32_t type);
/* The word of the trace for a kind of fault. */
const char *cr_fault_name(cr_fault_kind kind);
cr_space_entry *cr_space_entry_of(cr_ref space);

/* -- changes; each function traces its changes */

cr_status cr_system_init(const cr_image_header *image, seL4_CPtr endpoint);
cr_status cr_core_space(const char *type, uint32_t flags, cr_ref *out);

/* Create a PD and start it, with its first edges. `slot`: for the creator's capability to it. If
 * the kernel refuses something, nothing has changed. CR_RESULT_MEMORY, FULL. FAILED: the ELF file
 * cannot be loaded. */
cr_result cr_make_configured_pd(uint32_t config, cr_pd **out);
cr_result cr_make_saved_pd(const cr_image_saved_node *row, cr_pd **out);
cr_result cr_spawn_pd(uint32_t program, const char *name, cr_pd *creator, uint32_t slot,
                      cr_pd **out);

/* What a PD can ask for has two functions. cr_can_... changes nothing and returns the reason if it
 * cannot be done. It may also find the slot of the PD's CSpace for the new capability. cr_make_...
 * must be called directly after it, with that slot. It fails only if the kernel refuses something,
 * with CR_RESULT_MEMORY. Then nothing has changed. */

/* Whether there is room for a PD and for the creator's capability to it. CR_RESULT_FULL,
 * UNACKED. */
cr_result cr_can_spawn(const cr_pd *creator, uint32_t *slot);
/* `first` is the first client of the space, or 0. *slot is for its request. CR_RESULT_FULL,
 * UNACKED. UNWANTED: `first` does not allow it to the manager. */
cr_result cr_can_make_space(const cr_pd *manager, const char *type, const char *name,
                            const cr_pd *first, uint32_t *slot);
cr_result cr_make_space(cr_pd *manager, const char *type, const char *name, cr_pd *first,
                        uint32_t slot, cr_ref *out);
/* CR_RESULT_GONE, FULL. */
cr_result cr_can_make_resource(cr_ref space);
cr_result cr_make_resource(cr_ref space, cr_ref *out);
/* `by` is the PD that makes the edge for `pd`, which must allow it; 0: `pd` itself asked for it.
 * CR_RESULT_GONE, FULL, UNACKED, UNWANTED. EXISTS: the PD has the request already, and *slot is its
 * slot (0 for a core space). */
cr_result cr_can_make_request(const cr_pd *by, const cr_pd *pd, cr_ref space, uint32_t *slot);
cr_result cr_make_request(cr_pd *pd, cr_ref space, uint32_t slot);
/* Adds one hold. Only the first hold copies the capability. *slot is the present slot or the new
 * one. `by`: as above. CR_RESULT_GONE, FULL, UNACKED, UNWANTED. */
cr_result cr_can_make_hold(const cr_pd *by, const cr_pd *pd, cr_ref resource, uint32_t *slot);
cr_result cr_make_hold(cr_pd *pd, cr_ref resource, uint32_t slot);
cr_result cr_make_map(cr_ref from, cr_ref to, uint32_t entry);
/* A memory object that the PD holds, and a region of the PD's with a memory object. There must be
 * room (operations_memory.c). */
cr_result cr_make_memory(cr_pd *pd, cr_pages pages, cr_ref *out);
/* `slot`: as in cr_new_memory. */
cr_result cr_make_region(cr_pd *pd, cr_ref object, uint64_t vaddr, int writable, uint32_t slot,
                         cr_ref *out);
cr_result cr_make_subscription(const cr_pd *pd, cr_ref node, uint32_t handler);
/* The cr_sort of the resources of a space, or-ed. */
uint8_t cr_sort_in(cr_ref space);
/* The core resource that stands for a PD's body. Returns 0 if there is none: it is made with the
 * first capability to the PD. */
int cr_body_resource(const cr_pd *pd, cr_ref *out);
/* Gives a PD a capability to another one. Room for it, and for the resource, is set aside. */
cr_result cr_make_body_hold(cr_pd *holder, const cr_pd *pd, uint32_t slot);
/* Checks whether a PD can receive a capability, and finds the slot for it. CR_RESULT_FULL,
 * UNACKED. */
cr_result cr_can_take_slot(const cr_pd *pd, uint32_t *slot);
uint32_t cr_nodes_left(void);
/* Whether one of the PD's holds can be dropped. CR_RESULT_NO_SUCH. DENIED: the PD manages the
 * resource. */
cr_result cr_can_drop_hold(const cr_pd *pd, cr_ref resource);
/* Drops one hold and returns the number of holds left. `by` is the PD itself or the manager of
 * the resource. Memory that nobody holds and no region maps any more is destroyed. Messages that
 * were sent with a removed capability and not received yet are removed. */
uint32_t cr_drop_hold(cr_pd *by, cr_pd *pd, cr_ref resource);
/* The PD must have a request to the space. */
void cr_drop_request(cr_pd *pd, cr_ref space);
/* Deletion by the manager `by`. The manager gets no notice of it. These two functions and
 * cr_drop_hold set `just_lost` of each other PD that lost a capability. The caller must tell it and
 * set `just_lost` to 0. */
void cr_delete_resource(cr_pd *by, cr_ref resource);
void cr_delete_space(cr_pd *by, cr_ref space);

/* Puts a copy of a capability that the model does not know into a free slot of a PD's CSpace.
 * CR_ERR_ARG: no such slot or capability. CR_ERR_EXISTS. */
cr_status cr_give_foreign(cr_pd *pd, seL4_CPtr capability, uint32_t slot);

/* -- consent: no PD gets an edge by the act of another PD alone */

/* Whether the PD may allow or subscribe once more. Each takes a line of the trace that cannot be
 * summed. So their number is limited, and that of what takes them back with it. */
int cr_may_consent(const cr_pd *pd);
void cr_count_consent(cr_pd *pd);
/* How many more edges `by` may make for `pd`. */
uint32_t cr_allowance(const cr_pd *pd, const cr_pd *by);
void cr_allow(const cr_pd *pd, const cr_pd *by, uint32_t count);
/* Whether `by` may make one more edge for `pd`. `by` 0 or `pd` itself: always. */
int cr_is_allowed(const cr_pd *pd, const cr_pd *by);
/* `by` has made an edge for `pd`, which it was allowed. */
void cr_use_allowance(cr_pd *pd, const cr_pd *by);
/* The PD is destroyed: nothing is allowed to it, and nobody may make edges for it. */
void cr_forget_allowances(const cr_pd *pd);

/* -- the parts of a cleanup: model and kernel, no trace */

cr_status cr_take_request(cr_pd *pd, cr_ref space);
cr_status cr_take_resource(cr_ref resource);
cr_status cr_take_space(cr_ref space);
cr_status cr_take_pd(cr_pd *pd);

/* If the PD has not been told yet that it lost a PD capability in this slot, returns the number of
 * that PD and records that it is told. Else returns 0. */
uint32_t cr_take_untold(cr_pd *pd, uint32_t slot);
/* Frees the slots of a loss that the PD has acknowledged, and the regions that it had by what was
 * there. The PD has just sent an operation, so it does not wait for a server's reply. */
void cr_free_lost_slots(cr_pd *pd, const cr_work_notice *loss);
/* Whether the PD may get a PD capability, and other PDs one to it. */
int cr_may_have_caps(const cr_pd *pd);
/* The slot of the PD capability in row `i` of the configuration. */
uint32_t cr_hold_slot(uint32_t i);
/* The row with which the configuration gives the PD the capability to that other one, or
 * CR_IMAGE_NONE. */
uint32_t cr_hold_row(const cr_pd *pd, uint32_t target);
/* Whether the slot is for one. */
int cr_is_hold_slot(const cr_pd *pd, uint32_t slot);
/* Whether the resource stands for a PD whose capability the configuration gives the PD, which has
 * not acknowledged the loss of that PD's predecessor, or for which there was no room yet. */
int cr_is_due(const cr_pd *pd, cr_ref resource);
/* The row of the PD for Microkit that has the thread of this one, or 0. */
const cr_image_pd_hold *cr_parent_of(uint32_t config);
/* Gives the new PD its configured capabilities to existing PDs, and gives existing PDs their
 * configured capabilities to it. A holder that has not acknowledged the loss of the PD's
 * predecessor gets the capability afterwards. */
void cr_grant_pds(const cr_pd *pd);
/* Puts configured PD capabilities into the slots that are due, as far as there is room. */
void cr_fill_due_slots(void);
/* The position in the configuration, from 1, of the PD that may read the PD's memory when it is
 * doomed. 0: none. */
uint32_t cr_reader_of(const cr_pd *pd);
/* Copies words of the PD's memory, from the address to the end of its page, but at most
 * CR_DUMP_WORDS. With `out` 0 only counts them. 0: there are none, or the kernel refuses. */
uint32_t cr_read_memory(const cr_pd *pd, uint64_t address, uint64_t *out);
/* Stops a PD for good: suspends its thread, destroys its endpoint, and answers `server died` to all
 * PDs that are in a call to it. Its edges stay, and nothing of it is freed. Traces this. The PD
 * must not be stopped yet, except if an earlier call did not come to its end (`stopping`). Then no
 * other thread may have run since. CR_ERR_KERNEL: it can be repeated. */
cr_status cr_stop_pd(cr_pd *pd);
/* The instruction of the PD's program at this address, cr_arch_syscall_bytes of it. 0: the program
 * has none there that cannot be changed. */
const uint8_t *cr_code_of(const cr_pd *pd, seL4_Word ip);
/* The slot that the PD calls, as the kernel keeps it while the PD waits. 0: the PD calls nothing.
 * If the PD can run, this is only what its registers claim. CR_ERR_KERNEL. */
cr_status cr_called_slot(const cr_pd *pd, uint32_t *slot);
cr_result cr_result_of(cr_status status);

#endif
