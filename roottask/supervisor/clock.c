/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Times. See clock.h. */
#include "clock.h"
#include "arena.h"
#include "kernel/timer.h"

/* The longest interval of the timer. Due times are computed from the end of the current interval,
 * because reading the device takes kernel calls. A cleanup must not make more kernel calls because
 * of deadlines. */
enum { INTERVAL_NS = 10 * CR_NS_PER_MS };

_Static_assert((int)INTERVAL_NS <= (int)CR_TIMER_MAX_NS,
               "an interval is no longer than the timer can be set for");

void cr_clock_init(seL4_CPtr notification)
{
    cr_status status = cr_timer_init(notification, cr_badge(CR_BADGE_TIMER, 0, 0));
    if (status != CR_OK && status != CR_ERR_ABSENT) {
        cr_panic("the timer cannot be set up", (uint64_t)status);
    }
    cr_sup.clock.there = status == CR_OK;
    cr_sup.clock.base = 1; /* 0 means never */
    cr_sup.clock.interval = INTERVAL_NS;
}

int cr_clock_exists(void)
{
    return cr_sup.clock.there;
}

uint64_t cr_clock_now(void)
{
    const cr_clock *clock = &cr_sup.clock;
    return clock->base + (clock->set != 0 && !clock->still ? cr_timer_elapsed() : 0);
}

uint64_t cr_clock_end_of_interval(void)
{
    return cr_sup.clock.base + (cr_sup.clock.still ? 0 : cr_sup.clock.set);
}

uint64_t cr_clock_due(uint64_t ms)
{
    cr_clock *clock = &cr_sup.clock;
    if (!clock->there) {
        return 0;
    }
    const uint64_t due = cr_clock_end_of_interval() + ms * CR_NS_PER_MS;
    clock->next = cr_clock_earlier(clock->next, due);
    return due;
}

void cr_clock_alarm(uint64_t ns)
{
    if (!cr_sup.clock.there) {
        cr_panic("the scenario wants a timer, and this kernel leaves none to user level", ns);
    }
    cr_sup.clock.alarm = cr_clock_now() + ns;
    cr_clock_arm();
}

int cr_clock_alarm_pending(void)
{
    return cr_sup.clock.alarm != 0;
}

static void set_timer(uint64_t ns)
{
    cr_clock *clock = &cr_sup.clock;
    clock->until = clock->base + ns;
    clock->set = cr_timer_start(ns);
}

void cr_clock_arm(void)
{
    cr_clock *clock = &cr_sup.clock;
    const uint64_t due = cr_clock_earlier(clock->next, clock->alarm);
    if (due == 0) {
        return; /* If the timer is set, its interrupt will have no effect. */
    }
    if (clock->set != 0 && !clock->still && clock->until <= due) {
        return;
    }
    uint64_t at = cr_clock_now();
    uint64_t left = due > at ? due - at : 1;
    clock->base = at;
    clock->still = 0;
    set_timer(left < INTERVAL_NS ? left : INTERVAL_NS);
}

void cr_clock_stand(void)
{
    cr_clock *clock = &cr_sup.clock;
    if (clock->there && clock->set == 0) {
        clock->still = 1;
        set_timer(CR_TIMER_MAX_NS);
    }
}

uint64_t cr_clock_take_passed(void)
{
    uint64_t passed = cr_sup.clock.passed;
    cr_sup.clock.passed = 0;
    return passed;
}

/* Handles the interrupt itself. */
static int tick(int *alarm)
{
    cr_clock *clock = &cr_sup.clock;
    cr_timer_ack();
    *alarm = 0;
    if (clock->set == 0 || cr_timer_elapsed() < clock->set) {
        return 0; /* The interrupt of an earlier setting. */
    }
    const int still = clock->still;
    clock->passed += clock->set;
    clock->base += still ? 0 : clock->set;
    clock->set = 0;
    clock->still = 0;
    if (still) {
        return 0;
    }
    if (clock->alarm != 0 && clock->alarm <= clock->base) {
        clock->alarm = 0;
        *alarm = 1;
    }
    return 1;
}

int cr_clock_tick(int *alarm)
{
    cr_clock *clock = &cr_sup.clock;
    if (!clock->guarded) {
        return tick(alarm);
    }
    *alarm = clock->rang;
    clock->guarded = 0;
    clock->rang = 0;
    return 1;
}

void cr_clock_guard_tick(void)
{
    cr_clock *clock = &cr_sup.clock;
    int alarm;
    if (tick(&alarm)) {
        clock->guarded = 1;
        clock->rang |= alarm;
    }
    if (clock->set == 0) {
        /* What is due is looked at afterwards, so the next interrupt does not depend on it. */
        clock->still = clock->next == 0 && clock->alarm == 0;
        set_timer(INTERVAL_NS);
    }
}

void cr_clock_tell(void)
{
    cr_clock *clock = &cr_sup.clock;
    if (clock->base < clock->told + CR_TRACE_CLOCK_MS * (uint64_t)CR_NS_PER_MS) {
        return;
    }
    clock->told = clock->base;
    clock->tells++;
    cr_trace_begin(&cr_sys.trace, CR_EV_CLOCK);
    cr_trace_number(&cr_sys.trace, clock->base / CR_NS_PER_MS);
    cr_trace_end(&cr_sys.trace);
    clock->recorded = cr_sys.trace.recorded;
}

void cr_trace_held_up(const cr_pd *pd, uint64_t token, uint64_t ms, uint64_t ran)
{
    cr_sup.clock.tells++;
    cr_trace_begin(&cr_sys.trace, CR_EV_HELD_UP);
    cr_trace_pd(pd);
    cr_trace_number(&cr_sys.trace, token);
    cr_trace_number(&cr_sys.trace, ms);
    cr_trace_number(&cr_sys.trace, ran / CR_NS_PER_MS);
    cr_trace_end(&cr_sys.trace);
}

void cr_clock_next(uint64_t due)
{
    cr_sup.clock.next = due;
}

void cr_clock_watch(void)
{
    cr_clock *clock = &cr_sup.clock;
    if (clock->there && clock->look == 0) {
        clock->look = cr_clock_end_of_interval() + clock->interval;
        clock->next = cr_clock_earlier(clock->next, clock->look);
    }
}

void cr_clock_look_again(int again)
{
    cr_sup.clock.look = again ? cr_clock_now() + cr_sup.clock.interval : 0;
}
