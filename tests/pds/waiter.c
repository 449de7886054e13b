/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that subscribes to the space of its first request, and then waits for other PDs at
 * moments when a cleanup waits for it. It prints the result of each wait.
 *
 * Argument 0, bits:
 *   1  in its first round it connects to its second request
 *   2  after the pre-destroy notice it connects to its first request again
 *   4  while it handles the notice it calls the server of its second request twice
 *   8  while it handles the notice it creates its space; it has no rounds */
#include "storage.h"

enum { CONNECTS = 1, RECONNECTS = 2, ASKS = 4, MAKES = 8 };

static uint32_t second;
static int was_told;

static void say_connect(const char *what, const char *name, uint32_t *slot)
{
    cr_line line = {0};
    uint32_t space;
    cr_result result = cr_connect(name, 1, slot, &space);
    cr_say(cr_put_number(cr_put(cr_put(&line, what), ": "), result));
}

static void ask(const char *what)
{
    cr_line line = {0};
    uint64_t reply[1];
    uint32_t received;
    cr_put(cr_put(&line, what), ": ");
    cr_say(cr_put(&line, st_name(cr_call(second, ST_READ, 0, 0, reply, 1, &received))));
}

static int work(const cr_work_entry *w)
{
    st_say_notice(w);
    if (w->kind != CR_NOTICE_PRE_DESTROY) {
        return 0;
    }
    was_told = 1;
    if ((cr_info()->args[0] & ASKS) != 0) {
        ask("asked");
        ask("asked again");
    }
    if ((cr_info()->args[0] & MAKES) != 0) {
        cr_line line = {0};
        uint32_t space;
        const cr_startup *info = cr_info();
        cr_result result = cr_create_space(info->spaces[0].type, info->spaces[0].name, &space);
        cr_say(cr_put_number(cr_put(&line, "made: "), result));
    }
    return 0;
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    uint32_t slot;
    uint32_t space;
    if (cr_connect(info->requests[0], 1, &slot, &space) != CR_RESULT_OK ||
        cr_subscribe(space, 0) != CR_RESULT_OK) {
        cr_exit(1);
    }
    if ((info->args[0] & ASKS) != 0) {
        say_connect("the second", info->requests[1], &second);
    }
    if ((info->args[0] & MAKES) != 0) {
        cr_wait_for_work(work);
    }
    for (uint32_t round = 1; cr_next_round(); round++) {
        if (round == 1 && (info->args[0] & CONNECTS) != 0) {
            say_connect("the second", info->requests[1], &second);
        }
        cr_poll_work(work);
        if (was_told && (info->args[0] & RECONNECTS) != 0) {
            was_told = 0;
            say_connect("the first again", info->requests[0], &slot);
        }
    }
    cr_wait_for_work(work);
}
