/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD of many pages, so that the root task takes long to create it. It does nothing. */
#include "storage.h"

volatile char pages[6 << 20];

void cr_main(void)
{
    pages[0] = 1;
    cr_wait_for_work(st_note);
}
