/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Notices owed to PDs (docs/operations.md, "Work"). Each receiver has a lane for each space that it is owed notices
 * about. A lane is strictly in order: what is behind waits until what is before it is finished, and when one fails,
 * those behind it wait until the lane is resumed. Lanes do not wait for each other, nor do receivers.
 *
 * A notice is put, fetched, finished, each once, by its token; tokens rise over the whole run and are never reused.
 * One that failed stays at the head of its lane and is fetched again, under the same token, if the lane is
 * resumed. Kinds EXTRACT and PRE_DESTROY do not stop a lane when they fail: they are finished either way.
 *
 * Fetching: lanes with something to hand out queue up, by the kind of what is at their head, in the order in which they
 * came to have it; the kind that comes first in cr_work_precedence goes first; each lane gives its longest run of
 * that kind, as far as there is room, and gives nothing more until all of that is finished.
 *
 * Receivers are numbers below a limit that the caller states. All memory is the caller's. Costs: putting, fetching,
 * finishing one notice: constant on average; a late one: the receivers' number and the notices held. */
#ifndef CELLREAP_WORK_H
#define CELLREAP_WORK_H

#include <cellreap/policy.h>

/* A notice as its receiver gets it: numbers out of ids, because what they name may be gone by then. */
typedef struct cr_work_notice {
    uint64_t token; /* given by cr_work_put */
    cr_notice_kind kind;
    uint32_t space;  /* 0: none, `pd` is what the notice is about. The lane is this number's */
    uint32_t object; /* 0: the space itself */
    uint32_t pd;     /* FREE, DISCONNECT: the dead PD's number; PRE_DESTROY of a PD: that PD's; else 0 */
    uint32_t tag;    /* the caller's: on whose account it is */
    uint64_t due;    /* the caller's clock: when it is late; 0: never */
} cr_work_notice;

/* One notice's part of a finish message. */
typedef struct cr_work_answer {
    uint64_t token;
    uint32_t failed;
} cr_work_answer;

typedef struct cr_work cr_work;

/* Bytes for `n_items` notices at a time and `n_receivers` receivers; 0 if out of range. */
size_t cr_work_bytes(uint32_t n_items, uint32_t n_receivers);
/* `memory`: aligned to 8. CR_ERR_ARG, CR_ERR_MEMORY. */
cr_status cr_work_init(void *memory, size_t bytes, uint32_t n_items, uint32_t n_receivers, cr_work **out);

/* How many more notices there is room for; how many the receiver has not finished (failed ones that nobody resumed count). */
uint32_t cr_work_room(const cr_work *work);
uint32_t cr_work_pending(const cr_work *work, uint32_t receiver);
/* Whether the receiver has something to fetch. */
int cr_work_ready(const cr_work *work, uint32_t receiver);

/* The receiver of the oldest notice that is neither finished nor behind one that failed, nor failed itself.
 * CR_ERR_ABSENT: there is none. Costs the number of receivers and notices held. */
cr_status cr_work_oldest(const cr_work *work, uint32_t *receiver);

/* Appends a notice to a lane and gives it its token. CR_ERR_ARG, CR_ERR_FULL_NODES. */
cr_status cr_work_put(cr_work *work, uint32_t receiver, cr_work_notice *notice);

/* Hands out up to `max` notices, all of one kind. *count is 0 if there is none. CR_ERR_ARG. */
cr_status cr_work_fetch(cr_work *work, uint32_t receiver, uint32_t max, cr_work_notice *out, uint32_t *count);

/* A notice that is handed out to this receiver and not finished. CR_ERR_ARG, CR_ERR_ABSENT. */
cr_status cr_work_look(const cr_work *work, uint32_t receiver, uint64_t token, cr_work_notice *out);

/* Whether all these answers, in this order, can be taken; changes nothing. CR_ERR_ARG; CR_ERR_ABSENT: a token that was not
 * handed out to this receiver, is finished already, or comes twice; CR_ERR_STATE: an older notice of its lane is handed
 * out and not finished before it, or one before it fails here and stops the lane. */
cr_status cr_work_check(const cr_work *work, uint32_t receiver, const cr_work_answer *answers, uint32_t count);

/* Takes one answer that cr_work_check allows. If it failed and is of a kind that stops its lane, those of its lane that were
 * handed out are taken back. *out is the notice. CR_ERR_ARG, CR_ERR_ABSENT, CR_ERR_STATE. */
cr_status cr_work_finish(cr_work *work, uint32_t receiver, const cr_work_answer *answer, cr_work_notice *out);

/* The notice that failed and stops a lane. CR_ERR_ARG; CR_ERR_ABSENT: the lane is not stopped. */
cr_status cr_work_failed(const cr_work *work, uint32_t receiver, uint32_t space, cr_work_notice *out);

/* Lets a stopped lane go on: the one that failed is handed out again, with `due` from now on for it and all that are behind
 * it, and tag 0 for itself. CR_ERR_ARG; CR_ERR_ABSENT: the lane is not stopped. */
cr_status cr_work_resume(cr_work *work, uint32_t receiver, uint32_t space, uint64_t due);

/* Takes out any one notice that a receiver is owed, the oldest of some lane; for a receiver that is gone. *failed: it had
 * been answered. CR_ERR_ARG; CR_ERR_ABSENT: nothing is owed. */
cr_status cr_work_take(cr_work *work, uint32_t receiver, cr_work_notice *out, uint32_t *failed);

/* The oldest notice of a receiver that is late at `now`, not held and not failed. CR_ERR_ARG, CR_ERR_ABSENT. */
cr_status cr_work_late(const cr_work *work, uint32_t receiver, uint64_t now, cr_work_notice *out);
/* When the next notice gets late, over all receivers; 0: none ever. */
uint64_t cr_work_next_due(const cr_work *work);
/* Sets `due` of all notices of a receiver that have one. CR_ERR_ARG. */
cr_status cr_work_defer(cr_work *work, uint32_t receiver, uint64_t due);

/* Of the notices with this tag, how many nobody has answered, and how many of those wait behind one that failed. Costs the
 * notices there are. */
void cr_work_count(const cr_work *work, uint32_t tag, uint32_t *waiting, uint32_t *held);
/* The same of one receiver; nothing for a number that is no receiver's. Costs the notices it is owed. */
void cr_work_count_of(const cr_work *work, uint32_t receiver, uint32_t tag, uint32_t *waiting, uint32_t *held);

/* The kinds, first the one that is handed out first: CR_NOTICE_KIND_COUNT of them. */
extern const cr_notice_kind cr_work_precedence[CR_NOTICE_KIND_COUNT];

#endif
