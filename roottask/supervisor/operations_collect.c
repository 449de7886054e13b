/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The operation that asks for a collection. See operations.h for the rules of checks. Only PDs that
 * the configuration permits may ask. A collection never takes a PD of the configuration, so none
 * that it protects: it need not be planned before it is accepted. */
#include "supervisor.h"

cr_result cr_check_collect(cr_asked *a)
{
    if ((a->from->flags & CR_IMAGE_MAY_COLLECT) == 0) {
        return CR_RESULT_DENIED;
    }
    return cr_ticket_room(a->from) ? CR_RESULT_OK : CR_RESULT_BUSY;
}

void cr_do_collect(cr_asked *a)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_COLLECT_ASKED);
    cr_trace_pd(a->from);
    cr_trace_end(&cr_sys.trace);
    cr_answer_ticket(a, cr_ticket_make(a->from, CR_TICKET_COLLECTION, 0));
    cr_cleaner_collect();
}
