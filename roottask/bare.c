/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The hooks of a root task without a scenario: there are none. The supervisor runs without them.
 * This file must stay empty of behaviour, because it shows that the root task works without the
 * scenario. */
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

void cr_root_ready(void)
{
}
