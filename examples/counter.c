/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server of counters: each counter is a resource, deleted when no client holds it any more. */
#include <cellreap/client.h>

enum { OPEN = 0x200, NEXT = 0x201, COUNTERS = 16 };
enum { OK = CR_REPLY_BASE, BAD = CR_REPLY_BASE + 1, FULL = CR_REPLY_BASE + 2 };

static uint32_t space;
static uint32_t objects[COUNTERS]; /* 0: not in use */
static uint64_t values[COUNTERS];

/* Called for each message; returns the label of the answer. Only the badge tells who sent it. */
static uint32_t serve(cr_incoming *m)
{
    int open = cr_badge_kind_of(m->badge) == CR_BADGE_REQUEST && m->label == OPEN;
    int next = cr_badge_kind_of(m->badge) == CR_BADGE_RESOURCE && m->label == NEXT;
    for (uint32_t i = 0; i < COUNTERS; i++) {
        uint32_t slot = 0;
        if (next && objects[i] == cr_badge_object(m->badge)) {
            m->reply[m->reply_count++] = ++values[i];
            return OK;
        }
        if (open && objects[i] == 0 && cr_create_resource(space, &objects[i]) == CR_RESULT_OK) {
            values[i] = 0;
            m->reply[m->reply_count++] = objects[i];
            /* If the client was destroyed meanwhile, the next notice deletes the counter. */
            cr_result given = cr_give(space, objects[i], m->badge, 0, &slot);
            m->reply[m->reply_count++] = slot;
            return given == CR_RESULT_OK ? OK : FULL;
        }
    }
    return open ? FULL : BAD;
}

/* Called for each notice: a holder was destroyed, or a client lost its request. Returns 0: done. */
static int work(const cr_work_entry *w)
{
    for (uint32_t i = 0; w->kind != CR_NOTICE_LOST && i < COUNTERS; i++) {
        const uint32_t object = objects[i];
        uint32_t own, all;
        if (object != 0 && cr_holds(space, object, &own, &all) == CR_RESULT_OK && own == all &&
            cr_delete_resource(space, object) == CR_RESULT_OK) {
            objects[i] = 0;
        }
    }
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {.serve = serve, .work = work};
    const cr_startup *info = cr_info();
    if (cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    cr_serve(&server);
}
