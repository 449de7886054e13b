/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that another one spawned, and that faults when it is told that it is about to go. */
#include "storage.h"
#include <cellreap/image.h>

static int faint(const cr_work_entry *work)
{
    if (work->kind == CR_NOTICE_PRE_DESTROY) {
        cr_crash(CR_CRASH_PAGE_FAULT);
    }
    return 0;
}

void cr_main(void)
{
    cr_say_check("allow", cr_allow_pd(cr_info()->creator, 1), CR_RESULT_OK);
    cr_say_check("subscribe", cr_subscribe(0, 0), CR_RESULT_OK);
    cr_wait_for_work(faint);
}
