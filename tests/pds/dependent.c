/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that depends on a block server in one chosen way. In each round it uses what it has.
 *
 * Argument 0: what it keeps:
 *   0  the request; it holds no block
 *   1  a block; it has dropped the request
 *   2  neither
 *   3  both */
#include "storage.h"

enum { REQUEST_ONLY = 0, HOLD_ONLY = 1, NEITHER = 2 };

static const char *use(uint32_t slot)
{
    uint64_t value;
    uint32_t received;
    return slot != 0 ? st_name(cr_call(slot, ST_READ, 0, 0, &value, 1, &received)) : "nothing";
}

void cr_main(void)
{
    uint64_t reply[3];
    uint32_t request;
    uint32_t space;
    uint32_t received;
    uint32_t block = 0;
    cr_line line = {0};
    uint32_t how = cr_info()->args[0];
    if (cr_connect(cr_info()->requests[0], 1, &request, &space) != CR_RESULT_OK ||
        cr_allow(space, 1) != CR_RESULT_OK) {
        cr_say_text("nobody to ask");
        cr_exit(1);
    }
    if (how != REQUEST_ONLY && cr_call(request, ST_ALLOCATE, 0, 0, reply, 3, &received) == ST_OK) {
        block = (uint32_t)reply[2];
    }
    if (how == NEITHER && cr_call_root(CR_OP_RELEASE, reply, 2, 0, 0) == CR_RESULT_OK) {
        block = 0;
    }
    if ((how == HOLD_ONLY || how == NEITHER) &&
        cr_call_root(CR_OP_DISCONNECT, (uint64_t[]){space}, 1, 0, 0) == CR_RESULT_OK) {
        request = 0;
    }
    const char *last = "";
    do {
        cr_poll_work(st_note);
        const char *held = use(block);
        const char *asked = use(request);
        if (held != last) {
            cr_say(cr_put(cr_put(cr_put(cr_put(&line, "block: "), held), "; request: "), asked));
        }
        last = held;
    } while (cr_next_round());
    cr_poll_work(st_note);
    cr_put(cr_put(&line, "at the end: block: "), use(block));
    cr_say(cr_put(cr_put(&line, "; request: "), use(request)));
    cr_wait_for_work(st_note);
}
