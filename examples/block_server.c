/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A block server: it manages one space and gives one block to each client that asks.
 *
 * Argument 0: what the server does with a block when its holder is destroyed:
 *   0  puts the block into a pool and gives it to the next client that asks
 *   1  deletes the block
 *   2  keeps the block as it is */
#include "storage.h"

enum { MAX_BLOCKS = 64, POOL = 0, DELETE = 1 };

static uint32_t space;
static struct {
    uint32_t object; /* 0: no block */
    int pooled;
} blocks[MAX_BLOCKS];

static uint32_t allocate(cr_incoming *m)
{
    uint32_t object = 0;
    uint32_t at = MAX_BLOCKS;
    for (uint32_t i = 0; i < MAX_BLOCKS && object == 0; i++) {
        if (blocks[i].object != 0 && blocks[i].pooled) {
            object = blocks[i].object;
            at = i;
        } else if (blocks[i].object == 0 && at == MAX_BLOCKS) {
            at = i;
        }
    }
    if (at == MAX_BLOCKS || (object == 0 && cr_create_resource(space, &object) != CR_RESULT_OK)) {
        return ST_FULL;
    }
    blocks[at].object = object;
    blocks[at].pooled = 0;
    if (!st_give(m, space, object)) {
        blocks[at].pooled = 1;
        return ST_BAD_REQUEST;
    }
    return ST_OK;
}

static uint32_t serve(cr_incoming *m)
{
    cr_checkpoint();
    if (cr_badge_kind_of(m->badge) == CR_BADGE_REQUEST && m->label == ST_ALLOCATE) {
        return allocate(m);
    }
    if (cr_badge_kind_of(m->badge) == CR_BADGE_RESOURCE && m->label == ST_READ) {
        m->reply[0] = ((uint64_t)space << 32) | cr_badge_object(m->badge);
        m->reply_count = 1;
        return ST_OK;
    }
    return ST_BAD_REQUEST;
}

/* Whether the notice says that nobody else holds the block any more. A DISCONNECT notice without a
 * PD stands for the notices about several, so the root task is asked who holds what. */
static int is_freed(const cr_work_entry *w, uint32_t object)
{
    uint32_t own;
    uint32_t all;
    if (w->kind == CR_NOTICE_FREE || object == 0) {
        return object != 0 && object == w->object;
    }
    return w->kind == CR_NOTICE_DISCONNECT && w->pd == 0 &&
           cr_holds(space, object, &own, &all) == CR_RESULT_OK && own == all;
}

static int work(const cr_work_entry *w)
{
    int failed = 0;
    st_say_notice(w);
    if (w->kind == CR_NOTICE_DESTROY) {
        for (uint32_t i = 0; i < MAX_BLOCKS; i++) {
            blocks[i].object = 0;
        }
        return 0;
    }
    for (uint32_t i = 0; i < MAX_BLOCKS; i++) {
        if (!is_freed(w, blocks[i].object)) {
            continue;
        }
        if (cr_info()->args[0] == DELETE) {
            const uint32_t object = blocks[i].object;
            blocks[i].object = 0;
            failed |= cr_delete_resource(space, object) != CR_RESULT_OK;
        } else {
            blocks[i].pooled = cr_info()->args[0] == POOL;
        }
    }
    return failed;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    space = cr_own_space();
    cr_serve(&server);
}
