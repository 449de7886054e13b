/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a PD says itself: entries, their sum, and the lines with it. See statement.h. A line comes
 * before the message that it announces, so the trace cannot have what was not announced. */
#include "statements.h"
#include "local.h"
#include <cellreap/digest.h>
#include <cellreap/statement.h>

/* A program that defines it as 0 asks the root task by itself, too. Volatile, because the compiler
 * would take it for what it is here. */
const volatile int __attribute__((weak)) cr_states_all = 1;

static void put(char c)
{
#ifdef CONFIG_PRINTING
    seL4_DebugPutChar(c);
#else
    (void)c;
#endif
}

static void put_number(uint64_t value, uint32_t digits)
{
    put(' ');
    for (uint32_t i = 16; i > 0; i--) {
        const uint64_t rest = value >> (4 * (i - 1));
        if (rest != 0 || i <= digits) {
            put("0123456789abcdef"[rest & 15]);
        }
    }
}

static void state(cr_op op, uint64_t sum)
{
    cr_stated *const own = &cr_here()->stated;
    const uint32_t low = (uint32_t)sum;
    const uint64_t about = (uint64_t)own->count << 32 | op;
    put('~');
    put('p');
    put('d');
    put_number(cr_info()->pd, 1);
    put_number(own->count, 1);
    put_number(op, 1);
    put_number(low, 8);
    put_number((uint32_t)cr_digest_stir(cr_digest_stir(own->secret + about) + low), 8);
    put('\n');
    own->is_stated = 1;
}

static uint64_t begin_entry(cr_entry kind, cr_op op, uint64_t sum)
{
    return cr_digest_stir(sum + ((uint64_t)kind << 32 | op));
}

static void add_entry(cr_entry kind, cr_op op, uint64_t word)
{
    cr_stated *const own = &cr_here()->stated;
    own->sum = cr_digest_stir(begin_entry(kind, op, own->sum) + word);
    own->count++;
    own->is_stated = 0;
}

/* A message may be shorter than its operation needs. Then it is refused. */
static uint64_t word_of(const uint64_t *arguments, uint32_t count, uint32_t i)
{
    return i < count ? arguments[i] : 0;
}

/* The bytes that the root task takes of the text, in words. */
static uint64_t add_text(const uint64_t *arguments, uint32_t count, uint64_t sum)
{
    const uint64_t bytes = word_of(arguments, count, 0);
    sum = cr_digest_stir(sum + bytes);
    for (uint32_t i = 0; i < CR_SAY_MAX && i < bytes; i += 8) {
        const uint64_t rest = bytes - i;
        const uint64_t mask = rest < 8 ? ((uint64_t)1 << (8 * rest)) - 1 : ~(uint64_t)0;
        sum = cr_digest_stir(sum + (word_of(arguments, count, 1 + i / 8) & mask));
    }
    return sum;
}

static uint64_t add_two(uint64_t sum, uint64_t first, uint64_t second)
{
    return cr_digest_stir(cr_digest_stir(sum + first) + second);
}

/* Adds the entries of an operation to `sum_then`. Returns their number. */
static uint32_t add_asked(cr_op op, const uint64_t *arguments, uint32_t count)
{
    cr_stated *const own = &cr_here()->stated;
    const uint64_t first = word_of(arguments, count, 0);
    const uint64_t begun = begin_entry(CR_ENTRY_ASKED, op, own->sum);
    switch (op) {
    case CR_OP_SAY:
        own->sum_then = add_text(arguments, count, begun);
        return 1;
    case CR_OP_EXIT:
        own->sum_then = cr_digest_stir(begun + first);
        return 1;
    case CR_OP_ALLOW:
        own->sum_then = cr_digest_stir(begun + word_of(arguments, count, 2));
        return 1;
    case CR_OP_GIVE:
    case CR_OP_SEND:
        own->sum_then = cr_digest_stir(begun + word_of(arguments, count, 1));
        return word_of(arguments, count, op == CR_OP_GIVE ? 3 : 2) != 0;
    case CR_OP_SUBSCRIBE:
    case CR_OP_UNSUBSCRIBE:
        own->sum_then = add_two(begun, first, word_of(arguments, count, 1));
        return 1;
    case CR_OP_FINISH_WORK: {
        uint32_t rows = 0;
        own->sum_then = own->sum;
        for (; rows < first && rows < CR_WORK_MAX; rows++) {
            own->sum_then = add_two(begin_entry(CR_ENTRY_ASKED, op, own->sum_then),
                                    word_of(arguments, count, 1 + 2 * rows),
                                    word_of(arguments, count, 2 + 2 * rows));
        }
        return rows;
    }
    default:
        return 0;
    }
}

void cr_state_begin(void)
{
    cr_stated *const own = &cr_here()->stated;
    own->secret = cr_states_all ? cr_info()->secret : 0;
    if (own->secret != 0) {
        state((cr_op)0, own->sum);
    }
}

void cr_state_asks(cr_op op, const uint64_t *arguments, uint32_t count)
{
    cr_stated *const own = &cr_here()->stated;
    own->count_then = 0;
    if (own->secret == 0) {
        return;
    }
    const uint32_t entries = add_asked(op, arguments, count);
    if (entries > 0) {
        own->count_then = own->count + entries;
        state(op, own->sum_then);
    }
}

void cr_state_answered(cr_op op, uint64_t label, uint32_t count)
{
    cr_stated *const own = &cr_here()->stated;
    if (own->secret == 0) {
        return;
    }
    if (label != CR_RESULT_OK) {
        add_entry(CR_ENTRY_REFUSED, op, label);
        state((cr_op)0, own->sum); /* Perhaps the PD asks for nothing more. */
        if (++own->refusals == CR_REFUSALS_TOLD) {
            own->secret = 0; /* The trace does not tell the next one. */
        }
        return;
    }
    if (own->count_then != 0) {
        own->sum = own->sum_then;
        own->count = own->count_then;
    }
    const uint64_t *words = (const uint64_t *)seL4_GetIPCBuffer()->msg;
    if (cr_answer_is_told(op, words, &own->answers)) {
        add_entry(CR_ENTRY_ANSWERED, op, cr_digest_words(words, count));
    }
}

void cr_state_sum(void)
{
    cr_stated *const own = &cr_here()->stated;
    if (own->secret != 0 && !own->is_stated) {
        state((cr_op)0, own->sum);
    }
}
