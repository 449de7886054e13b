/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Does nothing but what notices ask of it. */
#include "storage.h"

static int work(const cr_work_entry *w)
{
    st_say_notice(w);
    return 0;
}

void cr_main(void)
{
    cr_wait_for_work(work);
}
