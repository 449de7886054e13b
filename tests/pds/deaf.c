/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that answers messages but never fetches a notice. It connects to the spaces of its
 * requests and sends them nothing.
 *
 * Argument 0: the number of its resources. It gives them out in turn, again and again, and never
 * learns which are still held. */
#include "storage.h"

static uint32_t space;

static uint32_t serve(cr_incoming *m)
{
    static uint32_t given;
    uint32_t object = given % cr_info()->args[0] + 1;
    if (m->label != ST_ALLOCATE ||
        (given < cr_info()->args[0] && cr_create_resource(space, &object) != CR_RESULT_OK) ||
        !st_give(m, space, object)) {
        return ST_FULL;
    }
    given++;
    return ST_OK;
}

void cr_main(void)
{
    static const cr_server server = {serve, 0, 0, 0};
    const cr_startup *info = cr_info();
    for (uint32_t i = 0; i < info->n_requests; i++) {
        uint32_t slot;
        uint32_t asked;
        if (cr_connect(info->requests[i], 1, &slot, &asked) != CR_RESULT_OK) {
            cr_exit(1);
        }
    }
    if (info->n_spaces != 1 || info->args[0] == 0 ||
        cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    cr_serve(&server);
}
