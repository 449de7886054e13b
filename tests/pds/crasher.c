/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that faults as soon as it runs. */
#include <cellreap/client.h>
#include <cellreap/image.h>

void cr_main(void)
{
    cr_crash(CR_CRASH_PAGE_FAULT);
}
