/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that creates all its spaces and gives out a new resource of the first one for each
 * request. It deletes a resource when its client is destroyed. */
#include "storage.h"

static uint32_t first;

static uint32_t serve(cr_incoming *m)
{
    uint32_t object;
    uint32_t slot;
    if (m->label == ST_STATUS) {
        cr_checkpoint();
        return ST_OK;
    }
    if (m->label != ST_ALLOCATE || cr_create_resource(first, &object) != CR_RESULT_OK ||
        cr_give(first, object, m->badge, 0, &slot) != CR_RESULT_OK) {
        return ST_FULL;
    }
    m->reply[m->reply_count++] = slot;
    return ST_OK;
}

static int work(const cr_work_entry *w)
{
    uint64_t it[2] = {w->space, w->object};
    int gone = w->kind == CR_NOTICE_FREE &&
               cr_call_root(CR_OP_DELETE_RESOURCE, it, 2, 0, 0) != CR_RESULT_OK;
    return gone ? 1 : 0;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    const cr_startup *info = cr_info();
    for (uint32_t i = 0; i < info->n_spaces; i++) {
        uint32_t space;
        if (cr_create_space(info->spaces[i].type, info->spaces[i].name, &space) != CR_RESULT_OK) {
            cr_exit(1);
        }
        first = i == 0 ? space : first;
    }
    cr_serve(&server);
}
