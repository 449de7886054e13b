/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tickets: how far a cleanup or an extraction is that a PD asked for. Ticket 0 is none, in every function here. */
#ifndef CELLREAP_SUPERVISOR_TICKETS_H
#define CELLREAP_SUPERVISOR_TICKETS_H

#include "notices.h"

typedef struct cr_ticket {
    int used;
    int extraction;
    cr_pd *owner;
    uint64_t number;
    uint32_t tag; /* 0 until its work has begun */
    cr_ticket_state state;
    uint32_t ends[CR_NOTICE_END_COUNT];
} cr_ticket;

typedef struct cr_tickets {
    cr_ticket at[CR_MAX_TICKETS];
    uint64_t last_number;
} cr_tickets;

/* Whether there is room for one more of that owner. */
int cr_ticket_room(const cr_pd *owner);
/* A ticket for `owner`. `what`: the PD to be terminated; 0: an extraction. There must be room. */
uint64_t cr_ticket_make(cr_pd *owner, const cr_pd *what);
/* Its work has begun: notices with that tag count. */
void cr_ticket_begin(uint64_t ticket, uint32_t tag);
/* Its work is done but for what its notices' receivers do. */
void cr_ticket_settle(uint64_t ticket);
void cr_ticket_credit(const cr_pd *receiver, const cr_work_notice *notice, cr_notice_end end);
/* Whether the PD may ask about that ticket. CR_RESULT_NO_SUCH, GONE, DENIED. */
cr_result cr_ticket_check(const cr_pd *from, uint64_t ticket);
/* What TICKET answers about one that is there: the number of words in `out`. 0: with `wait`, it is
 * answered when the ticket is over. */
uint32_t cr_ticket_look(uint64_t ticket, int wait, uint64_t *out);
/* Whether the PD waits for the end of a cleanup that is not over. */
int cr_ticket_keeps(const cr_pd *pd);
/* Tells in the trace that nobody waits for it. */
void cr_ticket_unwanted(uint64_t ticket);
/* Whether something that has a deadline is still to come for the ticket that a PD waits for: its cleanup or extraction is
 * not done, or a receiver with a deadline has a notice of it to acknowledge. */
int cr_ticket_is_bounded(const cr_pd *pd);
/* Answers a PD that waits for its ticket, as it stands. */
void cr_ticket_answer(cr_pd *pd);
/* Answers those whose tickets are over. */
void cr_tickets_follow_up(void);
void cr_tickets_forget(const cr_pd *owner);

#endif
