/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A fault handler. It has a space, so that it also gets notices about clients.
 *
 * Argument 0: how many faults it answers with `ok`. It leaves all later ones to the root task.
 * Argument 1: 1: it keeps each fault instead, and acknowledges all other notices. */
#include "storage.h"

static uint32_t left;

static int handle(const cr_fault *fault)
{
    cr_line line = {0};
    cr_put_hex(cr_put(&line, "fault of PD_"), fault->pd);
    cr_put_number(cr_put(&line, ": kind "), (uint64_t)fault->kind);
    cr_say(cr_put_hex(cr_put(&line, ", address 0x"), fault->address));
    if (left == 0) {
        return 1;
    }
    left--;
    return 0;
}

static void keep_faults(void)
{
    uint64_t work[2 + CR_WORK_MAX * CR_WORK_WORDS];
    for (;;) {
        seL4_Word badge;
        (void)seL4_Wait(CR_SLOT_NOTIFICATION, &badge);
        while (cr_call_root(CR_OP_GET_WORK, 0, 0, work, 2 + CR_WORK_MAX * CR_WORK_WORDS) ==
                   CR_RESULT_OK &&
               work[1] != 0) {
            for (uint32_t i = 0; work[0] != CR_NOTICE_FAULT && i < work[1]; i++) {
                uint64_t one[3] = {1, work[2 + i * CR_WORK_WORDS], CR_WORK_DONE};
                (void)cr_call_root(CR_OP_FINISH_WORK, one, 3, 0, 0);
            }
        }
    }
}

void cr_main(void)
{
    (void)cr_own_space();
    left = cr_info()->args[0];
    if (cr_info()->args[1] == 1) {
        keep_faults();
    }
    cr_handle_faults(handle);
    cr_wait_for_work(st_note);
}
