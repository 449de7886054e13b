/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that works in rounds: it computes, and asks the root task for what changes nothing. It
 * measures ROUNDS times its argument by the counter of the CPU, makes its space, for which another
 * PD waits, and measures as many again. Then it terminates the PD whose capability it has, if it
 * has one. It prints
 *
 *     alone TICKS
 *     beside TICKS */
#include "counter.h"

enum { ROUNDS = 500, WORK = 10000 };

static uint64_t rounds(void)
{
    const uint64_t begin = counter();
    for (uint64_t i = 0; i < ROUNDS * cr_info()->args[0]; i++) {
        cr_look_state state;
        for (volatile uint32_t done = 0; done < WORK; done++) {
        }
        if (cr_look(0, 0, 0, &state) == CR_RESULT_BAD_OP) {
            cr_exit(1);
        }
    }
    return counter() - begin;
}

static void say(const char *what, uint64_t ticks)
{
    cr_line line = {0};
    cr_say(cr_put_number(cr_put(&line, what), ticks));
}

static int note(const cr_work_entry *work)
{
    (void)work;
    return 0;
}

void cr_main(void)
{
    cr_ticket_info info;
    const uint64_t alone = rounds();
    (void)cr_own_space();
    const uint64_t beside = rounds();
    say("alone ", alone);
    say("beside ", beside);
    if (cr_info()->n_pds > 0) {
        (void)cr_terminate(cr_info()->pds[0].slot, &info);
    }
    cr_wait_for_work(note);
}
