/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tickets: the progress of a cleanup, a collection or an extraction that a PD asked for. In every
 * function here, ticket 0 means no ticket. Only the owner may ask about a ticket. */
#ifndef CELLREAP_SUPERVISOR_TICKETS_H
#define CELLREAP_SUPERVISOR_TICKETS_H

#include "notices.h"

typedef enum cr_ticket_kind {
    CR_TICKET_TERMINATION,
    CR_TICKET_EXTRACTION,
    CR_TICKET_COLLECTION
} cr_ticket_kind;

typedef struct cr_ticket {
    cr_ticket_kind kind;
    cr_pd *owner;
    cr_ref what;     /* the PD to be terminated; CR_NONE: none */
    uint64_t number; /* 0: the entry is free */
    uint32_t tag;    /* 0 until the work has begun */
    cr_ticket_state state;
    uint32_t ends[CR_NOTICE_END_COUNT];
    uint32_t left; /* notices whose receivers were given up */
} cr_ticket;

typedef struct cr_tickets {
    cr_ticket *at;
    uint32_t in_use; /* how many of them are */
    uint64_t last_number;
} cr_tickets;

/* Whether there is room for one more ticket of this owner. */
int cr_ticket_room(const cr_pd *owner);
/* Makes a ticket for `owner`. `what` is the PD to be terminated; 0 for the other kinds. `tag`: of
 * an extraction, which begins now; else 0. There must be room. */
uint64_t cr_ticket_make(cr_pd *owner, cr_ticket_kind kind, const cr_pd *what, uint32_t tag);
/* All tickets that wait for the cleanup of a PD, or for a collection with {CR_NONE, 0}, wait no
 * more. RUNNING: it has begun, and notices with its tag count from now on. SETTLED: the PD is gone,
 * and its own cleanup will not come, or there is nothing to collect. PREVENTED: the PD goes on,
 * because its cleanup would destroy a PD that the configuration protects. */
void cr_tickets_leave_queue(cr_ref what, cr_ticket_state to, uint32_t tag);
/* The work is done, except for what the receivers of its notices still do. */
void cr_tickets_settle(uint32_t tag);
/* The work was cancelled. */
void cr_ticket_cancel(uint64_t ticket);
/* A ticket that cr_ticket_check accepted. */
const cr_ticket *cr_ticket_of(uint64_t ticket);
void cr_ticket_credit(const cr_pd *receiver, const cr_work_notice *notice, cr_notice_end end);
/* Whether the PD may ask about that ticket. CR_RESULT_NO_SUCH, GONE, DENIED. */
cr_result cr_ticket_check(const cr_pd *from, uint64_t ticket);
/* The answer to TICKET for an existing ticket. Returns the number of words in `out`. 0 (only with
 * `wait`): the answer comes when the ticket is over. */
uint32_t cr_ticket_look(uint64_t ticket, int wait, uint64_t *out);
/* Whether the PD waits for a cleanup that has not ended. */
int cr_ticket_keeps(const cr_pd *pd);
/* Whether the PD's wait for its ticket will end by itself: the ticket is not over, and each
 * receiver that it awaits finishes its notices, is late or is given up. */
int cr_ticket_is_bounded(const cr_pd *pd);
/* Whether a ticket that is not over awaits that this receiver finishes notices with this tag. */
int cr_ticket_awaits(uint32_t tag, const cr_pd *receiver);
/* The notices of the receiver up to this token are awaited by nobody any more: they get tag 0.
 * Tickets count them as waiting, but are over without them. */
void cr_ticket_give_up(const cr_pd *receiver, uint64_t token);
/* Answers a PD that waits for its ticket, with the present state of the ticket. */
void cr_ticket_answer(cr_pd *pd);
/* Answers the PDs whose tickets are over. */
void cr_tickets_follow_up(void);
void cr_tickets_forget(const cr_pd *owner);
/* The tickets that are not over. */
uint32_t cr_tickets_in_use(void);

#endif
