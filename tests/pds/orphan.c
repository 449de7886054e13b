/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that lets the one that spawned it give it anything, and then waits for notices. */
#include "storage.h"

enum { MOST = 8 };

void cr_main(void)
{
    cr_say_check("allow", cr_allow_pd(cr_info()->creator, MOST), CR_RESULT_OK);
    cr_wait_for_work(st_note);
}
