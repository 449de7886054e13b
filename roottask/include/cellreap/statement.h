/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What PDs say themselves: the lines that the library of PDs prints about what it asked of the root
 * task and what it was told. The host compares them with the trace, which is the root task's word
 * (docs/trace-format.md, "The PDs' word").
 *
 * A PD goes through *entries*, in its own order:
 *
 *   CR_ENTRY_ASKED     an operation of CR_STATED_OPS that is carried out; FINISH_WORK: one an
 *                      acknowledgement. Its words: see there.
 *   CR_ENTRY_REFUSED   an operation that is refused. Word: the cr_result. With CR_REFUSALS_TOLD of
 *                      them, the entries end: the trace does not have the next one.
 *   CR_ENTRY_ANSWERED  an answer that the trace has (cr_answer_is_told). Word: its cr_digest_words.
 *
 * The sum is 0 at first. Each entry makes it x = stir(sum + (its kind << 32 | the operation)), then
 * x = stir(x + word) for each word. Before an operation of CR_STATED_OPS the library prints
 *
 *   ~pd <PD> <count> <op> <sum> <seal>
 *
 * count: the entries before it. sum: after the entries that the operation will make if it is
 * carried out. With op 0 it announces nothing, and the sum is that of the entries so far. All are
 * hex numbers; sum and seal have 8 digits, and are the low halves of the 64-bit numbers. The seal
 * is stir(stir(secret + (count << 32 | op)) + low half of the sum). Only the root task and the PD
 * know the secret (cr_startup), so no other PD can make such a line.
 *
 * Parsed by the host tooling. Pure. */
#ifndef CELLREAP_STATEMENT_H
#define CELLREAP_STATEMENT_H

#include <cellreap/limits.h>
#include <cellreap/protocol.h>

typedef enum cr_entry { CR_ENTRY_ASKED = 1, CR_ENTRY_REFUSED = 2, CR_ENTRY_ANSWERED = 3 } cr_entry;

/* The operations of which nothing else tells than an event, and their words:
 * CR_STATED_OP(enumerator, words) */
#define CR_STATED_OPS                                                                              \
    CR_STATED_OP(CR_OP_SAY, "the number of bytes, and the bytes in words, padded with NUL")        \
    CR_STATED_OP(CR_OP_EXIT, "the code")                                                           \
    CR_STATED_OP(CR_OP_FINISH_WORK, "the token, and the cr_work_result")                           \
    CR_STATED_OP(CR_OP_SUBSCRIBE, "the number of the space, 0 for a PD; the handler")              \
    CR_STATED_OP(CR_OP_UNSUBSCRIBE, "as SUBSCRIBE")                                                \
    CR_STATED_OP(CR_OP_ALLOW, "the number of edges")                                               \
    CR_STATED_OP(CR_OP_GIVE, "the object; only if read only is 1")                                 \
    CR_STATED_OP(CR_OP_SEND, "as GIVE")

/* Whether the trace has the answer to an operation that was carried out. A PD must not be able to
 * fill the console with answers to questions. *answers: counts them, for one PD. */
static inline int cr_answer_is_told(cr_op op, const uint64_t *words, uint32_t *answers)
{
    switch (op) {
#define NOT_TOLD return 0;
#define TOLD return 1;
#define TOLD_IF(word) return words[word] != 0;
#define TOLD_OF(word, member) TOLD_IF(word)
#define TOLD_SOME break;
#define QUESTION(member) break;
#define CR_OPERATION(enumerator, number, word, topic, arguments, results, called, told, ...)       \
    case enumerator:                                                                               \
        told
        CR_OPERATIONS
#undef CR_OPERATION
#undef NOT_TOLD
#undef TOLD
#undef TOLD_IF
#undef TOLD_OF
#undef TOLD_SOME
#undef QUESTION
    default:
        return 0;
    }
    const uint32_t before = (*answers)++;
    return before < CR_ANSWERS_TOLD || *answers % CR_ANSWERS_EACH == 0;
}

#endif
