/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Extraction of the model state: asking for it, and reporting to it. */
#include "supervisor.h"

cr_result cr_check_extract(cr_asked *a)
{
    return (a->from->flags & CR_IMAGE_MAY_EXTRACT) == 0 ? CR_RESULT_DENIED : cr_extract_check(a->from, 1);
}

void cr_do_extract(cr_asked *a)
{
    cr_extract_start(a->from, &a->results[0]);
    a->count = 1;
}

cr_result cr_check_subgraph(cr_asked *a)
{
    if (cr_work_look(cr_sys.work, cr_receiver(a->from), a->args.token, &a->found.notice) != CR_OK) {
        return CR_RESULT_NO_SUCH;
    }
    return cr_extract_may_take(a->from, &a->found.notice, a->args.items, a->args.count, &a->found.pieces);
}

void cr_do_subgraph(cr_asked *a)
{
    cr_extract_take(a->from, &a->found.notice, &a->found.pieces);
}
