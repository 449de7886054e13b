/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A background computation: after its start it runs for ever and makes no system call. */
#include <cellreap/client.h>

void cr_main(void)
{
    for (volatile uint64_t turns = 0;; turns++) {
    }
}
