/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A root task without a scenario: the system just runs. */
#include "root.h"

const cr_hooks *cr_root_hooks(void)
{
    return 0;
}

void cr_root_begin(seL4_CPtr untyped, seL4_CPtr bound)
{
    (void)untyped;
    (void)bound;
}
