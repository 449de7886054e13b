/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Late PDs and expired waits. See waits.h. */
#include "waits.h"
#include "answer.h"
#include "arena.h"
#include "connect.h"
#include "hung.h"
#include "notices.h"
#include "progress.h"
#include "residue.h"

void cr_waits_begin(cr_pd *pd, cr_wait what)
{
    cr_pd_wait(pd, what);
    if (cr_notices_has_any(pd)) {
        pd->run.waits++;
        pd->run.waited = 0;
    }
    if (what == CR_WAIT_CONNECT) {
        pd->maker_ran = 0;
        cr_clock_watch();
    }
    if (what != CR_WAIT_CHECKPOINT) {
        pd->wait_due =
            cr_clock_due(pd->deadline_ms != 0 ? pd->deadline_ms : cr_sys.image->await_ms);
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
        cr_connect_answer(pd);
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
    for (uint32_t i = 1; cr_cleaner_waits() && i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (pd->wait != CR_WAIT_NOTHING && pd->released != pd->last_token &&
            cr_cleaner_awaits(pd)) {
            pd->released = pd->last_token;
            cr_waits_release(pd);
        }
    }
}

/* Makes late PDs triggers, and tells of those that are not late. Answers a PD that is owed a notice
 * and has waited for the root task so long, so that it can finish the notice. */
static void find_late(void)
{
    cr_work_notice notice;
    uint64_t ms;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (cr_progress_is_late(pd, &notice, &ms)) {
            cr_trace_trigger(
                &(cr_triggered){.cause = CR_CAUSE_LATE, .pd = pd, .token = notice.token, .ms = ms});
            cr_trigger(pd, CR_CAUSE_LATE);
            continue;
        }
        cr_progress_tell_held_up(pd);
        if (cr_pd_is_served(pd) && pd->wait != CR_WAIT_NOTHING &&
            pd->run.waited >= cr_progress_limit(pd)) {
            pd->run.waited = 0;
            cr_waits_release(pd);
        }
    }
}

/* Whether the wait of the PD will end without a limit on this wait. It may not if a cleanup left
 * something, unless one that awaits subscribers is under way: a PD can be left for ever, and is not
 * created again then. */
static int comes_by_itself(const cr_pd *pd)
{
    if (cr_residue_any() && !cr_cleaner_waits()) {
        return 0;
    }
    return pd->wait == CR_WAIT_CONNECT ? cr_connect_is_on_its_way(pd) : cr_ticket_is_bounded(pd);
}

/* The milliseconds for which a PD still waits for a space because the one that has to act next did
 * not have the processor. */
static uint64_t starved_ms(const cr_pd *pd)
{
    const uint64_t limit = cr_progress_limit(pd);
    return cr_connect_last(pd) != 0 && pd->maker_ran < limit
               ? (limit - pd->maker_ran) / CR_NS_PER_MS + 1
               : 0;
}

static void release_expired(uint64_t now)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (!cr_pd_is_served(pd) || pd->wait_due == 0 || pd->wait_due > now) {
            continue;
        }
        if (comes_by_itself(pd)) {
            pd->wait_due = cr_clock_due(cr_sys.image->await_ms);
        } else if (starved_ms(pd) != 0) {
            pd->wait_due = cr_clock_due(starved_ms(pd));
        } else {
            cr_waits_release(pd);
        }
    }
}

static uint64_t next_due(void)
{
    uint64_t next = cr_sup.clock.look;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        next = cr_pd_exists(&cr_sys.pds[i]) ? cr_clock_earlier(next, cr_sys.pds[i].wait_due) : next;
    }
    return next;
}

void cr_waits_expire(void)
{
    if (cr_progress_look()) {
        find_late();
        cr_hung_find();
        cr_progress_take_faults();
        cr_progress_give_up();
    }
    uint64_t now = cr_clock_now();
    cr_population_expire(now);
    release_expired(now);
    const uint64_t due = cr_clock_earlier(next_due(), cr_residue_due());
    cr_clock_next(cr_clock_earlier(due, cr_population_next_due()));
}

/* Answers all PDs that wait for the root task in one of two ways. Returns whether there was one. */
static int release_all(cr_wait one, cr_wait other)
{
    int any = 0;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_is_served(pd) && (pd->wait == one || pd->wait == other)) {
            cr_waits_release(pd);
            any = 1;
        }
    }
    return any;
}

/* A PD that waits for a space may be awaited itself. Tickets are over when nobody is awaited. */
int cr_waits_without_timer(void)
{
    return !cr_clock_exists() &&
           (release_all(CR_WAIT_CONNECT, CR_WAIT_CONNECT) || cr_progress_give_up_all() ||
            release_all(CR_WAIT_TICKET, CR_WAIT_TERMINATE));
}

int cr_waits_pending(void)
{
    int any = cr_population_pending() || cr_hung_is_pending();
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        any |= cr_pd_exists(pd) && (pd->wait_due != 0 || cr_progress_is_pending(pd));
    }
    return any;
}

int cr_waits_of_others(void)
{
    if (cr_hung_is_pending()) {
        return 1;
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        if (pd->deadline_ms != 0 && pd->wait == CR_WAIT_NOTHING && cr_progress_is_pending(pd)) {
            return 1;
        }
    }
    return 0;
}
