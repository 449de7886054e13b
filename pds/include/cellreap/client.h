/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The library that every protection domain here is linked with: operations
 * (docs/operations.md), calls to servers, and the loop of a server (docs/protocol.md). A
 * program defines
 *
 *     void cr_main(void);
 *
 * and may use everything below. Nothing here allocates; one thread a PD. */
#ifndef CELLREAP_CLIENT_H
#define CELLREAP_CLIENT_H

#include "kernel/compat.h"
#include <cellreap/policy.h>
#include <cellreap/protocol.h>

enum { CR_MAX_WORDS = 64 };

/* A call's label when the capability called is gone: its server died, or the capability was
 * taken back. */
enum { CR_CALL_LOST = 0xffff };

static inline const cr_startup *cr_info(void)
{
    return (const cr_startup *)CR_VADDR_STARTUP;
}

void cr_main(void);

/* -- operations: CR_OPERATIONS in protocol.h lists arguments and results */

/* Asks the root task for an operation with `count` arguments. Results beyond `max_results` are
 * left out, and those that did not come are 0. */
cr_result cr_call_root(cr_op op, const uint64_t *arguments, uint32_t count, uint64_t *results,
                       uint32_t max_results);
/* The same with the PD capability in `pd_slot` along. */
cr_result cr_call_root_with_pd(cr_op op, uint32_t pd_slot, const uint64_t *arguments, uint32_t count,
                               uint64_t *results, uint32_t max_results);

_Noreturn void cr_exit(uint64_t code);
cr_result cr_create_space(const char *type, const char *name, uint32_t *space);
/* Makes the one space that the configuration gives this PD, and returns its number. Says so and
 * exits if that cannot be. */
uint32_t cr_own_space(void);
cr_result cr_create_resource(uint32_t space, uint32_t *object);
cr_result cr_connect(const char *name, int wait, uint32_t *slot, uint32_t *space);
cr_result cr_give(uint32_t space, uint32_t object, uint64_t request_badge, uint32_t *slot);
cr_result cr_map(uint32_t space, uint32_t object, uint32_t target_space, uint32_t target_object);

/* These three are about a space; or, with space 0, about the PD whose capability is in
 * `pd_slot`; or, with both 0, about the caller. */
cr_result cr_subscribe(uint32_t space, uint32_t pd_slot);
cr_result cr_unsubscribe(uint32_t space, uint32_t pd_slot);
/* object 0: the space itself. With space 0 and no PD capability, `object` may be a PD's number. */
cr_result cr_look(uint32_t space, uint32_t object, uint32_t pd_slot, cr_look_state *state);

/* How far something is that a ticket was given for: counts of notices, see cr_ticket_state. */
typedef struct cr_ticket_info {
    uint32_t ticket;
    cr_ticket_state state;
    uint32_t done;
    uint32_t failed;
    uint32_t dropped;
    uint32_t waiting;
    uint32_t held;
} cr_ticket_info;

/* *info is as the root task answered, or all 0 if it refused. */
cr_result cr_terminate(uint32_t pd_slot, cr_ticket_info *info);
/* wait: answered when the ticket is over. */
cr_result cr_ticket(uint32_t ticket, int wait, cr_ticket_info *info);
/* Has the model state extracted; the ticket is over when it is in the trace. */
cr_result cr_extract(uint32_t *ticket);

/* Says where the PD is in its work; if the root task's scenario wants it down, this does not
 * return. */
void cr_checkpoint(void);
/* The end of a client's round. Returns 0 if there are to be no more. */
int cr_next_round(void);
/* Brings this PD down in the way ordered (cr_crash_how). Returns only if that did not work. */
void cr_crash(uint32_t how);

/* -- calls to servers */

/* Calls the capability in a slot: sends `count` words with `label`, receives up to `max` words.
 * Returns the server's label, or CR_CALL_LOST. *received is the number of words that came. */
uint32_t cr_call(uint32_t slot, uint32_t label, const uint64_t *words, uint32_t count,
                 uint64_t *reply, uint32_t max, uint32_t *received);

/* -- notices from the root task */

typedef struct cr_work_entry {
    cr_notice_kind kind;
    uint64_t token;
    uint32_t space;
    uint32_t object;
    uint32_t pd;
} cr_work_entry;

/* Fetches all notices there are and calls `each` for every one; its result is the
 * acknowledgement: 0 done, else failed. After one that failed no more of its space are handled
 * until cr_resume_work: they come again then, that one first. */
void cr_do_work(int (*each)(const cr_work_entry *work));
/* Does the work that there is, for a PD that is no server. Does not wait. */
void cr_poll_work(int (*each)(const cr_work_entry *work));
/* Waits for work, for ever. For a client that has nothing else to do any more. */
_Noreturn void cr_wait_for_work(int (*each)(const cr_work_entry *work));
/* What failed before is handed out again. Not while a notice is being handled: it would be
 * refused. */
cr_result cr_resume_work(uint32_t space);

/* A MAP edge from `object` of a notice's space to a resource of another space; objects 0: the
 * spaces. */
typedef struct cr_piece {
    uint32_t object;
    uint32_t target_space;
    uint32_t target_object;
} cr_piece;

/* Up to CR_SUBGRAPH_MAX edges for the extract notice of that token; all are taken, or none. */
cr_result cr_subgraph(uint64_t token, uint32_t count, const cr_piece *pieces);
/* The same one by one, from a server's `extract` only: they are sent when there are enough, and
 * at its end. The result is that of the sending, if there was one. */
cr_result cr_report_map(const cr_work_entry *work, uint32_t object, uint32_t target_space,
                        uint32_t target_object);

/* -- servers */

typedef struct cr_incoming {
    uint64_t badge; /* kind REQUEST: which client asks; kind RESOURCE: index is the object that is used */
    uint32_t label;
    uint32_t count;
    uint64_t words[CR_MAX_WORDS];
    uint32_t reply_count; /* filled by the server */
    uint64_t reply[CR_MAX_WORDS];
} cr_incoming;

typedef struct cr_server {
    /* Serves one message; returns the label of the answer, CR_REPLY_BASE or higher. */
    uint32_t (*serve)(cr_incoming *message);
    /* Handles one notice; returns 0 when done. 0: notices are left alone, which ends badly some
     * day. */
    int (*work)(const cr_work_entry *work);
    /* Answers an extract notice with cr_report_map; returns a cr_work_result. 0: there is
     * nothing to report. */
    int (*extract)(const cr_work_entry *work);
} cr_server;

_Noreturn void cr_serve(const cr_server *server);

/* -- lines of text in the trace */

typedef struct cr_line {
    uint32_t used;
    char text[CR_SAY_MAX];
} cr_line;

/* Each appends; cr_say sends the line and empties it. */
cr_line *cr_put(cr_line *line, const char *text);
cr_line *cr_put_number(cr_line *line, uint64_t value);
cr_line *cr_put_hex(cr_line *line, uint64_t value);
void cr_say(cr_line *line);
void cr_say_text(const char *text);
/* "check NAME: ok", or what was got instead of what was wanted. */
void cr_say_check(const char *name, uint64_t got, uint64_t wanted);

#endif
