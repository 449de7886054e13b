/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Watches the cleaner. See cleaner_watch.h. The cleaner may be at any instruction while this code
 * runs, so it reads what the cleaner writes only after the cleaner is stopped or done. The
 * exceptions are the counts that show whether the cleaner goes on. */
#include "cleaner_watch.h"
#include "arena.h"
#include "execution.h"
#include "clock.h"
#include "kernel/worker.h"
#include "share.h"
#include "system/inject.h"

static const char *const death_names[] = {
#define CR_DEATH(enumerator, number, word, meaning) [enumerator] = word,
    CR_DEATHS
#undef CR_DEATH
};

/* Grows whenever the cleaner makes a kernel call, writes to the console or finishes a step. If the
 * memory for lines of the trace is full, it writes them first. That may take long. */
static uint64_t work_done(void)
{
    return cr_sup.cleaner.now.journal.done + cr_console_written + cr_calls_sum();
}

/* PDs above the cleaner do not keep it from running: if it did nothing since the last interrupt of
 * the timer, it is above all PDs until the next one. Without a timer it always is, and while no
 * cleanup is carried out. */
static void let_run(int goes_on)
{
    if (!cr_worker_is_apart()) {
        cr_worker_priority(goes_on && cr_clock_exists() ? cr_sys.image->cleaner_priority
                                                        : (uint32_t)CR_WORKER_PRIORITY);
    }
}

/* The timer's calls are no part of the step that is under way. */
static void call_aside(void (*call)(void))
{
    cr_calls_kept calls;
    cr_calls_aside(&calls);
    call();
    cr_calls_back(&calls, 0);
}

/* An interrupt of the timer. Returns whether the cleaner hangs. */
static int is_stuck(uint64_t *work, uint32_t *ticks)
{
    call_aside(cr_clock_guard_tick);
    *ticks = work_done() == *work ? *ticks + 1 : 0;
    *work = work_done();
    let_run(*ticks == 0);
    return *ticks == CR_CLEANER_PATIENCE;
}

/* Waits until the cleaner is done or dead. Returns whether it is dead, and of what. */
static int wait_for_it(cr_death *death)
{
    uint64_t work = UINT64_MAX; /* The first interrupt may be one from before. */
    uint32_t ticks = 0;
    call_aside(cr_clock_stand);
    let_run(1);
    for (;;) {
        const cr_worker_arrival arrival = cr_worker_wait();
        switch (arrival.event) {
        case CR_WORKER_DONE:
            *death = CR_DEATH_ERROR;
            return cr_sup.cleaner.ended == CR_EXECUTION_FAILED;
        case CR_WORKER_FAULT:
            *death = CR_DEATH_FAULT;
            return 1;
        case CR_WORKER_MESSAGE:
            cr_interleaved_take(arrival.tag, arrival.badge);
            continue;
        case CR_WORKER_SIGNAL:
            break;
        }
        cr_sup.cleaner.signals |= arrival.badge;
        if (cr_badge_has(arrival.badge, CR_BADGE_TIMER) && is_stuck(&work, &ticks)) {
            *death = CR_DEATH_HANG;
            return 1;
        }
    }
}

static void must(cr_status status)
{
    cr_must(status, "the journal of a cleanup is damaged");
}

/* Begins the next epoch. */
static void take_over(cr_death death)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    cr_journal *journal = &cleaner->now.journal;
    const uint32_t attempts = journal->attempts;
    const uint32_t number = journal->done + 1;
    if (attempts == 0) {
        cr_panic("the cleaner died outside of a step",
                 death == CR_DEATH_FAULT ? cr_worker_ip() : (uint64_t)cleaner->error);
    }
    cr_before_calls(0);
    must(cr_journal_take_over(journal, ++cleaner->epoch));
    cr_step step;
    must(cr_step_next(journal, &cleaner->now.plan, cr_sys.model, &step));
    const int last = attempts >= CR_STEP_ATTEMPTS;
    const int completes = last && cr_execution_is_complete(&step);
    const int leaves = last && !completes;
    if (leaves && cr_sys.injections != 0) {
        cr_sys.injections->leave(&step);
    }
    if (leaves) {
        must(cr_step_leave(journal, cleaner->epoch));
    }
    cr_report_death(&step, number, attempts, leaves);
    cr_execution_begin_line(CR_EV_TAKEOVER);
    cr_trace_name(&cr_sys.trace, death_names[death]);
    cr_trace_name(&cr_sys.trace, cr_step_name(step.kind));
    cr_trace_id(cleaner->at.node);
    cr_trace_id(cleaner->at.pd);
    cr_trace_number(&cr_sys.trace, number);
    cr_trace_number(&cr_sys.trace, attempts);
    cr_trace_number(&cr_sys.trace, (uint64_t)leaves);
    if (leaves) {
        cr_execution_trace_calls();
    } else {
        cr_trace_name(&cr_sys.trace, "-");
    }
    cr_trace_end(&cr_sys.trace);
    if (completes) {
        must(cr_execution_finish(&step));
    }
}

cr_execution_end cr_watch_cleaner(void)
{
    cr_interleaved_begin();
    if (!cr_worker_is_apart()) {
        cr_share_interrupt();
    }
    /* The loop is bounded: no step is attempted more than CR_STEP_ATTEMPTS times, and at least one
     * is done before each pause. */
    for (;;) {
        cr_death death;
        cr_worker_start();
        const int dead = wait_for_it(&death);
        cr_worker_stop();
        if (dead) {
            take_over(death);
        } else if (cr_sup.cleaner.ended != CR_EXECUTION_PAUSES) {
            let_run(0);
            return cr_sup.cleaner.ended;
        } else {
            cr_interleaved_serve();
        }
    }
}

uint64_t cr_cleaner_watch_take_signals(void)
{
    const uint64_t signals = cr_sup.cleaner.signals;
    cr_sup.cleaner.signals = 0;
    return signals;
}
