/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that takes away the capability that its client calls it with, while the client waits
 * for the answer.
 *
 * Argument 0: what it takes away:
 *   0  the client's hold of the resource
 *   1  the resource
 *   2  the whole space
 *   3  nothing
 * Argument 1: what it does then:
 *   0  it answers
 *   1  it takes a page fault */
#include "storage.h"
#include <cellreap/image.h>

enum { HOLD = 0, RESOURCE = 1, SPACE = 2 };

static uint32_t space;
static uint64_t client;

static uint32_t allocate(cr_incoming *m)
{
    uint32_t object;
    client = m->badge;
    if (cr_create_resource(space, &object) != CR_RESULT_OK) {
        return ST_FULL;
    }
    if (!st_give(m, space, object)) {
        (void)cr_call_root(CR_OP_DELETE_RESOURCE, (uint64_t[]){space, object}, 2, 0, 0);
        return ST_FULL;
    }
    return ST_OK;
}

static uint32_t serve(cr_incoming *m)
{
    if (m->label == ST_ALLOCATE) {
        return allocate(m);
    }
    uint64_t arguments[3] = {space, cr_badge_object(m->badge), client};
    cr_result result = CR_RESULT_OK;
    switch (cr_info()->args[0]) {
    case HOLD:
        result = cr_call_root(CR_OP_TAKE_BACK, arguments, 3, 0, 0);
        break;
    case RESOURCE:
        result = cr_call_root(CR_OP_DELETE_RESOURCE, arguments, 2, 0, 0);
        break;
    case SPACE:
        result = cr_call_root(CR_OP_DELETE_SPACE, arguments, 1, 0, 0);
        break;
    default:
        break;
    }
    if (result != CR_RESULT_OK) {
        cr_say_text("it could not be taken");
    }
    if (cr_info()->args[1] != 0) {
        cr_crash(CR_CRASH_PAGE_FAULT);
    }
    return ST_OK;
}

void cr_main(void)
{
    static const cr_server server = {serve, st_note, 0, 0};
    const cr_startup *info = cr_info();
    if (info->n_spaces != 1 ||
        cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    cr_serve(&server);
}
