/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes its space, and exits after a round. */
#include "storage.h"

void cr_main(void)
{
    (void)cr_own_space();
    (void)cr_next_round();
    cr_exit(7);
}
