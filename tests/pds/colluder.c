/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that answers no call. With a request it connects to all of its requests after a round,
 * and after another it calls the server of the first. So two or more of them can wait for each
 * other in a circle of calls. Without a request it receives all calls and keeps them unanswered.
 *
 * Argument 0: 1 if it keeps calls unanswered after its own call has failed. Otherwise it then
 * handles its notices. */
#include "storage.h"

static _Noreturn void keep_calls(void)
{
    for (;;) {
        seL4_Word badge;
        (void)cr_recv(CR_SLOT_ENDPOINT, &badge, CR_SLOT_REPLY);
    }
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    cr_line line = {0};
    uint32_t slots[CR_STARTUP_REQUESTS];
    uint32_t space;
    uint32_t received;
    (void)cr_own_space();
    if (info->n_requests == 0) {
        keep_calls();
    }
    (void)cr_next_round();
    for (uint32_t i = 0; i < info->n_requests; i++) {
        if (cr_connect(info->requests[i], 1, &slots[i], &space) != CR_RESULT_OK) {
            cr_say_text("nobody to collude with");
            cr_exit(1);
        }
    }
    (void)cr_next_round();
    uint32_t label = cr_call(slots[0], ST_ALLOCATE, 0, 0, 0, 0, &received);
    cr_say(cr_put(cr_put(&line, "answer: "), st_name(label)));
    if (info->args[0] == 1) {
        keep_calls();
    }
    cr_wait_for_work(st_note);
}
