/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A computation that prints a line after each of its rounds and makes no other operation.
 *
 * Argument 0: the number of rounds.
 * Argument 1: the length of a round, in turns of a loop.
 * Argument 2: it exits after its rounds if its number is smaller than this. */
#include <cellreap/client.h>

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    for (uint32_t round = 0; round < info->args[0]; round++) {
        for (volatile uint32_t turn = 0; turn < info->args[1]; turn++) {
        }
        cr_say_text("round");
    }
    if (info->pd < info->args[2]) {
        cr_exit(0);
    }
    while (cr_next_round()) {
    }
    cr_wait_for_work(work);
}
