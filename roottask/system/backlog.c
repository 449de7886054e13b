/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Merges and withdraws notices. See backlog.h. */
#include "backlog.h"

/* The walk over the notices of one receiver. */
typedef struct walk {
    const cr_pd *to;
    uint32_t account;
    uint32_t space; /* that was looked at last */
    int stands;     /* whether a notice about it was found or made that stands for all */
} walk;

void cr_backlog_withdraw(const cr_pd *pd, uint64_t token)
{
    const int busy = cr_work_ready(cr_sys.work, cr_receiver(pd));
    cr_work_notice notice;
    if (cr_work_withdraw(cr_sys.work, cr_receiver(pd), token, &notice) != CR_OK) {
        cr_panic("a notice that waits cannot be withdrawn", token);
    }
    cr_trace_notice(CR_CHANGE_WITHDRAWN, pd, token);
    cr_tombstone_told(pd, &notice);
    /* A receiver at its limit may have been kept from what comes next in the lane. */
    if (!busy && cr_work_ready(cr_sys.work, cr_receiver(pd))) {
        cr_signal(cr_body_cap(&pd->body, CR_BODY_SIGNAL));
    }
}

/* Whether a PD of the account left the notice behind and is destroyed. */
static int was_left(const walk *w, const cr_work_notice *notice)
{
    cr_pd *pd;
    return notice->account == w->account && notice->pd != 0 &&
           cr_find_pd(notice->pd, &pd) == CR_RESULT_GONE;
}

static void look_at(walk *w, const cr_work_notice *notice)
{
    cr_ref node;
    /* A DISCONNECT notice without a PD is one that was merged before. */
    const int merged = notice->kind == CR_NOTICE_DISCONNECT && notice->pd == 0;
    if (notice->space != w->space) {
        w->space = notice->space;
        w->stands = 0;
    }
    if (!merged && !(cr_work_is_left(notice->kind) && was_left(w, notice))) {
        return;
    }
    if (w->stands || cr_find_space(notice->space, &node) != CR_RESULT_OK) {
        cr_backlog_withdraw(w->to, notice->token);
    } else if (!merged) {
        if (cr_work_merge(cr_sys.work, cr_receiver(w->to), notice->token) != CR_OK) {
            cr_panic("a notice that waits cannot be merged", notice->token);
        }
        cr_trace_notice(CR_CHANGE_MERGED, w->to, notice->token);
        cr_tombstone_told(w->to, notice);
    }
    w->stands = 1;
}

void cr_backlog_merge(uint32_t account)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        walk w = {.to = &cr_sys.pds[i], .account = account};
        cr_work_cursor at = {0};
        cr_work_notice notice;
        /* The loop is bounded: each turn is another notice. */
        while (cr_work_next_unseen(cr_sys.work, cr_receiver(w.to), &at, &notice) == CR_OK) {
            look_at(&w, &notice);
        }
    }
}
