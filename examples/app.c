/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client. At its start it opens a table of the database. In each round it reads the table, and
 * asks the database for the state of the database's second file. It prints both outcomes in
 * every round in which one of them changed, and again at the end.
 *
 * The program shows how a client notices that its server was destroyed, and how it connects
 * again: it opens the table anew in the next round after a loss. */
#include "storage.h"

static uint32_t request;
static uint32_t space;
static uint32_t table;
static uint32_t last_read;
static uint32_t last_status;
static uint32_t rounds;
static int lost;

static int work(const cr_work_entry *w)
{
    st_say_notice(w);
    lost |= w->kind == CR_NOTICE_LOST && w->space == space;
    return 0;
}

static void open_database(int wait)
{
    uint64_t reply;
    uint32_t received;
    table = 0;
    if (cr_connect(cr_info()->requests[0], wait, &request, &space) == CR_RESULT_OK &&
        cr_allow(space, 1) == CR_RESULT_OK && /* the table */
        cr_call(request, ST_OPEN, 0, 0, &reply, 1, &received) == ST_OK && received == 1) {
        table = (uint32_t)reply;
        lost = 0;
    }
}

static void say_outcome(const char *when, uint32_t read, uint32_t status)
{
    cr_line line = {0};
    cr_put(cr_put(&line, when), ": table: ");
    cr_put(cr_put(cr_put(&line, st_name(read)), "; database: "), st_name(status));
    cr_say(&line);
}

static void do_round(void)
{
    uint64_t value;
    uint32_t received;
    uint32_t read =
        table != 0 ? cr_call(table, ST_READ, 0, 0, &value, 1, &received) : (uint32_t)CR_CALL_LOST;
    uint32_t status = request != 0 ? cr_call(request, ST_STATUS, 0, 0, &value, 1, &received)
                                   : (uint32_t)CR_CALL_LOST;
    if (read != last_read || status != last_status) {
        cr_line line = {0};
        cr_put_number(cr_put(&line, "round "), rounds);
        line.text[line.used < CR_SAY_MAX ? line.used : CR_SAY_MAX - 1] = '\0';
        say_outcome(line.text, read, status);
    }
    last_read = read;
    last_status = status;
}

void cr_main(void)
{
    open_database(1);
    do {
        cr_poll_work(work);
        if (lost || table == 0) {
            open_database(0);
        }
        rounds++;
        do_round();
    } while (cr_next_round());
    cr_poll_work(work);
    say_outcome("at the end", last_read, last_status);
    cr_wait_for_work(work);
}
