/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The library that every protection domain (PD) is linked with: operations (docs/operations.md),
 * calls to servers, and the main loop of a server (docs/protocol.md). A program defines
 *
 *     void cr_main(void);
 *
 * and may use everything declared here. The library allocates no memory, and keeps what it keeps
 * for each PD apart, also where PDs are threads of one process. */
#ifndef CELLREAP_CLIENT_H
#define CELLREAP_CLIENT_H

#include "kernel/compat.h"
#include <cellreap/policy.h>
#include <cellreap/protocol.h>
#include <stdint.h>

/* The most words of a request or of its answer. */
enum { CR_MAX_WORDS = 64 };

/* Label of a call whose capability is gone: the server was destroyed, or the capability was
 * taken back. */
enum { CR_CALL_LOST = 0xffff };

/* What the root task tells the PD at its start: who it is, what it has, and in which slots. The
 * PDs of a process are its threads (docs/programs.md): this is what the running one was told. It is
 * found by the stack pointer, so nothing of the library can run on another stack than the PD's. */
static inline const cr_startup *cr_info(void)
{
    return cr_startup_of((uintptr_t)__builtin_frame_address(0));
}

/* Defined by the program: what the PD does. When it returns, the PD exits with code 0. */
void cr_main(void);

/* -- operations: CR_OPERATIONS in protocol.h lists arguments and results */

/* Performs an operation with `count` arguments. Copies at most `max_results` results; results
 * that the root task did not send are 0. */
cr_result cr_call_root(cr_op op, const uint64_t *arguments, uint32_t count, uint64_t *results,
                       uint32_t max_results);
/* The same, and sends the PD capability in `pd_slot` with the message. */
cr_result cr_call_root_with_pd(cr_op op, uint32_t pd_slot, const uint64_t *arguments,
                               uint32_t count, uint64_t *results, uint32_t max_results);

_Noreturn void cr_exit(uint64_t code);

cr_result cr_create_space(const char *type, const char *name, uint32_t *space);
/* The same, and gives the PD whose capability is in `pd_slot` a request to it, in *slot of that
 * PD. */
cr_result cr_create_space_for(const char *type, const char *name, uint32_t pd_slot, uint32_t *space,
                              uint32_t *slot);
/* Only for its manager. The resources and the requests of others go with it. */
cr_result cr_delete_space(uint32_t space);
/* Creates the one space that the configuration gives this PD, and returns its number. If this
 * fails, prints a message and exits. */
uint32_t cr_own_space(void);

cr_result cr_create_resource(uint32_t space, uint32_t *object);
/* Only for its manager. Everybody loses it. */
cr_result cr_delete_resource(uint32_t space, uint32_t object);

/* wait 0: the answer is CR_RESULT_GONE if the space does not exist yet, as before its server has
 * made it, or while the server is down. Otherwise the root task answers when the space exists. */
cr_result cr_connect(const char *name, int wait, uint32_t *slot, uint32_t *space);
/* Drops the caller's own request to the space. It then depends on the space only by what it holds
 * of it. */
cr_result cr_disconnect(uint32_t space);
/* Sets how many more edges the manager of the space, or the PD of that number, may make for this
 * PD: resources and requests that it gives to this PD. Each takes one off. At first none is
 * allowed. */
cr_result cr_allow(uint32_t space, uint32_t count);
cr_result cr_allow_pd(uint32_t pd_number, uint32_t count);

/* Gives a resource of the caller's, or memory that it holds, to the client whose request has that
 * badge and which must allow it. read_only, *slot: as for cr_send. */
cr_result cr_give(uint32_t space, uint32_t object, uint64_t request_badge, int read_only,
                  uint32_t *slot);
/* Takes one hold back from the client whose request has that badge. *left: how many it has left. */
cr_result cr_take_back(uint32_t space, uint32_t object, uint64_t request_badge, uint32_t *left);
/* Drops one of the caller's own holds. *left: how many it has left. Here and below, the pointers
 * `left` and `slot` may be null. */
cr_result cr_release(uint32_t space, uint32_t object, uint32_t *left);
/* Gives what the caller holds, or its request to the space, to the PD whose capability is in
 * `pd_slot`, which must allow it (cr_allow_pd). *slot: where that PD has it; of memory, whether it
 * may write. read_only: only of memory, whose receiver may not write. */
cr_result cr_send(uint32_t space, uint32_t object, uint32_t pd_slot, int read_only, uint32_t *slot);
cr_result cr_share_request(uint32_t space, uint32_t pd_slot, uint32_t *slot);
/* How often the caller holds the resource, and how often all PDs do. */
cr_result cr_holds(uint32_t space, uint32_t object, uint32_t *own, uint32_t *all);

cr_result cr_map(uint32_t space, uint32_t object, uint32_t target_space, uint32_t target_object);
cr_result cr_unmap(uint32_t space, uint32_t object, uint32_t target_space, uint32_t target_object);

/* Memory objects: `pages` pages, all zero. With `large`, each has 2^CR_LARGE_PAGE_BITS bytes, and
 * counts for the quota as all pages of 2^CR_PAGE_BITS that it could be. The caller holds what it
 * allocates; cr_send and cr_release apply to it. The last who refers to it, by a hold or a region,
 * takes it along. */
cr_result cr_allocate(uint32_t pages, int large, uint32_t *space, uint32_t *object);
/* Maps a memory object that the caller holds, or that backs a resource which it holds. The address
 * is a multiple of its pages' size, and the region is from CR_ATTACHED_BEGIN on, below
 * 2^CR_REGIONS_END_BITS, and in one multiple of 2^CR_REGION_SPAN_BITS. In the first of these, and
 * in those with regions of the configuration, it shares no multiple of 2^CR_LARGE_PAGE_BITS with
 * another region; in others it is alone. The caller holds the region; cr_release unmaps it. By a
 * resource it has the region as long as it holds that; if that is taken from it, until it has
 * finished the notice about it. */
cr_result cr_attach(uint32_t space, uint32_t object, uint64_t address, int writable,
                    uint32_t *region_space, uint32_t *region);
/* The memory object, which the caller holds, backs a resource of the caller's from now on. With
 * writable 0, holders of the resource may only read it. */
cr_result cr_back(uint32_t space, uint32_t object, uint32_t memory_space, uint32_t memory,
                  int writable);

/* Creates a PD that runs a program which the configuration lets the caller spawn. *slot: the
 * capability to it; *pd: its number. */
cr_result cr_spawn(const char *program, uint32_t *slot, uint32_t *pd);

/* The next three operations apply to a space; with space 0, to the PD whose capability is in
 * `pd_slot`; with both 0, to the caller. */
cr_result cr_subscribe(uint32_t space, uint32_t pd_slot);
cr_result cr_unsubscribe(uint32_t space, uint32_t pd_slot);
/* The same with a handler below CR_HANDLER_COUNT, a number of the caller's own. It is part of what
 * the subscription is, and the notice names it. The two above mean handler 0, which is none. */
cr_result cr_subscribe_as(uint32_t space, uint32_t pd_slot, uint32_t handler);
cr_result cr_unsubscribe_as(uint32_t space, uint32_t pd_slot, uint32_t handler);
/* object 0: the space itself. With space 0 and pd_slot 0, `object` may be the number of a PD. */
cr_result cr_look(uint32_t space, uint32_t object, uint32_t pd_slot, cr_look_state *state);

/* What is known of a destroyed PD or space. Without a fault, its words and the registers are 0. */
typedef struct cr_mortem {
    cr_ending how;
    uint64_t code; /* of its exit */
    int faulted;
    cr_fault_kind fault; /* the last one */
    uint64_t address;
    uint64_t ip;
    char type[CR_TYPE_WORDS * 8];
    char name[CR_NAME_WORDS * 8];
    uint64_t registers[CR_MORTEM_REGISTERS_MAX]; /* in the order of FAULT events */
} cr_mortem;
/* A space, or with `space` 0 the PD of this number. The caller can read it until it has finished
 * its notices about the loss. CR_RESULT_GONE: it no longer refers to it, or never did.
 * CR_RESULT_DENIED: the node is not destroyed. CR_RESULT_NO_SUCH. */
cr_result cr_post_mortem(uint32_t space, uint32_t pd, cr_mortem *out);

/* Words of the memory of a doomed PD that the configuration lets this PD read, from the address (a
 * multiple of 8) on. The words beyond the end of the page, or beyond CR_DUMP_WORDS, are 0.
 * CR_RESULT_DENIED: it may not, or the PD lives. CR_RESULT_FAILED: nothing is mapped there.
 * CR_RESULT_GONE: the PD is destroyed. CR_RESULT_NO_SUCH, CR_RESULT_MEMORY. */
cr_result cr_dump(uint32_t pd, uint64_t address, uint64_t *words, uint32_t max);

typedef struct cr_work_entry {
    cr_notice_kind kind;
    uint64_t token;
    uint32_t space;
    uint32_t object;
    uint32_t pd;
    uint32_t broken;   /* CR_NOTICE_LOST: how much the PD still holds that is built on what went */
    uint32_t handlers; /* PRE_DESTROY: with which the caller subscribed, bit n for handler n */
} cr_work_entry;

/* -- subscriptions with handlers (handlers.c)
 *
 * The root task counts the subscriptions of a PD to a node by handlers, which are numbers to it,
 * and tells the PD once, of all its handlers. This library keeps which function and which data have
 * which number. Both are part of what a subscription is. Numbers from 1 on are the library's. */

enum { CR_HANDLERS_MAX = CR_HANDLER_DESTRUCTOR - 1 }; /* different subscriptions at a time */

/* A space; with space 0, the PD whose capability is in `pd_slot`; with both 0, the caller. */
typedef struct cr_subject {
    uint32_t space;
    uint32_t pd_slot;
    uint32_t pd; /* nobody reads it: the root task says which PD it is */
} cr_subject;

typedef enum cr_moment {
    CR_BEFORE = 0, /* the node is doomed, and still there */
    CR_AFTER = 1   /* the node is destroyed; the subscription is over */
} cr_moment;

/* `about`: the notice, which names the node. Returns 0 when done; another value: the notice is
 * acknowledged as failed. */
typedef int (*cr_handler)(const cr_work_entry *about, cr_moment moment, uint64_t data);

/* Subscribes once more. A null `handler` is never called: it only makes the node go before the
 * caller. CR_RESULT_FULL also if the library has no room; otherwise as cr_subscribe. */
cr_result cr_subscribe_handler(cr_subject subject, cr_handler handler, uint64_t data);
/* Drops one subscription with this handler and data. CR_RESULT_NO_SUCH if there is none left: then
 * nothing changes. Otherwise as cr_unsubscribe. */
cr_result cr_unsubscribe_handler(cr_subject subject, cr_handler handler, uint64_t data);
/* Sets the caller's destructor: what it does last when a cleanup destroys it. The destructor is
 * called when all that goes before the caller is destroyed, so after the destructors of the PDs to
 * which the caller subscribed. Handlers are called in the opposite order, and before anything is
 * destroyed: they can still use servers. The caller has its deadline for it, and is stopped when it
 * has acknowledged. `about` is the caller, and `moment` is CR_BEFORE. A PD that crashed or was
 * terminated runs no destructor. A null function: the caller has none any more. Errors as of
 * cr_subscribe and cr_unsubscribe. */
cr_result cr_set_destructor(cr_handler destructor, uint64_t data);
/* To be called for each notice by a PD with handlers or a destructor. Calls every handler that is
 * subscribed to the node of the notice once, however often it subscribed: for a `pre-destroy`
 * notice before the node goes, and for a `lost` or `destroy` notice after it went. A PD gets the
 * latter if it had something of the node; nobody is told after its own end. Returns 0 if all
 * handlers did. */
int cr_tell_handlers(const cr_work_entry *work);

/* The state of a ticket, with counts of its notices: see cr_ticket_state. */
typedef struct cr_ticket_info {
    uint32_t ticket;
    cr_ticket_state state;
    uint32_t done;
    uint32_t failed;
    uint32_t dropped;
    uint32_t waiting;
    uint32_t held;
} cr_ticket_info;

/* *info is the answer of the root task, or all 0 if it refused. */
cr_result cr_terminate(uint32_t pd_slot, cr_ticket_info *info);
/* The PD goes on until its cleanup begins. Until then cr_cancel takes this back. */
cr_result cr_terminate_later(uint32_t pd_slot, cr_ticket_info *info);
/* With all PDs that it created, transitively, as one cleanup. */
cr_result cr_terminate_tree(uint32_t pd_slot, cr_ticket_info *info);
/* wait: the root task answers only when the ticket is over. */
cr_result cr_ticket(uint32_t ticket, int wait, cr_ticket_info *info);
/* Asks for a collection. The ticket is over when what it destroyed is gone. */
cr_result cr_collect(cr_ticket_info *info);
/* Saves the PD with this number from a collection, before the notice of its end is acknowledged.
 * slot: the capability to it. */
cr_result cr_save(uint32_t pd, uint32_t *slot);
/* Asks for an extraction of the model state. The ticket is over when the state is in the trace. */
cr_result cr_extract(uint32_t *ticket);

/* The depths of the cleanup that the PD's crash triggers; slot 0: the caller's. 2^32-1
 * is infinite, 2^32-2 is the system's depth. Only if the configuration trusts the
 * caller with the policy of the PD (may_set_policy_of), or for itself (may_set_depth). */
cr_result cr_set_depth(uint32_t pd_slot, uint32_t pd_depth, uint32_t rs_depth);
/* From now on policy does not doom the PD, or does. Only as may_set_policy_of has it.
 * CR_RESULT_PREVENTED: the PD is protected, and stays pinned. */
cr_result cr_pin(uint32_t pd_slot, int pinned);

/* Cancels what the caller has the ticket for. With `pd_slot`: what that PD has it for, or with
 * ticket 0 the CONNECT in which it waits. */
cr_result cr_cancel(uint64_t ticket, uint32_t pd_slot);
/* Cancels the respawn of the configured PD of this name. It stays down. */
cr_result cr_stay_down(const char *name);

/* Only for PDs that may listen: what happened, by the words of a report (protocol.h). */
typedef struct cr_report_info {
    uint64_t number; /* 0: there is no further report */
    cr_report_kind kind;
    uint32_t cleanup;
    uint32_t pd;
    uint32_t step;
    uint32_t steps;
    uint32_t step_kind;
    uint32_t space;
    uint32_t object;
    uint32_t attempts;
    cr_result result;
} cr_report_info;

/* The next report after that number. The PD's notification is signalled when there are new ones,
 * once after it was told that there are none. If the number is not the next one, the root task has
 * forgotten those between. */
cr_result cr_listen(uint64_t seen, cr_report_info *report);
/* How many steps of a cleanup under way are done, and how many its plan has. 0: the cleanup that
 * began last. CR_RESULT_NO_SUCH, GONE: it has not begun, it is over. */
cr_result cr_cleanup_progress(uint64_t cleanup, uint64_t *number, uint32_t *done, uint32_t *steps);

/* Marks a point in the work of the PD at which a scenario can crash it. Does not return if the
 * scenario does so. */
void cr_checkpoint(void);
/* Ends a round of a client. Returns 0 if there are no more rounds. */
int cr_next_round(void);
/* Crashes this PD in the given way (cr_crash_how). Returns only if that did not work. */
void cr_crash(uint32_t how);

/* -- calls to servers */

/* Calls the capability in a slot: sends `count` words with `label` and receives up to `max`
 * words. Returns the label of the server's answer, or CR_CALL_LOST. *received is the number of
 * words received. A `count` above CR_MAX_WORDS is a fault of this PD. */
uint32_t cr_call(uint32_t slot, uint32_t label, const uint64_t *words, uint32_t count,
                 uint64_t *reply, uint32_t max, uint32_t *received);

/* -- notices from the root task */

/* Fetches all ready notices and calls `each` for every one, except probes, which it only
 * acknowledges, and faults (cr_handle_faults). The result of `each` is the acknowledgement: 0 is
 * done, any other value is failed. After a failed notice, no more notices about its space are
 * handled until cr_resume_work, which makes the root task hand them out again, the failed one
 * first. */
void cr_do_work(int (*each)(const cr_work_entry *work));
/* Handles all ready notices, for a PD that is not a server. Does not wait. */
void cr_poll_work(int (*each)(const cr_work_entry *work));
/* Waits for a signal, and handles all ready notices: for a driver that awaits its device. */
void cr_await_signal(int (*each)(const cr_work_entry *work));
/* Waits for notices and handles them, for ever: for a client that has no other work left. */
_Noreturn void cr_wait_for_work(int (*each)(const cr_work_entry *work));
/* Makes the root task hand out the failed notices about a space again. It refuses this while a
 * notice is being handled. */
cr_result cr_resume_work(uint32_t space);

/* The channels of the PD are in cr_info()->channels. seL4_Signal with the slot of one signals the
 * other PD, whether it is there or not. Returns the bits (1 << id) of those that were signalled, as
 * far as cr_serve, cr_poll_work and cr_wait_for_work saw it, which then fetch work, too. Clears
 * them. A signal may come without a cause: each comes once when a PD of its channel is back. */
uint32_t cr_rung(void);

/* A fault of a PD whose fault handler this PD is. */
typedef struct cr_fault {
    uint32_t pd; /* the PD's number */
    cr_fault_kind kind;
    /* as in the trace: the address accessed, the number of the exception or of the system call */
    uint64_t address;
    uint64_t ip; /* of the instruction */
} cr_fault;

/* From now on the functions that handle notices, and cr_serve, call `handle` for each such fault.
 * Its result 0: the PD continues and repeats the instruction. Any other result: the root task
 * cleans up after the PD. Before this call, and with a null pointer, it always does so. */
void cr_handle_faults(int (*handle)(const cr_fault *fault));

/* A MAP edge from `object` of a notice's space to a resource of another space. With both objects
 * 0, the edge is between the spaces. */
typedef struct cr_piece {
    uint32_t object;
    uint32_t target_space;
    uint32_t target_object;
} cr_piece;

/* Reports up to CR_SUBGRAPH_MAX edges for the extract notice with that token. The root task
 * takes all of them or none. */
cr_result cr_subgraph(uint64_t token, uint32_t count, const cr_piece *pieces);
/* Reports one edge; only for a server's `extract` function. The edges are sent when
 * CR_SUBGRAPH_MAX have been collected, and at the end of `extract`. Returns the result of
 * sending if this call sent edges, otherwise CR_RESULT_OK. */
cr_result cr_report_map(const cr_work_entry *work, uint32_t object, uint32_t target_space,
                        uint32_t target_object);

/* -- servers */

typedef struct cr_incoming {
    /* kind REQUEST: identifies the client; kind RESOURCE: its index is the object that is used */
    uint64_t badge;
    uint32_t label;
    uint32_t count;
    uint64_t words[CR_MAX_WORDS];
    /* Set by the server: how many words of `reply` are sent. More than CR_MAX_WORDS is a fault
     * of this PD. */
    uint32_t reply_count;
    uint64_t reply[CR_MAX_WORDS];
} cr_incoming;

typedef struct cr_server {
    /* Serves one message. Returns the label of the answer, CR_REPLY_BASE or higher. */
    uint32_t (*serve)(cr_incoming *message);
    /* Handles one notice. Returns 0 when done. With a null pointer notices are never
     * acknowledged; the root task then treats the server as crashed sooner or later. */
    int (*work)(const cr_work_entry *work);
    /* Answers an extract notice with cr_report_map. Returns a cr_work_result. A null pointer
     * means that there is nothing to report. */
    int (*extract)(const cr_work_entry *work);
    /* Channels or interrupts with these bits were signalled. Without it, cr_rung tells. */
    void (*rung)(uint32_t bits);
} cr_server;

/* The main loop of a server: fetches notices and messages, and answers each message, for ever. */
_Noreturn void cr_serve(const cr_server *server);

/* -- what the PD says itself
 *
 * On a debug kernel, and unless the configuration has `truth = false`, this library prints what the
 * PD asks of the root task, and the host compares that with the trace (statement.h). A program that
 * also asks without the library has this line in one of its files. Then it prints nothing. */
#define CR_ASKS_WITHOUT_LIBRARY const volatile int cr_states_all = 0;
extern const volatile int cr_states_all;

/* -- lines of text in the trace */

typedef struct cr_line {
    uint32_t used;
    char text[CR_SAY_MAX];
} cr_line;

/* cr_put... append to a line and return it; cr_say sends the line and empties it. */
cr_line *cr_put(cr_line *line, const char *text);
cr_line *cr_put_number(cr_line *line, uint64_t value);
cr_line *cr_put_hex(cr_line *line, uint64_t value);
void cr_say(cr_line *line);
void cr_say_text(const char *text);
/* Prints "check NAME: ok", or the value that was got and the value that was wanted. */
void cr_say_check(const char *name, uint64_t got, uint64_t wanted);

#endif
