/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Says each checkpoint before it passes it: "checkpoint 1" and so on in its work, then the same
 * between two rounds.
 *
 * Argument 0: the number of checkpoints in its work before the first round. */
#include <cellreap/client.h>

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

static void say(uint32_t number)
{
    cr_line line = {0};
    cr_say(cr_put_number(cr_put(&line, "checkpoint "), number));
}

void cr_main(void)
{
    uint32_t number = 0;
    while (number < cr_info()->args[0]) {
        say(++number);
        cr_checkpoint();
    }
    do {
        say(++number);
    } while (cr_next_round());
    cr_wait_for_work(work);
}
