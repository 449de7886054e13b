/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Keeps the root task busy: when the space of its first request exists, it creates PDs, and sleeps
 * after each of them. It sleeps by connecting to the space of its second request, which nobody
 * creates: it waits for its deadline.
 *
 * Argument 0: how many PDs it creates. */
#include "storage.h"

void cr_main(void)
{
    const cr_startup *info = cr_info();
    uint64_t program[CR_NAME_WORDS] = {0x746e616967u}; /* "giant" */
    uint64_t results[2];
    uint32_t slot;
    uint32_t space;
    uint32_t made = 0;
    cr_line line = {0};
    while (cr_connect(info->requests[0], 1, &slot, &space) != CR_RESULT_OK) {
    }
    for (uint64_t i = 0; i < info->args[0]; i++) {
        made += cr_call_root(CR_OP_SPAWN, program, CR_NAME_WORDS, results, 2) == CR_RESULT_OK;
        (void)cr_connect(info->requests[1], 1, &slot, &space);
    }
    cr_say(cr_put_number(cr_put(&line, "made "), made));
    cr_wait_for_work(st_note);
}
