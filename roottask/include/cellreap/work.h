/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Notices owed to PDs (docs/operations.md, "Work"). Each receiver has one lane for each space that
 * it is owed notices about, one for probes, and one for each PD whose faults it is told. A lane is
 * strictly in order: a notice waits until all notices before it are finished. When a notice fails,
 * those behind it wait until the lane is resumed. Lanes do not wait for each other, and receivers
 * do not wait for each other.
 *
 * A notice is put once. It is then fetched and finished by its token. Tokens increase over the
 * whole run and are never reused. A notice that failed stays at the head of its lane. When the lane
 * is resumed, the notice can be fetched again, under the same token. EXTRACT, PRE_DESTROY, PROBE
 * and FAULT notices do not stop a lane when they fail. They are finished in either case.
 *
 * A lane is ready when it has notices, none of them is handed out, and it is not stopped. A fetch
 * serves the ready lanes of one kind: the kind of the notice at their head that comes first in
 * cr_work_precedence. Lanes of the same kind are served in the order in which they became ready. A
 * lane hands out its longest run of that kind for which there is room. It hands out nothing more
 * until that run is finished.
 *
 * FREE, DISCONNECT and EXTRACT notices are caused by others than their receiver, without end. So a
 * receiver may be given a limit on how many of them it takes: is handed and has not finished. It is
 * handed no further one at the limit. Those that it never was handed are *unseen*. An unseen notice
 * can be withdrawn, and unseen notices about PDs that are gone can be merged into one.
 *
 * A receiver is a number below a limit that the caller sets. The caller provides all memory.
 * Putting, fetching and finishing one notice takes constant time on average. */
#ifndef CELLREAP_WORK_H
#define CELLREAP_WORK_H

#include <cellreap/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A notice as its receiver gets it. It has numbers out of ids, because the nodes that they name may
 * no longer exist. */
typedef struct cr_work_notice {
    uint64_t token; /* set by cr_work_put */
    cr_notice_kind kind;
    /* selects the lane, except of a PROBE or FAULT. 0: none; the notice is about `pd` */
    uint32_t space;
    /* 0: the space itself. PRE_DESTROY: the handlers that are told, bit n for handler n */
    uint32_t object;
    /* FREE, DISCONNECT: number of the dead PD; 0 after cr_work_merge. PRE_DESTROY of a PD, LOST of
     * a PD capability, PROBE, FAULT: number of the PD that the notice is about. Else 0. */
    uint32_t pd;
    uint32_t tag;     /* chosen by the caller, for counting */
    uint8_t again;    /* set by cr_work_resume: the notice failed before */
    uint16_t account; /* that has its room, below the number of receivers; 0: it is not charged */
    uint16_t slot;    /* LOST: the one slot that it is about; 0: all slots of the space */
    uint32_t broken;  /* LOST: how much the receiver keeps that is built on what went; else 0 */
    uint64_t since;   /* the receiver's clock when it was queued, chosen by the caller */
} cr_work_notice;

/* A position in the notices of one receiver. All zeros: before the first. */
typedef struct cr_work_cursor {
    uint32_t steps; /* so far */
    uint32_t lane;  /* of the item */
    uint32_t item;  /* the one that comes next */
} cr_work_cursor;

/* The answer to one notice in a FINISH_WORK. */
typedef struct cr_work_answer {
    uint64_t token;
    uint32_t failed;
} cr_work_answer;

typedef struct cr_work cr_work;

/* Bytes for `n_items` notices and `n_receivers` receivers at a time; 0 if out of range. */
size_t cr_work_bytes(uint32_t n_items, uint32_t n_receivers);
/* `memory`: aligned to 8. CR_ERR_ARG, CR_ERR_MEMORY. */
cr_status cr_work_init(void *memory, size_t bytes, uint32_t n_items, uint32_t n_receivers,
                       cr_work **out);

/* The number of further notices that there is room for. */
uint32_t cr_work_room(const cr_work *work);
/* Whether any receiver has not finished the notice with this token. */
int cr_work_has(const cr_work *work, uint64_t token);
/* Whether the receiver has a notice to fetch. */
int cr_work_ready(const cr_work *work, uint32_t receiver);

/* The number of notices of one kind that the receiver has not finished, including failed ones. */
uint32_t cr_work_pending_of(const cr_work *work, uint32_t receiver, cr_notice_kind kind);
/* The number of notices with this account that are not finished, including failed ones. */
uint32_t cr_work_charged(const cr_work *work, uint32_t account);

/* Appends a notice to a lane and gives it its token. CR_ERR_ARG, CR_ERR_FULL_NODES. */
cr_status cr_work_put(cr_work *work, uint32_t receiver, cr_work_notice *notice);

/* Hands out up to `max` notices, all of one kind. *count is 0 if there is none. CR_ERR_ARG. */
cr_status cr_work_fetch(cr_work *work, uint32_t receiver, uint32_t max, cr_work_notice *out,
                        uint32_t *count);

/* The notice with this token, if it is handed out to this receiver and not finished. CR_ERR_ARG,
 * CR_ERR_ABSENT. */
cr_status cr_work_look(const cr_work *work, uint32_t receiver, uint64_t token, cr_work_notice *out);

/* Whether all these answers can be taken in this order. Changes nothing. CR_ERR_ARG. CR_ERR_ABSENT:
 * a token is not handed out to this receiver, is already finished, or occurs twice. CR_ERR_STATE:
 * an older notice of the same lane is handed out and not finished before it, or an earlier answer
 * fails and stops the lane. */
cr_status cr_work_check(const cr_work *work, uint32_t receiver, const cr_work_answer *answers,
                        uint32_t count);

/* Takes one answer that cr_work_check allows. If the notice failed and its kind stops the lane, the
 * other notices of the lane that were handed out are taken back. *out is the notice. CR_ERR_ARG,
 * CR_ERR_ABSENT, CR_ERR_STATE. */
cr_status cr_work_finish(cr_work *work, uint32_t receiver, const cr_work_answer *answer,
                         cr_work_notice *out);

/* The failed notice that stops a lane. CR_ERR_ARG. CR_ERR_ABSENT: the lane is not stopped. */
cr_status cr_work_failed(const cr_work *work, uint32_t receiver, uint32_t space,
                         cr_work_notice *out);

/* Resumes a stopped lane: its failed notice can be fetched again. That notice gets tag 0, and
 * `again` is set. CR_ERR_ARG. CR_ERR_ABSENT: the lane is not stopped. */
cr_status cr_work_resume(cr_work *work, uint32_t receiver, uint32_t space);

/* Whether an edge of a PD that is gone left such a notice behind: it can be merged. */
int cr_work_is_left(cr_notice_kind kind);
/* Sets the account that limited notices count for once the receiver is handed them, if an account
 * is charged for them at all (0: they stay as they are), and how many it may take. CR_ERR_ARG. */
cr_status cr_work_set_receiver(cr_work *work, uint32_t receiver, uint16_t account, uint32_t most);

/* The next unseen notice of the receiver after *at, lane by lane, also in stopped lanes. Between
 * two calls with the same cursor, only the notice that came last may be withdrawn or merged.
 * CR_ERR_ARG. CR_ERR_ABSENT: there is no further one. */
cr_status cr_work_next_unseen(const cr_work *work, uint32_t receiver, cr_work_cursor *at,
                              cr_work_notice *out);
/* Removes an unseen notice. The others of its lane keep their order. CR_ERR_ARG. CR_ERR_ABSENT: the
 * receiver has no unseen notice with this token. */
cr_status cr_work_withdraw(cr_work *work, uint32_t receiver, uint64_t token, cr_work_notice *out);
/* Makes an unseen FREE or DISCONNECT notice one about no PD in particular: a DISCONNECT notice
 * about its space with `pd` 0. It counts for the receiver's account and keeps its token, its tag
 * and its place. CR_ERR_ARG. CR_ERR_ABSENT. */
cr_status cr_work_merge(cr_work *work, uint32_t receiver, uint64_t token);

/* Removes one notice that the receiver is owed, the oldest of one of its lanes. For receivers that
 * no longer exist. *failed: the notice was acknowledged as failed. CR_ERR_ARG. CR_ERR_ABSENT: no
 * notice is owed. */
cr_status cr_work_take(cr_work *work, uint32_t receiver, cr_work_notice *out, uint32_t *failed);

/* The next notice of the receiver after *at that it can fetch or finish, in the order of its lanes.
 * Between two calls as above. CR_ERR_ARG. CR_ERR_ABSENT: there is no further one. */
cr_status cr_work_next(const cr_work *work, uint32_t receiver, cr_work_cursor *at,
                       cr_work_notice *out);
/* Sets the tag of all notices of the receiver up to this token to 0, also in stopped lanes. Takes
 * time proportional to the notices of the receiver. CR_ERR_ARG. */
cr_status cr_work_untag(cr_work *work, uint32_t receiver, uint64_t token);

/* Counts the receiver's notices with this tag that are not acknowledged (*waiting), and those of
 * them that wait behind a failed notice (*held). Both are 0 if `receiver` is out of range. Takes
 * time proportional to the notices that the receiver is owed. */
void cr_work_count_of(const cr_work *work, uint32_t receiver, uint32_t tag, uint32_t *waiting,
                      uint32_t *held);

/* The kinds in the order in which they are handed out. */
extern const cr_notice_kind cr_work_precedence[CR_NOTICE_KIND_COUNT];

#ifdef __cplusplus
}
#endif

#endif
