/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that makes its space and then computes for ever, without a system call. */
#include <cellreap/client.h>

void cr_main(void)
{
    (void)cr_own_space();
    for (volatile uint64_t turns = 0;; turns++) {
    }
}
