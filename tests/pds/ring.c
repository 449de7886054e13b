/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that connects to its first request before it creates its own space. It prints the
 * result of the connect. */
#include "storage.h"

void cr_main(void)
{
    const cr_startup *info = cr_info();
    cr_line line = {0};
    uint32_t slot;
    uint32_t space;
    cr_say(
        cr_put_number(cr_put(&line, "connect: "), cr_connect(info->requests[0], 1, &slot, &space)));
    if (cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    cr_wait_for_work(st_note);
}
