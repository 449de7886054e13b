/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Late PDs and expired waits. See waits.h. */
#include "waits.h"
#include "answer.h"
#include "arena.h"
#include "connect.h"

static int is_late(const cr_pd *pd, uint64_t now, cr_work_notice *notice)
{
    return cr_pd_is_served(pd) && cr_work_late(cr_sys.work, cr_receiver(pd), now, notice) == CR_OK;
}

void cr_waits_begin(cr_pd *pd, cr_wait what)
{
    cr_pd_wait(pd, what);
    if (what != CR_WAIT_CHECKPOINT) {
        pd->wait_due = cr_clock_due(pd->deadline_ms != 0 ? pd->deadline_ms
                                                         : cr_sys.image->await_ms);
    }
    cr_notices_changed();
}

void cr_waits_release(cr_pd *pd)
{
    switch (pd->wait) {
    case CR_WAIT_CHECKPOINT:
        cr_sup.hooks->release(pd);
        break;
    case CR_WAIT_CONNECT:
        cr_connect_give_up(pd);
        break;
    case CR_WAIT_TICKET:
    case CR_WAIT_TERMINATE:
        cr_ticket_answer(pd);
        break;
    case CR_WAIT_NOTHING:
    case CR_WAIT_COUNT:
        break;
    }
}

void cr_waits_follow_up(void)
{
    for (uint32_t i = 1; cr_cleaner_waits() && i < CR_MAX_PDS; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if ((pd->wait == CR_WAIT_CONNECT || pd->wait == CR_WAIT_CHECKPOINT) &&
            pd->released != pd->last_token && cr_cleaner_awaits(pd)) {
            pd->released = pd->last_token;
            cr_waits_release(pd);
        }
    }
}

static void trace_late(const cr_pd *pd, const cr_work_notice *notice)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_LATE);
    cr_trace_pd(pd);
    cr_trace_number(&cr_sys.trace, notice->token);
    cr_trace_number(&cr_sys.trace, pd->deadline_ms + (cr_clock_now() - notice->due) / 1000000);
    cr_trace_end(&cr_sys.trace);
}

/* Makes late PDs triggers. A PD that waits for the root task is answered first, and its deadlines
 * are extended once. This also separates PDs that wait for each other's tickets. */
static void find_late(void)
{
    cr_work_notice notice;
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if ((pd->wait == CR_WAIT_NOTHING || pd->grace != 0) &&
            is_late(pd, cr_clock_now(), &notice) &&
            (pd->wait == CR_WAIT_NOTHING || notice.token <= pd->grace)) {
            trace_late(pd, &notice);
            cr_trigger(pd, CR_CAUSE_LATE, 0);
        }
    }
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (pd->wait != CR_WAIT_NOTHING && is_late(pd, cr_clock_now(), &notice)) {
            cr_waits_release(pd);
        }
    }
}

/* Whether the wait of the PD will end without a limit on this wait. */
static int comes_by_itself(const cr_pd *pd)
{
    return pd->wait == CR_WAIT_CONNECT ? cr_connect_is_on_its_way(pd) : cr_ticket_is_bounded(pd);
}

static void release_expired(uint64_t now)
{
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (!cr_pd_is_served(pd) || pd->wait_due == 0 || pd->wait_due > now) {
            continue;
        }
        if (comes_by_itself(pd)) {
            pd->wait_due = cr_clock_due(cr_sys.image->await_ms);
        } else {
            cr_waits_release(pd);
        }
    }
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static uint64_t next_due(void)
{
    uint64_t next = earlier(cr_work_next_due(cr_sys.work),
                            earlier(cr_cleaner_next_due(), cr_extract_next_due()));
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        next = cr_pd_exists(&cr_sys.pds[i]) ? earlier(next, cr_sys.pds[i].wait_due) : next;
    }
    return next;
}

void cr_waits_expire(void)
{
    find_late();
    uint64_t now = cr_clock_now();
    cr_population_expire(now);
    release_expired(now);
    cr_extract_expire(now);
    cr_cleaner_expire(now);
    cr_clock_next(earlier(next_due(), cr_population_next_due()));
}

int cr_waits_without_timer(void)
{
    int any = 0;
    if (cr_clock_exists()) {
        return 0;
    }
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_is_served(pd) && pd->wait != CR_WAIT_NOTHING && pd->wait != CR_WAIT_CHECKPOINT) {
            cr_waits_release(pd);
            any = 1;
        }
    }
    if (!any) {
        any = cr_extract_running() || cr_cleaner_waits();
        cr_extract_expire(UINT64_MAX);
        cr_cleaner_expire(UINT64_MAX);
    }
    return any;
}

int cr_waits_pending(void)
{
    return next_due() != 0 || cr_population_pending();
}

int cr_waits_of_others(void)
{
    cr_work_notice notice;
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        if (cr_sys.pds[i].wait == CR_WAIT_NOTHING && is_late(&cr_sys.pds[i], UINT64_MAX, &notice)) {
            return 1;
        }
    }
    return 0;
}
