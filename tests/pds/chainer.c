/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes a chain of spaces, each built on the one before, the first on the space of its request.
 * Subscribes to each and never answers. Argument 0: how many. */
#include "storage.h"

void cr_main(void)
{
    uint32_t slot;
    uint32_t below;
    uint32_t space;
    uint32_t good = 0;
    (void)cr_connect(cr_info()->requests[0], 1, &slot, &below);
    for (uint32_t i = 0; i < cr_info()->args[0]; i++) {
        char name[8] = {'s', (char)('0' + i / 10 % 10), (char)('0' + i % 10), 0};
        good += cr_create_space("THING", name, &space) == CR_RESULT_OK;
        good += cr_map(space, 0, below, 0) == CR_RESULT_OK;
        good += cr_subscribe(space, 0) == CR_RESULT_OK;
        below = space;
    }
    cr_line line = {0};
    cr_say(cr_put_number(cr_put(&line, "good "), good));
    while (cr_next_round()) {
    }
}
