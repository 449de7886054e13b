/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Terminates the PD of its first PD capability at once, and that of the second one later. Before
 * that is due, it gives the second one a PD depth of 1. It says what became of the termination, and
 * then tries to terminate the PD with all that it created. */
#include "storage.h"

void cr_main(void)
{
    const cr_startup *info = cr_info();
    cr_ticket_info first;
    cr_ticket_info later;
    cr_line line = {0};
    (void)cr_next_round();
    cr_say_check("terminate", cr_terminate(info->pds[0].slot, &first), CR_RESULT_OK);
    cr_say_check("terminate later", cr_terminate_later(info->pds[1].slot, &later), CR_RESULT_OK);
    cr_say_check("set depths", cr_set_depth(info->pds[1].slot, 1, 0), CR_RESULT_OK);
    cr_say_check("wait", cr_ticket(later.ticket, 1, &later), CR_RESULT_OK);
    cr_say(cr_put_number(cr_put(&line, "its state: "), later.state));
    cr_say_check("terminate the tree", cr_terminate_tree(info->pds[1].slot, &later),
                 CR_RESULT_PREVENTED);
    cr_wait_for_work(st_note);
}
