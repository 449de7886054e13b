/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client of the imposer. It calls it before it allows anything, and then once for each of its
 * allowances of 3, 0 and 1 edges. It prints what it got. In its first round it drops all that it
 * has of the imposer and prints the results. */
#include "imposer.h"

static uint32_t request;
static uint32_t space;
static uint64_t objects[IM_MOST];
static uint32_t n_objects;

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

static void ask(const char *what)
{
    cr_line line = {0};
    uint64_t reply[1 + IM_MOST] = {0};
    uint32_t received;
    if (cr_call(request, 0x200, 0, 0, reply, 1 + IM_MOST, &received) != IM_OK || received == 0) {
        cr_say_text("no answer");
        return;
    }
    for (uint32_t i = 1; i < received && n_objects < IM_MOST; i++) {
        objects[n_objects++] = reply[i];
    }
    cr_put_number(cr_put(cr_put(&line, what), ": given "), received - 1);
    cr_say(cr_put_number(cr_put(&line, ", then "), reply[0]));
}

static void let_go(void)
{
    cr_line line = {0};
    uint32_t released = 0;
    for (uint32_t i = 0; i < n_objects; i++) {
        released +=
            cr_call_root(CR_OP_RELEASE, (uint64_t[]){space, objects[i]}, 2, 0, 0) == CR_RESULT_OK;
    }
    cr_put_number(cr_put(&line, "released "), released);
    cr_say(cr_put_number(cr_put(&line, ", disconnect "),
                         cr_call_root(CR_OP_DISCONNECT, (uint64_t[]){space}, 1, 0, 0)));
}

void cr_main(void)
{
    if (cr_connect(cr_info()->requests[0], 1, &request, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    ask("nothing allowed");
    (void)cr_allow(space, 3);
    ask("3 allowed");
    (void)cr_allow(space, 1);
    (void)cr_allow(space, 0);
    ask("taken back");
    (void)cr_allow(space, 1);
    ask("1 allowed");
    for (uint32_t round = 1; cr_next_round(); round++) {
        cr_poll_work(work);
        if (round == 1) {
            let_go();
        }
    }
    cr_say_text("at the end");
    cr_wait_for_work(work);
}
