/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The clocks of receivers. See progress.h. A look reads each receiver's registers and changes
 * nothing of a PD. */
#include "progress.h"
#include "arena.h"
#include "calls.h"
#include "connect.h"
#include "faults.h"
#include "hung.h"
#include "kernel/turns.h"
#include "notices.h"
#include "probes.h"
#include "system/text.h"

void cr_progress_init(const cr_image_header *image, seL4_CPtr bound)
{
    uint8_t wanted[CR_PRIORITY_MAX + 1] = {0};
    uint64_t shortest = (uint64_t)image->await_ms * CR_NS_PER_MS;
    for (uint32_t i = 0; i < image->pds.count; i++) {
        const cr_image_pd *pd = &cr_image_pds(image)[i];
        const uint64_t deadline = (uint64_t)pd->deadline_ms * CR_NS_PER_MS;
        wanted[pd->priority] = 1;
        shortest = deadline != 0 && deadline < shortest ? deadline : shortest;
    }
    for (uint32_t i = 0; i < image->spawns.count; i++) {
        wanted[cr_image_pds(image)[cr_image_spawns(image)[i].pd].spawn_priority] = 1;
    }
    cr_sup.clock.interval = shortest < cr_sup.clock.interval ? shortest : cr_sup.clock.interval;
    const seL4_CPtr signal = cr_pool_cap();
    cr_must(cr_mint(cr_slot_at(signal), cr_slot_at(bound), seL4_CanWrite,
                    cr_badge(CR_BADGE_TURN, 0, 0)),
            "the signal of the turn threads cannot be minted");
    cr_turns_init(wanted, signal);
    cr_hung_init(image);
}

/* -- what a PD does */

/* The sample of a PD that is in no call. */
static cr_sample sample_outside_calls(const cr_pd *pd)
{
    if (pd->wait != CR_WAIT_NOTHING) {
        return CR_SAMPLE_WAITS;
    }
    return cr_sup.progress.answered[pd->priority] ? CR_SAMPLE_RAN : CR_SAMPLE_STARVED;
}

/* What the PD did in an interval. A call counts only if it was there at the last look too. A thread
 * can be interrupted at any instruction, so one look can be wrong. */
static cr_sample sample_interval(cr_pd *pd)
{
    uint32_t slot = 0;
    cr_run *run = &pd->run;
    const cr_pd *server = cr_called_by(pd, &slot);
    const int stays = server != 0 && run->slot == slot && run->server == server->number;
    run->slot = slot;
    run->server = server != 0 ? server->number : 0;
    return stays ? CR_SAMPLE_IN_CALL : sample_outside_calls(pd);
}

/* -- who is awaited */

/* Whether a cleanup, an extraction or a ticket awaits that the PD finishes this notice. */
static int awaits(const cr_pd *pd, const cr_work_notice *notice)
{
    return notice->tag != 0 &&
           ((notice->kind == CR_NOTICE_PRE_DESTROY && cr_cleaner_awaits(pd)) ||
            cr_extract_awaits(notice->tag, pd) || cr_ticket_awaits(notice->tag, pd));
}

/* The oldest notice that somebody awaits. Notices of one tag mostly follow each other, so the
 * answer for the last tag is kept. */
static int oldest_awaited(const cr_pd *pd, cr_work_notice *out)
{
    cr_work_cursor at = {0};
    cr_work_notice notice;
    uint32_t tag = 0; /* of the notice that `known` is about */
    cr_notice_kind kind = CR_NOTICE_EXTRACT;
    int known = 0;
    int any = 0;
    /* The loop is bounded: each turn is another notice. */
    while (cr_work_next(cr_sys.work, cr_receiver(pd), &at, &notice) == CR_OK) {
        if (notice.tag == 0 || (any && notice.token > out->token)) {
            continue;
        }
        if (notice.tag != tag || notice.kind != kind) {
            tag = notice.tag;
            kind = notice.kind;
            known = awaits(pd, &notice);
        }
        if (known) {
            *out = notice;
            any = 1;
        }
    }
    return any;
}

/* -- the clocks */

/* The oldest notice that the PD can finish and that is strict, or that is not. A probe of hung.h
 * has its own time. */
static int oldest_that(const cr_pd *pd, int strict, cr_work_notice *out)
{
    cr_work_cursor at = {0};
    cr_work_notice notice;
    int any = 0;
    while (cr_work_next(cr_sys.work, cr_receiver(pd), &at, &notice) == CR_OK) {
        if (cr_notice_is_strict(&notice) == strict && !cr_hung_is_probe(pd, &notice) &&
            (!any || notice.token < out->token)) {
            *out = notice;
            any = 1;
        }
    }
    return any;
}

static int oldest_strict(const cr_pd *pd, cr_work_notice *out)
{
    const uint32_t me = cr_receiver(pd);
    return (cr_work_pending_of(cr_sys.work, me, CR_NOTICE_PROBE) > 0 ||
            cr_work_pending_of(cr_sys.work, me, CR_NOTICE_FAULT) > 0) &&
           oldest_that(pd, 1, out);
}

/* Whether the PD's clock has to run. It need not if the PD has nothing but a probe of hung.h. */
static int is_watched(const cr_pd *pd)
{
    cr_work_notice notice;
    return cr_pd_is_served(pd) &&
           ((pd->deadline_ms != 0 ? cr_notices_has_general(pd) : oldest_awaited(pd, &notice)) ||
            oldest_strict(pd, &notice));
}

int cr_progress_is_pending(const cr_pd *pd)
{
    cr_work_notice notice;
    uint32_t slot;
    return cr_clock_exists() && is_watched(pd) &&
           (oldest_awaited(pd, &notice) || oldest_strict(pd, &notice) ||
            cr_called_by(pd, &slot) == 0 || cr_probes_decide(pd));
}

static void advance(cr_pd *pd, uint64_t elapsed)
{
    cr_work_notice notice;
    cr_run *run = &pd->run;
    const cr_sample sample = sample_interval(pd);
    /* A PD that waits for the root task again and again chooses to. Only its first wait since it
     * last finished a notice is not counted. */
    const int counts = sample == CR_SAMPLE_RAN || (sample == CR_SAMPLE_WAITS && run->waits > 1);
    if (sample == CR_SAMPLE_WAITS) {
        run->waited += elapsed;
    }
    if (counts && run->chance) {
        const uint64_t could = cr_could_run_for(pd, elapsed);
        run->ran += could;
        run->mark += cr_notices_has_general(pd) ? 0 : could;
    }
    run->chance |= counts;
    if (!oldest_awaited(pd, &notice)) {
        run->held_up = 0;
    } else if (counts || sample == CR_SAMPLE_IN_CALL) {
        run->held_up += elapsed;
    }
    cr_probes_tick(pd, sample, elapsed);
}

/* A PD that waits for a space depends on the PD that has to act next. Returns whether it does. */
static int advance_wait(cr_pd *pd, uint64_t elapsed)
{
    const cr_pd *maker = cr_connect_last(pd);
    if (maker == 0) {
        return 0;
    }
    if (maker->wait != CR_WAIT_NOTHING || cr_sup.progress.answered[maker->priority]) {
        pd->maker_ran += elapsed;
    }
    cr_turns_ask(maker->priority);
    return 1;
}

int cr_progress_look(void)
{
    int any = 0;
    const uint64_t now = cr_clock_now();
    if (cr_sup.clock.look == 0 || cr_sup.clock.look > now) {
        return 0;
    }
    /* If more time has passed, the root task was busy, and no PD could run in that time. */
    const uint64_t elapsed = cr_sup.clock.interval;
    const uint64_t passed = now - cr_sup.clock.look + elapsed;
    for (uint32_t i = 0; i <= CR_PRIORITY_MAX; i++) {
        cr_sup.progress.answered[i] = (uint8_t)cr_turns_answered(i);
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (is_watched(pd)) {
            advance(pd, elapsed);
            cr_turns_ask(pd->priority);
            any = 1;
        }
        any |= advance_wait(pd, elapsed);
    }
    cr_probes_send();
    any |= cr_hung_look(elapsed, passed, any);
    cr_clock_look_again(any);
    return 1;
}

void cr_progress_made(cr_pd *pd, const cr_work_notice *notice)
{
    if (awaits(pd, notice)) {
        pd->run.held_up = 0;
    }
    if (notice->kind == CR_NOTICE_PROBE && !cr_hung_is_probe(pd, notice)) {
        cr_probes_answered(pd);
    }
    cr_hung_heard(pd, notice);
    if (!notice->again && !cr_notice_is_strict(notice)) {
        cr_notices_restart(pd);
    }
}

int cr_progress_is_late(const cr_pd *pd, cr_work_notice *notice, uint64_t *ms)
{
    if (!cr_pd_is_served(pd) || pd->deadline_ms == 0) {
        return 0;
    }
    if (oldest_strict(pd, notice)) {
        *ms = (pd->run.ran - notice->since + cr_probes_circle_time(pd, notice)) / CR_NS_PER_MS;
        if (*ms >= pd->deadline_ms) {
            return 1;
        }
    }
    *ms = (pd->run.ran - pd->run.mark) / CR_NS_PER_MS;
    return *ms >= pd->deadline_ms && oldest_that(pd, 0, notice);
}

void cr_progress_tell_held_up(cr_pd *pd)
{
    cr_work_notice notice;
    const uint64_t now = cr_sup.clock.base;
    const uint64_t ms = now > pd->run.untold ? (now - pd->run.untold) / CR_NS_PER_MS : 0;
    if (pd->deadline_ms == 0 || ms < pd->deadline_ms + CR_TRACE_GRACE_MS || !cr_pd_is_served(pd) ||
        !oldest_that(pd, 0, &notice)) {
        return;
    }
    pd->run.untold = now;
    cr_trace_held_up(pd, 0, ms, pd->run.ran - pd->run.mark);
}

/* Takes over a fault that can never be answered, because the fault handler waits for the PD. The
 * handler is not to blame: the PD faulted while it was called, or before. One look can be wrong, so
 * two are needed. One fault at a time: the handler of another one may be free afterwards. */
static void take_stuck_fault(void)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        pd->run.stuck = cr_keeps_its_handler(pd) ? pd->run.stuck + 1 : 0;
        if (pd->run.stuck == 2) {
            cr_fault_take_over(pd);
            return;
        }
    }
}

void cr_progress_take_faults(void)
{
    take_stuck_fault();
    const uint64_t await_ns = (uint64_t)cr_sys.image->await_ms * CR_NS_PER_MS;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        cr_work_notice notice;
        /* The oldest notice is about the fault that was held first. */
        if (cr_pd_is_served(pd) && pd->deadline_ms == 0 && oldest_strict(pd, &notice) &&
            notice.kind == CR_NOTICE_FAULT && pd->run.ran - notice.since >= await_ns) {
            cr_fault_take_over(cr_notice_held_fault(&notice));
        }
    }
}

uint64_t cr_progress_limit(const cr_pd *pd)
{
    const uint64_t ms = pd->deadline_ms != 0 ? pd->deadline_ms : cr_sys.image->await_ms;
    return ms * CR_NS_PER_MS;
}

/* -- giving up */

/* The notices up to `token` are awaited by nobody any more. */
static void give_up(cr_pd *pd, const cr_work_notice *oldest, uint64_t token)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_GIVE_UP);
    cr_trace_pd(pd);
    cr_trace_number(&cr_sys.trace, token);
    cr_trace_number(&cr_sys.trace, (pd->run.ran - oldest->since) / CR_NS_PER_MS);
    cr_trace_number(&cr_sys.trace, pd->run.held_up / CR_NS_PER_MS);
    cr_trace_end(&cr_sys.trace);
    cr_cleaner_give_up(pd);
    cr_ticket_give_up(pd, token);
    cr_extract_withdraw(pd);
    cr_notices_changed();
    pd->run.held_up = 0;
}

/* The last notice of the PD that it has had for await_ms. */
static uint64_t last_overdue(const cr_pd *pd, uint64_t since)
{
    cr_work_cursor at = {0};
    cr_work_notice notice;
    uint64_t token = 0;
    while (cr_work_next(cr_sys.work, cr_receiver(pd), &at, &notice) == CR_OK) {
        token = notice.since <= since && notice.token > token ? notice.token : token;
    }
    return token;
}

void cr_progress_give_up(void)
{
    const uint64_t await_ns = (uint64_t)cr_sys.image->await_ms * CR_NS_PER_MS;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        cr_work_notice oldest;
        const uint64_t limit = cr_progress_limit(pd);
        if (!cr_pd_is_served(pd) || !oldest_awaited(pd, &oldest)) {
            continue;
        }
        if (pd->run.held_up >= 2 * (limit > await_ns ? limit : await_ns)) {
            give_up(pd, &oldest, pd->last_token);
        } else if (pd->deadline_ms == 0 && pd->run.ran - oldest.since >= await_ns) {
            give_up(pd, &oldest, last_overdue(pd, pd->run.ran - await_ns));
        }
    }
}

int cr_progress_give_up_all(void)
{
    int any = 0;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        cr_work_notice oldest;
        if (cr_pd_is_served(pd) && oldest_awaited(pd, &oldest)) {
            give_up(pd, &oldest, pd->last_token);
            any = 1;
        }
    }
    return any;
}
