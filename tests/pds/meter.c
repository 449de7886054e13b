/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Measures what calls cost by the counter of the CPU. Under -icount, as many nanoseconds are as
 * many instructions.
 *
 * Without a request it is the server that is called: it answers at once. With a request it is the
 * client that measures, and prints
 *
 *     began COUNTER
 *     look TICKS
 *     call TICKS
 *
 * COUNTER when it began, and the ticks of ROUNDS requests to the root task that change nothing, and
 * of ROUNDS calls to the server. */
#include "counter.h"
#include "storage.h"

enum { ROUNDS = 1000, ECHO = CR_REPLY_BASE + 1 };

static uint32_t serve(cr_incoming *message)
{
    message->reply_count = 0;
    return ST_OK;
}

static void say(const char *what, uint64_t value)
{
    cr_line line = {0};
    cr_say(cr_put_number(cr_put(&line, what), value));
}

static void measure(uint64_t began)
{
    uint32_t slot;
    uint32_t space;
    cr_look_state state;
    uint64_t reply[1];
    uint32_t received;
    if (cr_connect(cr_info()->requests[0], 1, &slot, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    uint64_t begin = counter();
    for (int i = 0; i < ROUNDS; i++) {
        if (cr_look(space, 0, 0, &state) != CR_RESULT_OK) {
            cr_exit(2);
        }
    }
    const uint64_t look = counter() - begin;
    begin = counter();
    for (int i = 0; i < ROUNDS; i++) {
        if (cr_call(slot, ECHO, 0, 0, reply, 1, &received) != ST_OK) {
            cr_exit(3);
        }
    }
    const uint64_t call = counter() - begin;
    say("began ", began);
    say("look ", look);
    say("call ", call);
}

void cr_main(void)
{
    static const cr_server server = {serve, st_note, 0, 0};
    const uint64_t began = counter();
    if (cr_info()->n_requests != 0) {
        measure(began);
        cr_wait_for_work(st_note);
    } else {
        (void)cr_own_space();
        cr_serve(&server);
    }
}
