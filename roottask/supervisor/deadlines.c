/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Time: who is late with a notice, and the scenario's alarm. One interrupt at a time is asked for, for the earliest of
 * what is due; while nothing is due the timer is off and the clock stands still, which nobody notices, since all that
 * is ever asked is how long from now. */
#include "supervisor.h"
#include "kernel/timer.h"

static struct {
    uint64_t base; /* the clock when the timer was set last */
    uint64_t set;  /* for how long; 0: it is off */
    uint64_t next; /* nobody is late before; 0: nobody ever. What was acknowledged since may have been what it is for */
    uint64_t alarm;
    int there;
} clock;

/* The longest that an interrupt for somebody's deadline is away. What is due is reckoned from the end of the interval
 * that runs when it is queued, so as not to ask the device, which takes kernel calls, in the midst of a cleanup. */
enum { NS_PER_MS = 1000000, INTERVAL_NS = 10 * NS_PER_MS };

_Static_assert((int)INTERVAL_NS <= (int)CR_TIMER_MAX_NS, "an interval is no longer than the timer can be set for");

void cr_deadlines_init(seL4_CPtr notification)
{
    cr_status status = cr_timer_init(notification, cr_badge(CR_BADGE_TIMER, 0, 0));
    if (status != CR_OK && status != CR_ERR_ABSENT) {
        cr_panic("the timer cannot be set up", (uint64_t)status);
    }
    clock.there = status == CR_OK;
    clock.base = 1; /* 0 is never */
}

static uint64_t now(void)
{
    return clock.base + (clock.set != 0 ? cr_timer_elapsed() : 0);
}

uint64_t cr_due_of(const cr_pd *pd)
{
    if (pd->deadline_ms == 0 || pd->silent || !clock.there) {
        return 0;
    }
    uint64_t due = clock.base + clock.set + (uint64_t)pd->deadline_ms * NS_PER_MS;
    if (clock.next == 0 || due < clock.next) {
        clock.next = due;
    }
    return due;
}

void cr_alarm_set(uint64_t ns)
{
    if (!clock.there) {
        cr_panic("the scenario wants a timer, and this kernel leaves none to user level", ns);
    }
    clock.alarm = now() + ns;
    cr_deadlines_arm();
}

int cr_alarm_pending(void)
{
    return clock.alarm != 0;
}

int cr_deadlines_pending(void)
{
    return cr_work_next_due(cr_sys.work) != 0;
}

int cr_deadlines_of_others(void)
{
    cr_work_notice notice;
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        if (pd->used && !pd->silent && pd->keeps == CR_KEEP_NONE &&
            cr_work_late(cr_sys.work, i, UINT64_MAX, &notice) == CR_OK) {
            return 1;
        }
    }
    return 0;
}

void cr_deadlines_arm(void)
{
    uint64_t due = clock.next;
    if (clock.alarm != 0 && (due == 0 || clock.alarm < due)) {
        due = clock.alarm;
    }
    if (due == 0) {
        return; /* If it is set, one interrupt comes for nothing. */
    }
    if (clock.set != 0 && clock.base + clock.set <= due) {
        return;
    }
    uint64_t at = now();
    uint64_t left = due > at ? due - at : 1;
    clock.base = at;
    clock.set = cr_timer_start(left < INTERVAL_NS ? left : INTERVAL_NS);
}

void cr_deadlines_forget(const cr_pd *pd)
{
    if (cr_work_defer(cr_sys.work, cr_receiver(pd), 0) != CR_OK) {
        cr_panic("no such receiver", pd->number);
    }
}

static void trace_late(const cr_pd *pd, const cr_work_notice *notice)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_LATE);
    cr_trace_pd(pd);
    cr_trace_number(&cr_sys.trace, notice->token);
    cr_trace_number(&cr_sys.trace, pd->deadline_ms + (now() - notice->due) / NS_PER_MS);
    cr_trace_end(&cr_sys.trace);
}

/* While the root task kept it waiting it could not acknowledge, and it may be answered when its time is all but over. Each
 * notice is put off once only, so that nobody can hide behind requests that are answered late. */
void cr_deadlines_excuse(cr_pd *pd)
{
    cr_work_notice oldest;
    if (cr_work_late(cr_sys.work, cr_receiver(pd), UINT64_MAX, &oldest) == CR_OK && oldest.token > pd->grace) {
        pd->grace = pd->last_token;
        if (cr_work_defer(cr_sys.work, cr_receiver(pd), cr_due_of(pd)) != CR_OK) {
            cr_panic("no such receiver", pd->number);
        }
    }
}

/* Whoever is late is a trigger, unless it goes anyway. A PD that the root task itself keeps waiting is answered
 * first. So a ring of PDs that wait for each other's tickets comes apart. */
static void find_late(void)
{
    cr_work_notice notice;
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (pd->used && !pd->silent && (pd->keeps == CR_KEEP_NONE || pd->grace != 0) &&
            cr_work_late(cr_sys.work, i, now(), &notice) == CR_OK &&
            (pd->keeps == CR_KEEP_NONE || notice.token <= pd->grace)) {
            trace_late(pd, &notice);
            cr_trigger(pd, CR_CAUSE_LATE, 0);
        }
    }
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (pd->used && !pd->silent && pd->keeps != CR_KEEP_NONE &&
            cr_work_late(cr_sys.work, i, now(), &notice) == CR_OK) {
            cr_release(pd);
        }
    }
}

void cr_deadlines_tick(void)
{
    cr_timer_ack();
    if (clock.set == 0 || cr_timer_elapsed() < clock.set) {
        return; /* That of a setting that was replaced since. */
    }
    clock.base += clock.set;
    clock.set = 0;
    if (clock.alarm != 0 && clock.alarm <= clock.base) {
        clock.alarm = 0;
        cr_director_alarm();
    }
    find_late();
    clock.next = cr_work_next_due(cr_sys.work);
}
