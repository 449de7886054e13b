/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that leaves its rounds after the first one, and then handles its notices. */
#include "storage.h"

void cr_main(void)
{
    (void)cr_next_round();
    cr_say_text("enough");
    cr_wait_for_work(st_note);
}
