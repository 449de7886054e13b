/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Watches the cleaner. See warden.h. The cleaner may be at any instruction while this code runs, so
 * it reads what the cleaner writes only after the cleaner is stopped or done. The exceptions are
 * the counts that show whether the cleaner goes on. */
#include "warden.h"
#include "arena.h"
#include "carry.h"
#include "clock.h"
#include "kernel/worker.h"

static const char *const death_names[] = {
#define CR_DEATH(enumerator, number, word, meaning) [enumerator] = word,
    CR_DEATHS
#undef CR_DEATH
};

/* Grows whenever the cleaner makes a kernel call or finishes a step. */
static uint64_t work_done(void)
{
    uint64_t sum = cr_journal_of(&cr_sup.cleaner.now)->done;
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        sum += i != CR_CALL_TIMER ? cr_calls[i] : 0;
    }
    return sum;
}

/* Waits until the cleaner is done or dead. Returns whether it is dead, and of what. */
static int wait_for_it(cr_death *death)
{
    uint64_t badge;
    uint64_t work = work_done();
    uint32_t ticks = 0;
    /* The timer's calls are no part of the step that is under way. */
    const uint64_t timer_calls = cr_calls[CR_CALL_TIMER];
    cr_clock_guard();
    cr_calls[CR_CALL_TIMER] = timer_calls;
    for (;;) {
        switch (cr_worker_wait(&badge)) {
        case CR_WORKER_DONE:
            *death = CR_DEATH_ERROR;
            return cr_sup.cleaner.ended == CR_CARRY_FAILED;
        case CR_WORKER_FAULT:
            *death = CR_DEATH_FAULT;
            return 1;
        case CR_WORKER_SIGNAL:
            break;
        }
        cr_sup.cleaner.signals |= badge;
        if ((badge & cr_badge(CR_BADGE_TIMER, 0, 0)) == 0) {
            continue;
        }
        cr_clock_guard_tick();
        cr_calls[CR_CALL_TIMER] = timer_calls;
        ticks = work_done() == work ? ticks + 1 : 0;
        work = work_done();
        if (ticks == CR_WARDEN_PATIENCE) {
            *death = CR_DEATH_HANG;
            return 1;
        }
    }
}

/* Begins the next epoch. */
static void take_over(cr_death death)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    cr_journal *journal = cr_journal_of(&cleaner->now);
    const uint32_t attempts = journal->attempts;
    const cr_step_kind kind = (cr_step_kind)journal->kind;
    const int leaves = attempts >= CR_STEP_ATTEMPTS;
    if (attempts == 0) {
        cr_panic("the cleaner died outside of a step",
                 death == CR_DEATH_FAULT ? cr_worker_ip() : (uint64_t)cleaner->error);
    }
    cr_before_calls(0);
    cr_status status = cr_journal_take_over(journal, ++cleaner->epoch);
    if (status != CR_OK) {
        cr_panic("the journal of a cleanup is damaged", (uint64_t)status);
    }
    if (leaves && (status = cr_step_leave(journal, cleaner->epoch)) != CR_OK) {
        cr_trace_flush(&cr_sys.trace);
        cr_panic("a step of a cleanup failed too often, and cannot be left",
                 ((uint64_t)kind << 32) | (uint64_t)status);
    }
    cr_carry_begin_line(leaves ? CR_EV_RESIDUE : CR_EV_TAKEOVER);
    cr_trace_number(&cr_sys.trace, cleaner->epoch);
    cr_trace_string(&cr_sys.trace, death_names[death]);
    cr_trace_string(&cr_sys.trace, cr_step_name(kind));
    cr_trace_string(&cr_sys.trace, cleaner->at.node);
    cr_trace_string(&cr_sys.trace, cleaner->at.pd);
    cr_trace_number(&cr_sys.trace, attempts);
    if (leaves) {
        cr_carry_trace_calls();
    }
    cr_trace_end(&cr_sys.trace);
}

cr_carry_end cr_warden_watch(void)
{
    /* The loop is bounded: no step is attempted more than CR_STEP_ATTEMPTS times. */
    for (;;) {
        cr_death death;
        cr_worker_start();
        const int dead = wait_for_it(&death);
        cr_worker_stop();
        if (!dead) {
            return cr_sup.cleaner.ended;
        }
        take_over(death);
    }
}

uint64_t cr_warden_take_signals(void)
{
    const uint64_t signals = cr_sup.cleaner.signals;
    cr_sup.cleaner.signals = 0;
    return signals;
}
