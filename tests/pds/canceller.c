/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Cancels what is its own, and what is not.
 *
 * Argument 0: what it is.
 * 0: has things done, and cancels them too early, in time, twice and too late. Its PD capabilities
 *    are those of two victims. With argument 1 it stops the first one before the end that it asked
 *    for begins.
 * 1: has no right to anything. It names the tickets of others.
 * 2: has the capability to the first one and to the PD `phoenix`, and so may cancel for them. */
#include <cellreap/client.h>

enum { BOSS = 0, THIEF = 1, TRUSTED = 2 };

/* The tickets of the boss, in this order. */
enum { EXTRACTION = 1, TAKEN_BACK = 2, LEFT_ALONE = 3, AT_ONCE = 4, NEVER_ISSUED = 99 };

static void say(const char *what, cr_result result)
{
    cr_line line = {0};
    cr_say(cr_put_number(cr_put(cr_put(&line, what), ": "), result));
}

static void say_ticket(const char *what, uint32_t ticket, int wait)
{
    cr_ticket_info info;
    const cr_result result = cr_ticket(ticket, wait, &info);
    say(what, result);
    if (result == CR_RESULT_OK) {
        say("its state", (cr_result)info.state);
    }
}

static cr_result connect(const char *name)
{
    uint32_t slot;
    uint32_t space;
    return cr_connect(name, 1, &slot, &space);
}

static void be_boss(const cr_startup *info)
{
    uint32_t ticket;
    cr_ticket_info told;
    const uint32_t first = info->pds[0].slot;
    say("extract", cr_extract(&ticket));
    say_ticket("the extraction", EXTRACTION, 0);
    say("cancel the extraction", cr_cancel(EXTRACTION, 0));
    say_ticket("the extraction", EXTRACTION, 0);
    say("twice", cr_cancel(EXTRACTION, 0));
    say("terminate later", cr_terminate_later(first, &told));
    say_ticket("the end of the first", TAKEN_BACK, 0);
    say("terminate later again", cr_terminate_later(first, &told));
    say("cancel the end", cr_cancel(TAKEN_BACK, 0));
    say_ticket("the end of the first", TAKEN_BACK, 0);
    say("twice", cr_cancel(TAKEN_BACK, 0));
    say("terminate later", cr_terminate_later(first, &told));
    if (info->args[1] != 0) {
        say("terminate it at once", cr_terminate(first, &told));
        say("cancel what was stopped", cr_cancel(LEFT_ALONE, 0));
        say_ticket("its end", LEFT_ALONE, 1);
        say_ticket("its end at once", AT_ONCE, 1);
        return;
    }
    say("terminate at once", cr_terminate(info->pds[1].slot, &told));
    say("cancel what was stopped", cr_cancel(AT_ONCE, 0));
    say("connect", connect(info->requests[1]));
    say_ticket("the end of the first", LEFT_ALONE, 1);
    say("after the end", cr_cancel(LEFT_ALONE, 0));
}

static void be_thief(const cr_startup *info)
{
    uint32_t slot = 0;
    uint32_t space;
    for (uint32_t ticket = EXTRACTION; ticket <= AT_ONCE; ticket++) {
        say("a ticket of another", cr_cancel(ticket, 0));
    }
    say("no ticket", cr_cancel(NEVER_ISSUED, 0));
    say("nothing", cr_cancel(0, 0));
    (void)cr_connect(info->requests[0], 0, &slot, &space);
    say("with a request", cr_cancel(LEFT_ALONE, slot));
    say("a respawn", cr_stay_down("phoenix"));
    say("the respawn of nobody", cr_stay_down("nobody"));
    say("connect", connect(info->requests[1]));
}

static void be_trusted(const cr_startup *info)
{
    const uint32_t boss = info->pds[0].slot;
    say("no ticket of the boss", cr_cancel(NEVER_ISSUED, boss));
    say("its stopped victim", cr_cancel(AT_ONCE, boss));
    say("its connect", cr_cancel(0, boss));
    say("a connect that is over", cr_cancel(0, boss));
    say("a respawn", cr_stay_down("phoenix"));
    say("twice", cr_stay_down("phoenix"));
}

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    switch (info->args[0]) {
    case BOSS:
        be_boss(info);
        break;
    case THIEF:
        be_thief(info);
        break;
    default:
        be_trusted(info);
        break;
    }
    cr_wait_for_work(work);
}
