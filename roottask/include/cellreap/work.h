/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Notices owed to PDs (docs/protocol.md, "Work"): a queue a receiver, strictly in order. A notice is queued,
 * then fetched, then finished, each once, by its token; tokens rise over the whole run and are never reused.
 * Receivers are numbers below a limit that the caller states. All memory is the caller's. */
#ifndef CELLREAP_WORK_H
#define CELLREAP_WORK_H

#include <cellreap/policy.h>

/* A notice as its receiver gets it: numbers out of ids, because what they name may be gone by then. */
typedef struct cr_work_notice {
    uint64_t token;
    cr_notice_kind kind;
    uint32_t space;
    uint32_t object; /* 0: the space itself */
    uint32_t pd;     /* FREE, DISCONNECT: the dead PD's number; else 0 */
} cr_work_notice;

typedef struct cr_work_item {
    cr_work_notice notice;
    uint32_t next;
    uint32_t fetched;
} cr_work_item;

typedef struct cr_work_queue {
    uint32_t first;
    uint32_t last;
    uint32_t first_unfetched;
} cr_work_queue;

typedef struct cr_work {
    cr_work_item *items;
    cr_work_queue *queues;
    uint32_t n_items;
    uint32_t n_queues;
    uint32_t free;
    uint32_t pending; /* queued or fetched, not yet finished; all receivers */
    uint64_t next_token;
} cr_work;

void cr_work_init(cr_work *work, cr_work_item *items, uint32_t n_items, cr_work_queue *queues, uint32_t n_queues);

/* How many more notices there is room for. */
uint32_t cr_work_room(const cr_work *work);

/* The receiver of the oldest notice that is not finished. CR_ERR_ABSENT: there is none. Costs the number of
 * receivers. */
cr_status cr_work_oldest(const cr_work *work, uint32_t *receiver);

/* Appends a notice to a receiver's queue and gives it its token. CR_ERR_ARG, CR_ERR_FULL_NODES. */
cr_status cr_work_put(cr_work *work, uint32_t receiver, cr_work_notice *notice);

/* Hands out the oldest notices not handed out yet: the longest run of one kind, `max` at the most.
 * *count is 0 if there is none. CR_ERR_ARG. */
cr_status cr_work_fetch(cr_work *work, uint32_t receiver, uint32_t max, cr_work_notice *out, uint32_t *count);

/* Whether cr_work_finish would end this notice; changes nothing. CR_ERR_ARG, CR_ERR_ABSENT. */
cr_status cr_work_check(const cr_work *work, uint32_t receiver, uint64_t token);

/* Ends a notice. CR_ERR_ABSENT: no such token was handed out to this receiver, or it is finished already. */
cr_status cr_work_finish(cr_work *work, uint32_t receiver, uint64_t token, cr_work_notice *out);

/* Forgets all that a receiver that is gone was owed; returns how many. */
uint32_t cr_work_drop(cr_work *work, uint32_t receiver);

#endif
