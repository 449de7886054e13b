/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages of every length, with any label, any capabilities and any registers. */
#include "any.h"
/* Frama-C 25 does not know _Generic. decode.c only checks types with it, in operands of sizeof. */
#define _Generic(...) 0
#include "../../roottask/core/operations/decode.c"

#ifndef OPERATION /* one operation, for a shorter analysis */
#define OPERATION 0
#define LAST CR_OP_COUNT
#else
#define LAST OPERATION
#endif

enum { REGISTERS = 120 }; /* seL4_MsgMaxLength */

static uint64_t registers[REGISTERS];
static cr_operation_args arguments;

void main(void)
{
    cr_raw_message message;
    /*@ loop unroll 100; */
    for (uint32_t label = OPERATION; label <= LAST; label++) {
        MAKE_ANY(&registers);
        MAKE_ANY(&message);
        message.words = registers;
        message.length = at_most(REGISTERS);
        if (label < CR_OP_COUNT) {
            message.label = label;
        }
        (void)cr_decode_operation(&message, &arguments);
        MAKE_ANY(&message);
        MAKE_ANY(&arguments);
    }
}
