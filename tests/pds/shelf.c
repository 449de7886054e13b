/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that creates spaces, answers nobody and never acknowledges a notice.
 *
 * Argument 0: the number of spaces that it creates, beside those of the configuration.
 * Argument 1: the number of times that it fetches notices. */
#include "storage.h"

void cr_main(void)
{
    const cr_startup *info = cr_info();
    uint64_t results[2 + CR_WORK_MAX * CR_WORK_WORDS];
    uint32_t space;
    uint32_t fetched = 0;
    for (uint32_t i = 0; i < info->args[0]; i++) {
        cr_line name = {0};
        cr_put_number(cr_put(&name, "s"), i);
        name.text[name.used] = '\0';
        if (cr_create_space("SHELF", name.text, &space) != CR_RESULT_OK) {
            cr_exit(1);
        }
    }
    for (uint32_t i = 0; i < info->n_spaces; i++) {
        if (cr_create_space(info->spaces[i].type, info->spaces[i].name, &space) != CR_RESULT_OK) {
            cr_exit(1);
        }
    }
    for (;;) {
        seL4_Word badge;
        (void)cr_recv(CR_SLOT_ENDPOINT, &badge, CR_SLOT_REPLY);
        for (; fetched < info->args[1]; fetched++) {
            if (cr_call_root(CR_OP_GET_WORK, 0, 0, results, 2 + CR_WORK_MAX * CR_WORK_WORDS) !=
                CR_RESULT_OK) {
                cr_exit(2);
            }
        }
    }
}
