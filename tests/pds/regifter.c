/* SPDX-License-Identifier: BSD-2-Clause
 *
 * When the PD of its first PD capability was destroyed and created again, it sends the capability
 * to the successor to the PD of its second one, which the configuration gives that capability, too.
 * It says the result. */
#include "storage.h"

enum { PD_SPACE = 2 /* the number of the second core space */, ATTEMPTS = 1000 };

void cr_main(void)
{
    const cr_startup *info = cr_info();
    cr_line line = {0};
    uint32_t slot;
    cr_result result = CR_RESULT_NO_SUCH;
    cr_await_signal(st_note);
    /* The successor has the next number behind the one PD that is made later than this one. */
    for (uint32_t i = 0;
         (result == CR_RESULT_NO_SUCH || result == CR_RESULT_DENIED) && i < ATTEMPTS; i++) {
        seL4_Yield();
        result = cr_send(PD_SPACE, info->pd + 2, info->pds[1].slot, 0, &slot);
    }
    cr_say(cr_put_number(cr_put(&line, "sent: "), result));
    while (cr_next_round()) {
        cr_poll_work(st_note);
    }
    cr_wait_for_work(st_note);
}
