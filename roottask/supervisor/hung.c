/* SPDX-License-Identifier: BSD-2-Clause
 *
 * PDs that have hung. See hung.h. A look reads registers and changes nothing of a PD. */
#include "hung.h"
#include "arena.h"
#include "calls.h"
#include "kernel/turns.h"
#include "kernel/writer.h"
#include "notices.h"
#include "probes.h"
#include "system/text.h"

static uint64_t ns(uint32_t ms)
{
    return (uint64_t)ms * CR_NS_PER_MS;
}

void cr_hung_init(const cr_image_header *image)
{
    for (uint32_t i = 0; i < image->pds.count; i++) {
        const cr_image_pd *pd = &cr_image_pds(image)[i];
        cr_sup.hung.any |= pd->heartbeat_ms != 0 || pd->call_ms != 0 ||
                           (pd->flags & (CR_IMAGE_PASSIVE | CR_IMAGE_OVERRUN_WAITS)) != 0;
        cr_sup.hung.out_of_time.any |=
            (pd->flags & CR_IMAGE_OVERRUN_WAITS) != 0 && cr_clock_exists();
    }
    if (cr_sup.hung.any) {
        cr_clock_watch(); /* for as long as the system runs */
    }
}

static cr_pd *waits_for(const cr_pd *pd)
{
    const uint32_t on = cr_sup.hung.on[cr_receiver(pd)];
    return on != 0 ? &cr_sys.pds[on] : 0;
}

static void look_at_calls(void)
{
    cr_hung *hung = &cr_sup.hung;
    for (uint32_t i = 0; i < cr_most.pds; i++) {
        hung->called[i] = 0;
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        const cr_pd *on = cr_pd_is_up(pd) ? cr_waited_for_by(pd) : 0;
        hung->on[i] = on != 0 ? cr_receiver(on) : 0;
        hung->called[hung->on[i]] = 1;
    }
}

/* Whether it could run in the interval, or chose not to. In a call it could not, nor while its
 * equals have their turn (share.h). */
static int could_run(const cr_pd *pd)
{
    return pd->wait == CR_WAIT_NOTHING && !pd->rests && cr_sup.progress.answered[pd->priority];
}

static int is_seen_to_wait(const cr_pd *pd)
{
    const uint32_t slot = cr_receives_from(pd);
    return slot == cr_input_of(pd) || (slot != 0 && !cr_sup.hung.called[cr_receiver(pd)]);
}

static cr_pd *end_of_calls(const cr_pd *pd)
{
    return cr_end_of_waits(pd, waits_for);
}

static cr_pd *next_at_end(const cr_pd *pd, const cr_pd *first)
{
    return cr_next_at_end(pd, first, waits_for);
}

/* Only its parent can stop a PD for Microkit without a word, and no kernel tells who is stopped. */
static int has_parent(const cr_pd *pd)
{
    return pd->config != CR_IMAGE_NONE && cr_parent_of(pd->config) != 0;
}

/* As a stopped PD. One with a budget may use none for long, and a passive one has none. */
static int uses_no_time(const cr_pd *pd)
{
    return has_parent(pd) && !pd->passive && !cr_time_ends(pd->time) &&
           cr_time_used(cr_body_cap(&pd->body, CR_BODY_SC)) == 0;
}

static int is_stopped(const cr_limits *at)
{
    return at->idle >= ns(at->heartbeat_ms) / 4;
}

/* -- the clocks */

/* The clocks of what the PD itself says. */
static void tick(cr_pd *pd, uint64_t elapsed, uint64_t passed)
{
    cr_limits *at = &pd->limits;
    const int calls = waits_for(pd) != 0;
    if (at->heartbeat_ms == 0 && at->token == 0) {
        return;
    }
    cr_turns_ask(pd->priority);
    at->age += passed;
    at->idle = uses_no_time(pd) ? at->idle + elapsed : 0;
    if (!calls && is_seen_to_wait(pd)) {
        at->waited = 1;
        at->silent = 0;
        at->idle = 0;
        at->unanswered = 0;
    } else if (could_run(pd) && (!calls || cr_last_in_circle(pd, waits_for) != 0)) {
        const uint64_t could = cr_could_run_for(pd, elapsed);
        at->silent = is_stopped(at) ? 0 : at->silent + (calls ? 0 : could);
        at->unanswered += could;
    }
}

static void tick_call(cr_pd *pd, uint64_t elapsed)
{
    cr_limits *at = &pd->limits;
    const uint64_t sum = at->sum;
    const uint32_t before = at->end;
    at->sum = waits_for(pd) != 0 && pd->life == CR_LIFE_RUNS ? cr_sum_of_pd(pd) : 0;
    if (at->sum == 0) {
        at->end = 0;
        return;
    }
    cr_pd *end = end_of_calls(pd);
    at->end = end->number;
    cr_turns_ask(pd->priority);
    int could = 1;
    for (cr_pd *each = end; each != 0; each = next_at_end(each, end)) {
        could = could && could_run(each);
        cr_turns_ask(each->priority);
    }
    if (at->sum != sum || at->end != before) {
        at->call = 0;
        at->received = 0;
        at->elsewhere = 0;
        return;
    }
    if (!could) {
        return;
    }
    const uint32_t slot = waits_for(end) != 0 ? 0 : cr_receives_from(end);
    if (slot != 0 && has_parent(pd)) {
        at->call = 0; /* It may have been stopped in a call, which then is over. */
        return;
    }
    at->call += elapsed; /* Its caller may have no time, because it computes for ever. */
    if (could_run(pd)) { /* Else it may not have called yet, and who receives owes it nothing. */
        at->received = slot != 0 ? at->received + elapsed : 0;
        at->elsewhere = slot != 0 && slot != cr_input_of(end) ? at->elsewhere + elapsed : 0;
    }
}

/* -- passive PDs without time */

/* The sum of the registers of a passive PD that neither waits nor calls, as they show. Else 0. */
static uint64_t still_at(const cr_pd *pd)
{
    return pd->passive && pd->life == CR_LIFE_RUNS && pd->wait == CR_WAIT_NOTHING && !pd->rests &&
                   waits_for(pd) == 0 && cr_receives_from(pd) == 0
               ? cr_sum_of_pd(pd)
               : 0;
}

/* A message that is sent, and not called, starts a passive PD without time. No rights of its sender
 * forbid that. Such a PD stays where it is. So may one that had no processor for a while: only the
 * kernel knows whether it has time, and gives none to one that has. */
static void look_for_time(cr_pd *pd)
{
    const uint64_t sum = still_at(pd);
    const int stays = sum != 0 && sum == pd->still && sum != pd->has_time;
    pd->still = sum;
    if (!stays) {
        return;
    }
    pd->has_time = sum;
    cr_writer_wait(1); /* A debug kernel prints that it refused, and not into a line. */
    if (cr_give_time_back(cr_body_cap(&pd->body, CR_BODY_SC), cr_body_cap(&pd->body, CR_BODY_TCB),
                          pd->time, pd->number)) {
        cr_clock_tell();
        cr_trace_thread(CR_CHANGE_STRANDED, pd, 0);
    }
}

/* The kernel merges parts of a budget, which then come later than a period after their use. */
enum { PERIODS = 5 };

/* How long a PD whose use was seen now may have to wait. Whoever used more than its share of the
 * time since the last look, because the kernel's timer was late, waits for all of that. */
static uint64_t waits_at_most(cr_time time, uint64_t used_us, uint64_t since)
{
    const uint64_t period = 1000ull * time.period_us;
    const uint64_t share = used_us / time.budget_us * period;
    return PERIODS * period + (share > since ? share - since : 0);
}

int cr_hung_awaits_time(void)
{
    cr_out_of_time *at = &cr_sup.hung.out_of_time;
    const uint64_t looked = at->looked;
    at->looked = cr_clock_now();
    for (uint32_t i = 1; at->any && i < cr_most.pds; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        const int ends = cr_pd_exists(pd) && cr_time_ends(pd->time);
        const uint64_t used = ends ? cr_time_used(cr_body_cap(&pd->body, CR_BODY_SC)) : 0;
        if (used != 0) {
            const uint64_t over = at->looked + waits_at_most(pd->time, used, at->looked - looked);
            at->over = over > at->over ? over : at->over;
        }
    }
    /* No PD could run at some time after the last look. If these were over then, none will. */
    return at->any && looked < at->over;
}

/* -- probes */

int cr_hung_is_probe(const cr_pd *pd, const cr_work_notice *notice)
{
    return pd->limits.token != 0 && notice->token == pd->limits.token;
}

int cr_hung_is_asked(const cr_pd *pd)
{
    return pd->limits.token != 0 && !pd->limits.waited;
}

static void probe(cr_pd *pd, const cr_pd *by, uint32_t ms)
{
    cr_limits *at = &pd->limits;
    if (at->token == 0 && cr_pd_is_served(pd)) {
        cr_clock_tell();
        cr_probe(pd, by, ms);
        at->token = pd->last_token;
        at->probe_ms = ms;
        at->waited = 0;
        at->unanswered = 0;
        at->age = 0;
    }
}

static void send_probes(cr_pd *pd)
{
    const cr_limits *at = &pd->limits;
    if (at->heartbeat_ms != 0 && at->silent >= ns(at->heartbeat_ms) / 2) {
        probe(pd, 0, at->heartbeat_ms);
    }
    if (at->call_ms == 0 || at->end == 0 || at->call < ns(at->call_ms)) {
        return;
    }
    cr_pd *end = end_of_calls(pd);
    for (cr_pd *each = end; each != 0; each = next_at_end(each, end)) {
        probe(each, pd, at->call_ms);
    }
}

int cr_hung_is_quiet(void)
{
    return cr_sup.hung.rests && cr_sys.trace.recorded == cr_sup.clock.recorded;
}

int cr_hung_look(uint64_t elapsed, uint64_t passed, int others)
{
    if (!cr_sup.hung.any) {
        return 0;
    }
    cr_sup.hung.rests = !others;
    look_at_calls();
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_is_served(pd)) {
            tick(pd, elapsed, passed);
            tick_call(pd, elapsed);
            look_for_time(pd);
        }
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        if (cr_pd_is_served(&cr_sys.pds[i])) {
            send_probes(&cr_sys.pds[i]);
            cr_sup.hung.rests &= cr_sys.pds[i].limits.token == 0;
        }
    }
    return 1;
}

void cr_hung_heard(cr_pd *pd, const cr_work_notice *notice)
{
    cr_limits *at = &pd->limits;
    const int answered = cr_hung_is_probe(pd, notice);
    if (!notice->again) {
        at->silent = 0;
        at->unanswered = 0;
    }
    if (!answered) {
        return;
    }
    at->token = 0;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_limits *caller = &cr_sys.pds[i].limits;
        caller->call = caller->end == pd->number ? 0 : caller->call;
    }
}

/* -- who has hung */

static cr_hanging by_silence(const cr_pd *pd)
{
    const cr_limits *at = &pd->limits;
    const int has = at->heartbeat_ms != 0 && at->token != 0 && at->silent >= ns(at->heartbeat_ms) &&
                    at->unanswered >= ns(at->heartbeat_ms);
    return (cr_hanging){has ? CR_HUNG_BY_ITSELF : 0, at->token, at->unanswered};
}

/* By the call of a PD, whose calls lead to this one. */
static cr_hanging by_call(const cr_pd *pd, const cr_pd *by)
{
    const cr_limits *at = &pd->limits;
    const cr_limits *its = &by->limits;
    const uint64_t limit = ns(its->call_ms);
    if (limit != 0 && its->received >= 2 * limit) {
        return (cr_hanging){cr_receiver(by), 0, its->received};
    }
    if (limit != 0 && its->call >= 2 * limit && at->token != 0 && at->unanswered >= limit) {
        return (cr_hanging){cr_receiver(by), at->token, at->unanswered};
    }
    const int has = at->heartbeat_ms != 0 && its->elsewhere >= 2 * ns(at->heartbeat_ms);
    return (cr_hanging){has ? CR_HUNG_BY_ITSELF : 0, 0, its->elsewhere};
}

static void trigger(cr_pd *pd)
{
    const cr_hanging *how = &cr_sup.hung.found[cr_receiver(pd)];
    cr_clock_tell();
    cr_trace_trigger(&(cr_triggered){.cause = CR_CAUSE_HUNG,
                                     .pd = pd,
                                     .by = how->by != CR_HUNG_BY_ITSELF ? &cr_sys.pds[how->by] : 0,
                                     .token = how->token,
                                     .ms = how->ns / CR_NS_PER_MS});
    cr_trigger(pd, CR_CAUSE_HUNG);
}

static void tell_unanswered(cr_pd *pd)
{
    cr_limits *at = &pd->limits;
    const uint64_t ms = at->age / CR_NS_PER_MS;
    if (at->token == 0 || ms < at->probe_ms + (uint64_t)CR_TRACE_GRACE_MS) {
        return;
    }
    at->age = 0;
    cr_trace_held_up(pd, at->token, ms, at->unanswered);
}

/* A PD that has hung may itself be the caller of another one. So all are found before one of them
 * is stopped, and who kept its own call goes last. */
static void find_all(void)
{
    cr_hanging *const found = cr_sup.hung.found;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        found[i] = cr_pd_is_served(pd) ? by_silence(pd) : (cr_hanging){0};
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        cr_pd *end = cr_pd_is_served(pd) && pd->limits.end != 0 ? end_of_calls(pd) : 0;
        for (cr_pd *each = end; each != 0; each = next_at_end(each, end)) {
            cr_hanging *how = &found[cr_receiver(each)];
            *how = how->by == 0 && cr_pd_is_served(each) ? by_call(each, pd) : *how;
        }
    }
}

void cr_hung_find(void)
{
    if (!cr_sup.hung.any) {
        return;
    }
    find_all();
    for (uint32_t n = 1; n < 2 * cr_most.pds; n++) {
        const uint32_t i = n % cr_most.pds;
        const uint32_t by = cr_sup.hung.found[i].by;
        if (by != 0 && cr_pd_is_served(&cr_sys.pds[i]) && (by == i) == (n >= cr_most.pds)) {
            trigger(&cr_sys.pds[i]);
        }
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        if (cr_pd_is_served(&cr_sys.pds[i])) {
            tell_unanswered(&cr_sys.pds[i]);
        }
    }
}

/* Whether a call that leads to `end` will be decided: not if that one waits for the root task, or
 * for messages and the caller may be stopped. */
static int is_decided(const cr_pd *pd, const cr_pd *end)
{
    return end->wait == CR_WAIT_NOTHING && (!has_parent(pd) || cr_receives_from(end) == 0);
}

/* Whether something will be decided about the PD or its call. */
static int is_pending(const cr_pd *pd)
{
    const cr_limits *at = &pd->limits;
    if (!cr_pd_is_served(pd) || pd->wait != CR_WAIT_NOTHING) {
        return 0;
    }
    const uint64_t still = still_at(pd);
    if (still != 0 && still != pd->has_time) {
        return 1;
    }
    return waits_for(pd) == 0 ? at->heartbeat_ms != 0 && !is_seen_to_wait(pd) && !is_stopped(at)
                              : at->call_ms != 0 && is_decided(pd, end_of_calls(pd));
}

int cr_hung_is_pending(void)
{
    int any = 0;
    if (!cr_sup.hung.any) {
        return 0;
    }
    look_at_calls();
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        any |= is_pending(&cr_sys.pds[i]);
    }
    return any;
}
