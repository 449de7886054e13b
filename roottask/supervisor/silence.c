/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What PDs do when nothing happens. See silence.h. */
#include "silence.h"
#include "arena.h"
#include "calls.h"
#include "kernel/arch/arch.h"
#include "kernel/turns.h"

enum { APART_MS = 100 }; /* between the two looks */
static const uint64_t silence_ns = (uint64_t)CR_TRACE_SILENCE_MS * CR_NS_PER_MS;
static const uint64_t apart_ns = (uint64_t)APART_MS * CR_NS_PER_MS;

static const char *const stand_words[] = {
#define CR_STAND(enumerator, number, word, ...) [enumerator] = word,
    CR_STANDS
#undef CR_STAND
};
_Static_assert(sizeof(stand_words) / sizeof(stand_words[0]) == CR_STAND_COUNT,
               "one word for each stand");

/* What the registers of a PD's thread show. */
typedef struct look {
    cr_stand stand;
    const cr_pd *on;
    uint32_t slot;
    uint64_t ip;
    uint64_t sum;
} look;

/* The number of events that end a silence. */
static uint64_t events(void)
{
    return cr_sys.trace.recorded - cr_sup.clock.tells;
}

int cr_silence_counts(void)
{
    return !cr_sup.silence.told || events() != cr_sup.silence.heard;
}

/* The system call that the registers show, for a PD at a system call instruction. */
static void look_at_syscall(const cr_pd *pd, const seL4_UserContext *registers, look *out)
{
    seL4_CPtr invoked = 0;
    uint32_t slot;
    out->stand = CR_STAND_SYSCALL;
    if (cr_arch_is_receive(registers, &invoked)) {
        out->stand = CR_STAND_RECEIVE;
    } else if (cr_arch_is_call(registers, &invoked) || cr_arch_is_send(registers, &invoked)) {
        out->stand = CR_STAND_CALL;
        out->on = cr_called_by(pd, &slot);
    }
    if (out->stand != CR_STAND_SYSCALL && invoked < 1u << pd->body.cspace_bits) {
        out->slot = (uint32_t)invoked;
    }
    if (out->stand == CR_STAND_CALL && !cr_pd_is_of_microkit(pd) &&
        (invoked == CR_SLOT_ROOT || invoked == CR_SLOT_FAULT)) {
        out->on = &cr_sys.pds[0];
    }
}

static look look_at(const cr_pd *pd)
{
    seL4_UserContext registers;
    look found = {.stand = CR_STAND_RUNS};
    cr_must(cr_read_registers(cr_body_cap(&pd->body, CR_BODY_TCB), &registers),
            "the registers of a PD cannot be read");
    found.ip = cr_arch_ip(&registers);
    found.sum = cr_sum_of(&registers);
    if (pd->life == CR_LIFE_RUNS && cr_is_at_syscall(pd, cr_arch_ip(&registers))) {
        look_at_syscall(pd, &registers, &found);
    }
    return found;
}

static void look_first(void)
{
    cr_silence *silence = &cr_sup.silence;
    silence->looked = silence->ns;
    for (uint32_t i = 0; i <= CR_PRIORITY_MAX; i++) {
        (void)cr_turns_answered(i); /* an answer to an earlier question */
        silence->chance[i] = 0;
        cr_turns_ask(i);
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        silence->seen[i].number = cr_pd_exists(pd) ? pd->number : 0;
        silence->seen[i].sum = cr_pd_exists(pd) ? look_at(pd).sum : 0;
    }
}

/* What a PD does that the root task itself stopped, or that waits for its answer. */
static int known(const cr_pd *pd, look *out)
{
    static const cr_stand of_wait[] = {
        [CR_WAIT_NOTHING] = CR_STAND_RUNS,        [CR_WAIT_CHECKPOINT] = CR_STAND_CHECKPOINT,
        [CR_WAIT_CONNECT] = CR_STAND_CONNECT,     [CR_WAIT_TICKET] = CR_STAND_TICKET,
        [CR_WAIT_TERMINATE] = CR_STAND_TERMINATE,
    };
    _Static_assert(sizeof(of_wait) / sizeof(of_wait[0]) == CR_WAIT_COUNT, "one for each wait");
    if (pd->life == CR_LIFE_FAULTED) {
        out->stand = CR_STAND_FAULT;
        out->on = cr_fault_handler(pd);
    } else if (pd->life == CR_LIFE_FROZEN) {
        out->stand = CR_STAND_FROZEN;
    } else if (pd->life == CR_LIFE_STOPPED) {
        out->stand = CR_STAND_STOPPED;
    } else {
        out->stand = of_wait[pd->wait];
        return pd->wait != CR_WAIT_NOTHING;
    }
    return 1;
}

static void trace_stand(const cr_pd *pd, const look *found, int chance, uint64_t ms)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_STANDS);
    cr_trace_pd(pd);
    cr_trace_string(&cr_sys.trace, stand_words[found->stand]);
    if (found->on != 0) {
        cr_trace_pd(found->on);
    } else {
        cr_trace_string(&cr_sys.trace, "-");
    }
    cr_trace_number(&cr_sys.trace, found->slot);
    cr_trace_string(&cr_sys.trace, found->stand == CR_STAND_CONNECT ? pd->wanted : "-");
    cr_trace_address(&cr_sys.trace, found->ip);
    cr_trace_number(&cr_sys.trace, (uint64_t)chance);
    cr_trace_number(&cr_sys.trace, ms);
    cr_trace_end(&cr_sys.trace);
}

/* What a PD does by one look. Returns whether the root task knows it without its registers. */
static int stands(const cr_pd *pd, look *out)
{
    look decided;
    *out = look_at(pd);
    decided = *out;
    if (!known(pd, &decided)) {
        return 0;
    }
    decided.slot = 0;
    *out = decided;
    return 1;
}

static void tell_of(const cr_pd *pd, uint32_t index)
{
    look found;
    if (!stands(pd, &found) && (cr_sup.silence.seen[index].number != pd->number ||
                                cr_sup.silence.seen[index].sum != found.sum)) {
        found.stand = CR_STAND_RUNS;
        found.on = 0;
        found.slot = 0;
    }
    trace_stand(pd, &found, cr_sup.silence.chance[pd->priority], cr_sup.silence.ns / CR_NS_PER_MS);
}

void cr_silence_tell_waits(int rests)
{
    uint8_t *const told = cr_sup.silence.told_of;
    look found;
    for (uint32_t i = 0; i < cr_most.pds; i++) {
        told[i] = 0;
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        if (!cr_pd_exists(pd)) {
            continue;
        }
        (void)stands(pd, &found);
        if (found.stand == CR_STAND_CALL || found.stand == CR_STAND_FAULT) {
            told[i] = 1;
            if (found.on != 0) {
                told[found.on - cr_sys.pds] = 1;
            }
        }
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        if (told[i]) {
            (void)stands(pd, &found);
            trace_stand(pd, &found, rests && (pd->flags & CR_IMAGE_BACKGROUND) == 0, 0);
        }
    }
}

static void tell(void)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        if (cr_pd_exists(&cr_sys.pds[i])) {
            tell_of(&cr_sys.pds[i], i);
        }
    }
    cr_sup.silence.told = 1;
    cr_sup.silence.heard = events();
}

void cr_silence_tick(uint64_t ns)
{
    cr_silence *silence = &cr_sup.silence;
    if (events() != silence->heard) {
        silence->heard = events();
        silence->ns = 0;
        silence->looked = 0;
        silence->told = 0;
        return;
    }
    if (silence->told) {
        return;
    }
    silence->ns += ns;
    if (silence->looked == 0) {
        if (silence->ns >= silence_ns) {
            look_first();
        }
        return;
    }
    /* The looks at receivers, if there are any, take the answers of turn threads (progress.h). */
    for (uint32_t i = 0; i <= CR_PRIORITY_MAX; i++) {
        if (cr_turns_answered(i) || (cr_sup.clock.look != 0 && cr_sup.progress.answered[i] != 0)) {
            silence->chance[i] = 1;
        }
    }
    if (silence->ns >= silence->looked + apart_ns) {
        tell();
    }
}
