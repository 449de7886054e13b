/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The director drives the scenario that the configuration describes. It decides which PD crashes
 * and when, keeps the rounds of clients in step, and detects when nothing is left to happen. It
 * uses the same functions as the operations of PDs. It must take no part in cleanups, because the
 * cleanups must be the same without a scenario.
 *
 * Rounds: at the end of each round a client asks whether to continue. It is answered only when no
 * other PD can run. The effects of one round have therefore ended before the next round begins, and
 * runs repeat exactly. */
#include "scenario.h"
#include "system/text.h"

/* RECOVERS: later runs that it orders after each cleanup. */
enum { ROUNDS_AFTER_CLEANUP = 2, ROUNDS_WITHOUT_PROGRESS = 1000, RECOVERS = 2 };

static struct {
    uint32_t crash;       /* index of the current entry of the image's table */
    uint32_t fired;       /* how often the current crash has happened */
    uint32_t count;       /* checkpoints that its PD passed while armed */
    int armed;            /* no crash was ordered yet, or since the last one no PD could run */
    uint32_t cleanups;    /* that there were when a later run was ordered last */
    uint32_t recovers;    /* later runs that were ordered since */
    uint32_t followed_up; /* number of the last cleanup that was followed up */
    uint32_t rounds;      /* since the last cleanup, or since the start */
    uint32_t staged;      /* the number of the last PD for Microkit that is to be killed */
    uint32_t alarm_pd;    /* the configured PD that the alarm is for */
    uint32_t alarm_how;
    int extracted;
    /* by index of a PD: the number of the last PD there that came to the end of a round, and of the
     * last one that was dismissed */
    uint32_t *in_rounds;
    uint32_t *dismissed;
} director = {.armed = 1};

void cr_director_begin(void)
{
    CR_TABLE_MAKE(director.in_rounds, cr_most.pds);
    CR_TABLE_MAKE(director.dismissed, cr_most.pds);
}

static int crashes_left(void)
{
    return director.crash < cr_sys.image->crashes.count;
}

static const cr_image_crash *current(void)
{
    return &cr_image_crashes(cr_sys.image)[director.crash];
}

/* A number that looks random but is always the same for a seed (splitmix64). */
static uint64_t mixed(uint64_t seed)
{
    uint64_t z = seed + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The resolution of the timer can be many instructions. The part of the random time below it is
 * spent in this loop, after the timer was set. The loop delays all PDs by the same time. */
static void set_alarm(const cr_image_crash *crash)
{
    director.alarm_pd = crash->pd;
    director.alarm_how = crash->how;
    const uint64_t random = mixed(((uint64_t)crash->seed << 32) | director.fired);
    cr_clock_alarm(crash->after_ns + (crash->spread_ns != 0 ? random % crash->spread_ns : 0) + 1);
    for (volatile uint32_t turn = (uint32_t)(random >> 32) % 1024; turn > 0; turn--) {
    }
}

static const char *const crash_words[] = {
#define CR_CRASH_WAY(enumerator, number, word, what) [enumerator] = word,
    CR_CRASH_WAYS
#undef CR_CRASH_WAY
};
#define CR_CRASH_WAY(enumerator, number, word, what)                                               \
    _Static_assert((int)(enumerator) == (number), "as image.h numbers it");
CR_CRASH_WAYS
#undef CR_CRASH_WAY
_Static_assert(sizeof(crash_words) / sizeof(crash_words[0]) == CR_CRASH_COUNT,
               "one word for each way");

static void trace_stage(const cr_image_crash *crash, const cr_pd *by)
{
    const cr_pd *pd = crash->how == CR_CRASH_TERMINATE ? cr_find_configured(crash->pd) : by;
    cr_trace_begin(&cr_sys.trace, CR_EV_STAGE);
    cr_trace_number(&cr_sys.trace, director.crash + 1);
    cr_trace_string(&cr_sys.trace, crash_words[crash->how]);
    cr_trace_pd(pd);
    cr_trace_pd(by);
    cr_trace_end(&cr_sys.trace);
}

/* Counts the checkpoint that the PD passes. Returns whether the current crash is due at it. */
static int passes(const cr_pd *pd)
{
    if (!crashes_left() || !director.armed || pd->config == CR_IMAGE_NONE) {
        return 0;
    }
    const cr_image_crash *crash = current();
    if (pd->config != (crash->how == CR_CRASH_TERMINATE ? crash->by : crash->pd)) {
        return 0;
    }
    director.count++;
    return director.count >= crash->checkpoint;
}

static void staged(const cr_image_crash *crash, const cr_pd *by)
{
    trace_stage(crash, by);
    director.armed = 0;
    director.count = 0;
    director.rounds = 0;
    director.fired++;
    if (director.fired == crash->repeat) {
        director.crash++;
        director.fired = 0;
    }
}

/* The order for a PD at a checkpoint. */
static uint64_t order_for(cr_pd *pd, uint32_t *slot)
{
    if (!passes(pd)) {
        return CR_ORDER_CONTINUE;
    }
    const cr_image_crash *crash = current();
    uint64_t order = CR_ORDER_CRASH + (uint64_t)crash->how;
    if (crash->how == CR_CRASH_TERMINATE) {
        const cr_pd *victim = cr_find_configured(crash->pd);
        cr_ref body;
        if (victim == 0 || !cr_body_resource(victim, &body)) {
            return CR_ORDER_CONTINUE;
        }
        const uint32_t edge = cr_model_find(cr_sys.model, CR_EDGE_HOLD, pd->node, body);
        if (edge == CR_NONE) {
            return CR_ORDER_CONTINUE;
        }
        *slot = cr_sys.edge_entry[edge];
        order = CR_ORDER_TERMINATE;
    } else if (crash->how == CR_CRASH_KILL || crash->how == CR_CRASH_FREEZE) {
        set_alarm(crash);
        order = CR_ORDER_CONTINUE;
    }
    staged(crash, pd);
    return order;
}

cr_hook_answer cr_director_checkpoint(cr_pd *pd, int round_boundary, uint64_t *order,
                                      uint32_t *slot)
{
    if (round_boundary) {
        uint32_t *known = &director.in_rounds[pd - cr_sys.pds];
        if (*known != pd->number) {
            *known = pd->number;
            cr_trace_thread(CR_CHANGE_IN_ROUNDS, pd, 0);
        }
        return CR_HOOK_KEEP;
    }
    *order = order_for(pd, slot);
    return CR_HOOK_ANSWER;
}

/* A PD for Microkit passes no checkpoints. It is killed some time after it was made, each instance
 * once. */
static void stage_for_microkit(void)
{
    const cr_pd *pd =
        cr_sys.any_of_microkit && crashes_left() ? cr_find_configured(current()->pd) : 0;
    if (pd != 0 && cr_pd_is_of_microkit(pd) && pd->life == CR_LIFE_RUNS && !cr_is_doomed(pd) &&
        pd->number != director.staged && !cr_clock_alarm_pending()) {
        director.staged = pd->number;
        set_alarm(current());
        staged(current(), pd);
    }
}

void cr_director_handled(void)
{
    stage_for_microkit();
    if (director.followed_up != cr_sys.settled && !cr_cleaner_waits()) {
        director.followed_up = cr_sys.settled;
        director.rounds = 0;
    }
}

static void trace_unreached(void)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_UNREACHED);
    cr_trace_number(&cr_sys.trace, director.crash + 1);
    cr_trace_string(&cr_sys.trace, cr_image_pds(cr_sys.image)[current()->pd].name);
    cr_trace_end(&cr_sys.trace);
    director.crash = cr_sys.image->crashes.count;
}

/* Answers the clients at the end of a round. A crash that is on its way is still to come: whoever
 * was dismissed before it would take no part in the rounds after it. */
static int next_round(void)
{
    int any = 0;
    int over =
        !crashes_left() && !cr_clock_alarm_pending() && director.rounds >= ROUNDS_AFTER_CLEANUP;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        uint32_t slot = 0;
        if (pd->life != CR_LIFE_RUNS || pd->wait != CR_WAIT_CHECKPOINT) {
            continue;
        }
        uint64_t order = over ? CR_ORDER_STOP : order_for(pd, &slot);
        any = 1;
        if (over && director.dismissed[i] != pd->number) {
            director.dismissed[i] = pd->number;
            cr_trace_thread(CR_CHANGE_DISMISSED, pd, 0);
        }
        cr_answer_checkpoint(pd, order, slot);
    }
    director.rounds += any ? 1u : 0u;
    return any;
}

static void trace_unfinished(void)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_is_served(pd) && director.in_rounds[i] == pd->number &&
            director.dismissed[i] != pd->number) {
            cr_trace_thread(CR_CHANGE_UNFINISHED, pd, 0);
        }
    }
}

/* It is counted, but no crash is ordered: the PD is to answer a notice of a cleanup. A crash that
 * is due follows at the next checkpoint. */
void cr_director_release(cr_pd *pd)
{
    (void)passes(pd);
    cr_answer_checkpoint(pd, CR_ORDER_CONTINUE, 0);
}

void cr_director_alarm(void)
{
    cr_pd *pd = cr_find_configured(director.alarm_pd);
    if (pd == 0 || !cr_pd_is_up(pd) ||
        (cr_pd_is_of_microkit(pd) && pd->number != director.staged)) {
        return; /* Something else happened to the PD first. */
    }
    if (director.alarm_how == CR_CRASH_KILL) {
        if (!cr_is_doomed(pd)) {
            cr_terminate(pd);
        }
        return;
    }
    if (pd->life != CR_LIFE_RUNS) {
        return; /* An earlier crash has frozen it, or its fault handler has its fault. */
    }
    cr_must(cr_suspend(cr_body_cap(&pd->body, CR_BODY_TCB)), "a thread cannot be suspended");
    cr_pd_become(pd, CR_LIFE_FROZEN);
    cr_trace_thread(CR_CHANGE_FROZEN, pd, 0);
}

/* Whether it is time for a later run over what cleanups left. What no PD does any more cannot wait
 * for a time to come. */
static int may_recover(void)
{
    if (director.cleanups != cr_sys.cleanups) {
        director.cleanups = cr_sys.cleanups;
        director.recovers = 0;
    }
    return cr_residue_any() && !cr_cleaner_waits() && director.recovers++ < RECOVERS;
}

cr_idle cr_director_idle(void)
{
    int waits = cr_clock_alarm_pending() || cr_waits_pending();
    if (may_recover()) {
        cr_residue_try_all();
        return CR_IDLE_AGAIN;
    }
    if (cr_cleaner_waits()) {
        /* Everything else happens after the cleanup. */
        return waits || !cr_waits_without_timer() ? CR_IDLE_WAIT : CR_IDLE_AGAIN;
    }
    if (cr_sys.settled > 0 && !cr_sup.cleaner.stops && cr_population_begin_late()) {
        return CR_IDLE_AGAIN;
    }
    cr_account();
    /* The rounds go on when the respawned PDs are there. */
    if (cr_population_pending()) {
        return CR_IDLE_WAIT;
    }
    /* A PD that has something to acknowledge and does not run is hung. Its deadline will show
     * this. */
    if (cr_waits_of_others()) {
        return CR_IDLE_WAIT;
    }
    director.armed = !cr_clock_alarm_pending();
    if (crashes_left() && director.rounds > ROUNDS_WITHOUT_PROGRESS) {
        trace_unreached();
    }
    if (next_round()) {
        return CR_IDLE_AGAIN;
    }
    if (waits) {
        return CR_IDLE_WAIT;
    }
    if (cr_waits_without_timer()) {
        return CR_IDLE_AGAIN;
    }
    if (crashes_left()) {
        trace_unreached();
    }
    if ((cr_sys.image->flags & CR_IMAGE_EXTRACT) != 0 && !director.extracted) {
        director.extracted = 1;
        if (cr_extract_check(&cr_sys.pds[0], 0) != CR_RESULT_OK) {
            cr_panic("the state cannot be extracted", cr_work_room(cr_sys.work));
        }
        cr_extract_start(&cr_sys.pds[0], 0);
        return CR_IDLE_AGAIN;
    }
    if (cr_sup.cleaner.stops) {
        return CR_IDLE_OVER;
    }
    if ((cr_sys.image->flags & CR_IMAGE_GOES_ON) != 0) {
        return CR_IDLE_WAIT;
    }
    cr_silence_tell_waits(1);
    trace_unfinished();
    if ((cr_sys.image->flags & CR_IMAGE_STOP_IN_ORDER) != 0) {
        cr_cleaner_stop_all();
        return CR_IDLE_AGAIN;
    }
    return CR_IDLE_OVER;
}
