/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client of a console: reads as many characters in each round as argument 0 says, and at the end
 * the rest, and says what was typed. */
#include "console.h"

enum { LINE = 200 };

static uint32_t request;
static uint32_t space;
static uint64_t count;
static int ended;
static cr_line line;

static int work(const cr_work_entry *w)
{
    if (w->kind == CR_NOTICE_LOST && w->space == space) {
        request = 0;
    }
    return 0;
}

/* Asks until it is answered. A driver that comes back knows what it had answered. */
static void read_one(void)
{
    uint64_t character = 0;
    uint32_t received;
    for (;;) {
        cr_poll_work(work);
        if ((request != 0 ||
             cr_connect(cr_info()->requests[0], 1, &request, &space) == CR_RESULT_OK) &&
            cr_call(request, CO_NEXT, &count, 1, &character, 1, &received) == CO_OK) {
            break;
        }
    }
    count++;
    ended = character == CO_END;
    if (!ended) {
        const char text[2] = {(char)character, '\0'};
        cr_put(&line, text);
    }
    if (ended || line.used == LINE) {
        cr_say(&line);
    }
}

void cr_main(void)
{
    do {
        for (uint32_t i = 0; i < cr_info()->args[0] && !ended; i++) {
            read_one();
        }
    } while (cr_next_round());
    while (!ended) {
        read_one();
    }
    cr_wait_for_work(work);
}
