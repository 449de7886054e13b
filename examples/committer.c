/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client of a database that commits. In each round it commits as many values as argument 0 says,
 * each until it is acknowledged, and at the end it says how many were. */
#include "storage.h"

static uint32_t request;
static uint32_t space;
static uint32_t table;
static uint64_t acknowledged;
static uint64_t again;

static int work(const cr_work_entry *w)
{
    if (w->kind == CR_NOTICE_LOST && w->space == space) {
        table = 0;
    }
    return 0;
}

static int open_table(void)
{
    uint64_t slot;
    uint32_t received;
    if (cr_connect(cr_info()->requests[0], 1, &request, &space) == CR_RESULT_OK &&
        cr_allow(space, 1) == CR_RESULT_OK &&
        cr_call(request, ST_OPEN, 0, 0, &slot, 1, &received) == ST_OK && received == 1) {
        table = (uint32_t)slot;
    }
    return table != 0;
}

static void commit(void)
{
    const uint64_t words[] = {acknowledged + 1, (acknowledged + 1) * 0x9e3779b97f4a7c15};
    for (;;) {
        uint32_t received;
        cr_poll_work(work);
        if ((table != 0 || open_table()) &&
            cr_call(table, ST_COMMIT, words, 2, 0, 0, &received) == ST_OK) {
            acknowledged++;
            return;
        }
        again++;
    }
}

void cr_main(void)
{
    cr_line line = {0};
    do {
        for (uint32_t i = 0; i < cr_info()->args[0]; i++) {
            commit();
        }
    } while (cr_next_round());
    cr_say(cr_put_number(cr_put(&line, "acknowledged "), acknowledged));
    cr_say(cr_put_number(cr_put(&line, "again "), again));
    cr_wait_for_work(work);
}
