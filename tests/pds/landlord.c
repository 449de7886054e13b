/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server of many spaces that never fetches a notice. Argument 0: how many beside its own. */
#include "storage.h"

static uint32_t serve(cr_incoming *m)
{
    (void)m;
    return ST_BAD_REQUEST;
}

void cr_main(void)
{
    static const cr_server server = {serve, 0, 0, 0};
    uint32_t space;
    uint32_t made = 0;
    for (uint32_t i = 0; i < cr_info()->args[0]; i++) {
        char name[8] = {'s', (char)('0' + i / 100), (char)('0' + i / 10 % 10), (char)('0' + i % 10),
                        0};
        made += cr_create_space("THING", name, &space) == CR_RESULT_OK;
    }
    cr_line line = {0};
    cr_say(cr_put_number(cr_put(&line, "spaces "), made));
    (void)cr_own_space();
    cr_serve(&server);
}
