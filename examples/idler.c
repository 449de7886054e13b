/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that does nothing but fetch and acknowledge its notices. */
#include "storage.h"

void cr_main(void)
{
    cr_wait_for_work(st_note);
}
