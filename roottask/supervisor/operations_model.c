/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations on the extraction of the model state: the request for it and the reports of servers.
 * See operations.h for the rules of checks. Only PDs that the configuration permits may extract. */
#include "supervisor.h"

cr_result cr_check_extract(cr_asked *a)
{
    int may = (a->from->flags & CR_IMAGE_MAY_EXTRACT) != 0;
    return may ? cr_extract_check(a->from, 1) : CR_RESULT_DENIED;
}

void cr_do_extract(cr_asked *a)
{
    cr_extract_start(a->from, &a->results[0]);
    a->count = 1;
}

cr_result cr_check_subgraph(cr_asked *a)
{
    cr_found *found = &a->found;
    if (cr_work_look(cr_sys.work, cr_receiver(a->from), a->args.token, &found->notice) != CR_OK) {
        return CR_RESULT_NO_SUCH;
    }
    const cr_operation_args *args = &a->args;
    return cr_extract_may_take(a->from, &found->notice, args->items, args->count, &found->pieces);
}

void cr_do_subgraph(cr_asked *a)
{
    cr_extract_take(a->from, &a->found.notice, &a->found.pieces);
}
