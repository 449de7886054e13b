/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that counts calls, and a client that calls it for ever.
 *
 * With a space it is the server. It subscribes to the space of its first request, and the call of
 * that number (argument 0) makes it call the server of that space. When the notice about that space
 * comes, it prints how many calls came after its own was answered. It yields many times before, so
 * a client that can run has called again. Without a space it is the client. */
#include "storage.h"

enum { TURNS = 200 };

static uint32_t other;
static uint32_t calls;
static uint32_t after;

static void say_count(const char *what, uint32_t count)
{
    cr_line line = {0};
    cr_say(cr_put_number(cr_put(&line, what), count));
}

static uint32_t serve(cr_incoming *m)
{
    cr_line line = {0};
    uint32_t received;
    (void)m;
    calls++;
    if (calls > cr_info()->args[0]) {
        after++;
    } else if (calls == cr_info()->args[0]) {
        uint32_t label = cr_call(other, ST_ALLOCATE, 0, 0, 0, 0, &received);
        cr_say(cr_put(cr_put(&line, "the other server: "), st_name(label)));
    }
    return ST_OK;
}

static int work(const cr_work_entry *w)
{
    for (uint32_t i = 0; i < TURNS && w->kind == CR_NOTICE_PRE_DESTROY; i++) {
        seL4_Word badge = 0;
        seL4_Yield();
        (void)cr_nb_recv(CR_SLOT_ENDPOINT, &badge, CR_SLOT_REPLY);
        after += badge != 0 && cr_badge_kind_of(badge) != CR_BADGE_SIGNAL;
    }
    st_say_notice(w);
    if (w->kind == CR_NOTICE_PRE_DESTROY) {
        say_count("calls after it: ", after);
    }
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    const cr_startup *info = cr_info();
    uint32_t space;
    uint32_t received;
    if (cr_connect(info->requests[0], 1, &other, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    if (info->n_spaces > 0) {
        if (cr_subscribe(space, 0) != CR_RESULT_OK) {
            cr_exit(2);
        }
        (void)cr_own_space();
        cr_serve(&server);
    }
    for (;;) {
        (void)cr_call(other, ST_READ, 0, 0, 0, 0, &received);
    }
}
