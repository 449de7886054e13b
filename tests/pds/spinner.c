/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A computation that never rests. It makes no system call after it has started. */
#include <cellreap/client.h>

void cr_main(void)
{
    for (volatile uint64_t turns = 0;; turns++) {
    }
}
