/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that computes for a time, calls the server of its first request, if it has one, and
 * answers that it did. It calls again when that server has come back, until it has an answer.
 *
 * Argument 0: not 0: it serves nobody. In each round it calls so often, and at the end it prints
 *             how many of its calls have an answer. */
#include "storage.h"

enum { TURNS = 20000 };

static uint32_t next; /* 0: it has no slot */
static uint32_t space;

static int work(const cr_work_entry *w)
{
    next = w->kind == CR_NOTICE_LOST && w->space == space ? 0 : next;
    return 0;
}

static void compute(void)
{
    for (volatile uint64_t turn = 0; turn < TURNS; turn++) {
    }
}

/* Returns whether the last server has answered, through all between. */
static int pass_on(void)
{
    uint32_t received;
    for (;;) {
        if (next != 0 && cr_call(next, ST_READ, 0, 0, 0, 0, &received) == ST_OK) {
            return 1;
        }
        cr_poll_work(work);
        if (next == 0 && cr_connect(cr_info()->requests[0], 1, &next, &space) != CR_RESULT_OK) {
            return 0;
        }
    }
}

static uint32_t serve(cr_incoming *m)
{
    (void)m;
    cr_checkpoint();
    compute();
    const int passed = cr_info()->n_requests == 0 || pass_on();
    compute();
    return passed ? ST_OK : ST_IO_ERROR;
}

static const cr_server relay = {serve, work, 0, 0};

void cr_main(void)
{
    uint32_t calls = 0;
    uint32_t answers = 0;
    cr_line line = {0};
    (void)cr_own_space();
    if (cr_info()->args[0] == 0) {
        cr_serve(&relay);
    }
    do {
        for (uint32_t i = 0; i < cr_info()->args[0]; i++) {
            cr_checkpoint();
            calls++;
            answers += pass_on() != 0;
        }
    } while (cr_next_round());
    cr_put_number(cr_put(&line, "calls: "), calls);
    cr_say(cr_put_number(cr_put(&line, ", answers: "), answers));
    cr_wait_for_work(work);
}
