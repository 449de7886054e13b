/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages with any label, any capabilities, and any registers, as many as a message can have. */
#include "any.h"
#include <cellreap/decode.h>

enum { REGISTERS = 120 }; /* seL4_MsgMaxLength */

static uint64_t words[REGISTERS];
static cr_operation_args arguments;

void main(void)
{
    cr_raw_message message;
    MAKE_ANY(&words);
    MAKE_ANY(&message);
    message.words = words;
    message.length = at_most(REGISTERS);
    (void)cr_decode_operation(&message, &arguments);
}
