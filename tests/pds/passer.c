/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server, and perhaps a client of another one. It creates its space and connects to its requests.
 *
 * Argument 0: what it does with a message:
 *   0  calls the server of its first request, and answers with the answer
 *   1  blocks for ever
 *   2  computes for ever
 *   3  computes for a time, looks for notices again and again, and answers
 *   4  handles its notices, and never answers
 *   5  it receives none: it handles its notices only
 *   6  it receives none: it computes for ever from the start
 *   7  it receives the next message, and never answers
 *   8  computes for a time, and answers
 * Argument 1: 1: it calls the server of its first request at the start, and prints the answer.
 *             2: it does so again and again, and prints the first answer and the last one.
 * Argument 2: of messages 3 and 8: the number of times that it looks for notices, or computes; of
 *             argument 1: the number of calls.
 * Argument 3: 1: its calls have the same registers, unlike those of cr_call. */
#include "storage.h"
#include <cellreap/image.h>

enum { PASSES = 0, BLOCKS = 1, SPINS = 2, SLOW = 3, KEEPS = 4, NONE = 5, COMPUTES = 6 };
enum { LOSES = 7, BUSY = 8 };
enum { TURNS = 60000 };

static uint32_t next;

static int work(const cr_work_entry *w)
{
    st_say_notice(w);
    return 0;
}

static uint32_t pass(void)
{
    uint32_t received;
    if (cr_info()->args[3] == 1) {
        seL4_SetMR(3, 0);
        return (uint32_t)seL4_MessageInfo_get_label(
            seL4_Call(next, seL4_MessageInfo_new(ST_READ, 0, 0, 0)));
    }
    return cr_call(next, ST_READ, 0, 0, 0, 0, &received);
}

static uint32_t serve(cr_incoming *m);
static const cr_server passer = {serve, work, 0, 0};

static uint32_t serve(cr_incoming *m)
{
    volatile uint64_t turn;
    (void)m;
    cr_checkpoint();
    switch (cr_info()->args[0]) {
    case PASSES:
        return pass();
    case BLOCKS:
        cr_crash(CR_CRASH_BLOCK);
        break;
    case SPINS:
        cr_crash(CR_CRASH_HANG);
        break;
    case KEEPS:
        cr_wait_for_work(work);
    case LOSES:
        cr_serve(&passer);
    default:
        for (uint32_t i = 0; i < cr_info()->args[2]; i++) {
            if (cr_info()->args[0] == SLOW) {
                cr_do_work(work);
            }
            for (turn = 0; turn < TURNS; turn++) {
            }
        }
        break;
    }
    return ST_OK;
}

void cr_main(void)
{
    uint32_t space;
    cr_line line = {0};
    (void)cr_own_space();
    if (cr_info()->n_requests > 0 &&
        cr_connect(cr_info()->requests[0], 1, &next, &space) != CR_RESULT_OK) {
        cr_say_text("nobody to call");
    }
    if (cr_info()->args[1] != 0) {
        cr_say(cr_put(cr_put(&line, "answer: "), st_name(pass())));
    }
    if (cr_info()->args[1] == 2) {
        uint32_t last = ST_OK;
        for (uint32_t i = 0; i < cr_info()->args[2]; i++) {
            last = pass();
        }
        line = (cr_line){0};
        cr_say(cr_put(cr_put(&line, "last answer: "), st_name(last)));
    }
    if (cr_info()->args[0] == NONE) {
        cr_wait_for_work(work);
    }
    if (cr_info()->args[0] == COMPUTES) {
        cr_crash(CR_CRASH_HANG);
    }
    cr_serve(&passer);
}
