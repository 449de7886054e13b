/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server at which calls wait while it waits for another server, and its clients.
 *
 * With a space it is the server. Its first request is for the space that its own is built on. It
 * prints each message that it receives. The first one makes it call the other server. A client gets
 * a resource of the server's first. In each round it calls the server once and prints the answer,
 * or the kernel's error. Argument 0: the word that it sends. Argument 1: it calls over its request
 * (0) or over its resource (1). */
#include "storage.h"

enum { JM_GET = ST_ALLOCATE, JM_USE = ST_READ };

static uint32_t below;
static uint32_t below_space;
static uint32_t space;
static int called;

static void say_label(const char *what, uint64_t label)
{
    cr_line line = {0};
    cr_put(&line, what);
    if (label < CR_REPLY_BASE) {
        cr_put_number(cr_put(&line, "kernel error "), label);
    } else {
        cr_put(&line, st_name((uint32_t)label));
    }
    cr_say(&line);
}

static uint64_t raw_call(uint32_t slot, uint64_t word)
{
    seL4_SetMR(0, word);
    return seL4_MessageInfo_get_label(seL4_Call(slot, seL4_MessageInfo_new(JM_USE, 0, 0, 1)));
}

static uint32_t get(cr_incoming *m)
{
    uint32_t object;
    uint32_t slot;
    if (cr_create_resource(space, &object) != CR_RESULT_OK ||
        cr_give(space, object, m->badge, 0, &slot) != CR_RESULT_OK) {
        return ST_FULL;
    }
    m->reply[0] = slot;
    m->reply_count = 1;
    return ST_OK;
}

static uint32_t serve(cr_incoming *m)
{
    if (m->label == JM_GET) {
        return get(m);
    }
    cr_line line = {0};
    int resource = cr_badge_kind_of(m->badge) == CR_BADGE_RESOURCE;
    cr_put_number(cr_put(&line, "received "), m->words[0]);
    cr_say(cr_put(&line, resource ? " over a resource" : " over a request"));
    if (!called) {
        called = 1;
        say_label("the server below: ", raw_call(below, 0));
    }
    return ST_OK;
}

static void be_server(void)
{
    static const cr_server server = {serve, st_note, 0, 0};
    if (cr_connect(cr_info()->requests[0], 1, &below, &below_space) != CR_RESULT_OK) {
        cr_say_text("no server below");
        cr_exit(1);
    }
    space = cr_own_space();
    if (cr_map(space, 0, below_space, 0) != CR_RESULT_OK) {
        cr_say_text("no map");
        cr_exit(1);
    }
    cr_serve(&server);
}

void cr_main(void)
{
    uint64_t slot = 0;
    uint32_t received;
    uint32_t request;
    if (cr_info()->n_spaces != 0) {
        be_server();
    }
    if (cr_connect(cr_info()->requests[0], 1, &request, &space) != CR_RESULT_OK ||
        cr_allow(space, 1) != CR_RESULT_OK ||
        cr_call(request, JM_GET, 0, 0, &slot, 1, &received) != ST_OK) {
        cr_say_text("no resource");
        cr_exit(1);
    }
    uint32_t used = cr_info()->args[1] != 0 ? (uint32_t)slot : request;
    /* The others get theirs in the first round. */
    while (cr_next_round()) {
        say_label("answer: ", raw_call(used, cr_info()->args[0]));
    }
    cr_poll_work(st_note);
    say_label("at the end: ", raw_call(used, cr_info()->args[0]));
    cr_wait_for_work(st_note);
}
