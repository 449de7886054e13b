/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that connects and lets go, over and over, as many times as argument 0 says or until it is refused. It says how
 * often it could, and what it was told then. */
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
    cr_say(cr_put_number(cr_put(cr_put_number(cr_put(&line, "came and went: "), went), ", then "), result));
    while (cr_next_round()) {
    }
}
