/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Does nothing but what notices ask of it. */
#include "storage.h"

void cr_main(void)
{
    cr_wait_for_work(st_note);
}
