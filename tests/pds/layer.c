/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One of several servers that are stacked. It gives a new resource to each client that asks. If it
 * has a request, it takes a resource of the server below for each of its own, and maps its own to
 * that one. */
#include "storage.h"

enum { MOST = 64 };

static uint32_t space;
static uint32_t below;      /* the space of the server below; 0: there is none */
static uint32_t below_slot; /* the request to it */

static uint32_t allocate(cr_incoming *m)
{
    uint64_t reply[3];
    uint32_t received;
    uint32_t object;
    if (cr_create_resource(space, &object) != CR_RESULT_OK) {
        return ST_FULL;
    }
    if (below != 0 &&
        (cr_call(below_slot, ST_ALLOCATE, 0, 0, reply, 3, &received) != ST_OK || received != 3 ||
         cr_map(space, object, below, (uint32_t)reply[1]) != CR_RESULT_OK)) {
        return ST_IO_ERROR;
    }
    return st_give(m, space, object) ? ST_OK : ST_BAD_REQUEST;
}

static uint32_t serve(cr_incoming *m)
{
    if (m->label == ST_ALLOCATE) {
        return allocate(m);
    }
    cr_checkpoint();
    return ST_OK;
}

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    const cr_startup *info = cr_info();
    if (info->n_requests == 1 &&
        (cr_connect(info->requests[0], 1, &below_slot, &below) != CR_RESULT_OK ||
         cr_allow(below, MOST) != CR_RESULT_OK)) {
        cr_exit(1);
    }
    space = cr_own_space();
    if (below != 0 && cr_map(space, 0, below, 0) != CR_RESULT_OK) {
        cr_exit(1);
    }
    cr_serve(&server);
}
