/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that changes the policy of others. It prints the result of each operation.
 *
 * Argument 0, in decimal digits from the last: the orders for its PD capabilities in their order,
 * and behind them that for itself:
 *   0  nothing
 *   1  pin it
 *   2  drop its pin
 *   3  set its depths to infinity */
#include "storage.h"

enum { PIN = 1, UNPIN = 2, DEPTHS = 3 };

static void govern(const char *name, uint32_t slot, uint32_t order)
{
    cr_line line = {0};
    cr_put(&line, order == PIN ? "pin " : order == UNPIN ? "unpin " : "depths ");
    cr_put(cr_put(&line, name), ": ");
    cr_say(cr_put_number(&line, order == DEPTHS ? cr_set_depth(slot, 0xffffffffu, 0xffffffffu)
                                                : cr_pin(slot, order == PIN)));
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    uint32_t orders = info->args[0];
    for (uint32_t i = 0; i < info->n_pds; i++, orders /= 10) {
        if (orders % 10 != 0) {
            govern(info->pds[i].name, info->pds[i].slot, orders % 10);
        }
    }
    if (orders % 10 != 0) {
        govern("itself", 0, orders % 10);
    }
    cr_checkpoint();
    while (cr_next_round()) {
    }
    cr_wait_for_work(st_note);
}
