/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that connects and disconnects, again and again, until an operation is refused. It
 * prints how often this succeeded, and the last result.
 *
 * Argument 0: how often at most. */
#include "storage.h"

void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    uint32_t went = 0;
    cr_result result = CR_RESULT_OK;
    cr_line line = {0};
    while (went < cr_info()->args[0]) {
        result = cr_connect(cr_info()->requests[0], 1, &slot, &space);
        if (result == CR_RESULT_OK) {
            result = cr_call_root(CR_OP_DISCONNECT, (uint64_t[]){space}, 1, 0, 0);
        }
        if (result != CR_RESULT_OK) {
            break;
        }
        went++;
    }
    cr_say(cr_put_number(cr_put(cr_put_number(cr_put(&line, "came and went: "), went), ", then "),
                         result));
    while (cr_next_round()) {
    }
}
