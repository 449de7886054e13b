/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that takes a page fault when it gets its first notice, before it acknowledges it. As a
 * client it gets a block from each of its servers. As a server it gives a new resource to each
 * client that asks. */
#include "storage.h"
#include <cellreap/image.h>

static uint32_t space;

static int work(const cr_work_entry *w)
{
    st_say_notice(w);
    cr_crash(CR_CRASH_PAGE_FAULT);
    return 1;
}

static uint32_t serve(cr_incoming *m)
{
    uint32_t object;
    if (m->label != ST_ALLOCATE || cr_create_resource(space, &object) != CR_RESULT_OK ||
        !st_give(m, space, object)) {
        return ST_BAD_REQUEST;
    }
    return ST_OK;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    const cr_startup *info = cr_info();
    for (uint32_t i = 0; i < info->n_requests; i++) {
        uint64_t reply[3];
        uint32_t slot;
        uint32_t asked;
        uint32_t received;
        if (cr_connect(info->requests[i], 1, &slot, &asked) != CR_RESULT_OK ||
            cr_allow(asked, 1) != CR_RESULT_OK ||
            cr_call(slot, ST_ALLOCATE, 0, 0, reply, 3, &received) != ST_OK) {
            cr_say_text("no block");
        }
    }
    if (info->n_spaces == 0) {
        cr_wait_for_work(work);
    }
    if (cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    cr_serve(&server);
}
