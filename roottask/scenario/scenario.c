/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Connects the scenario to the supervisor. See scenario.h. A root task without a scenario links
 * bare.c instead of this folder. */
#include "scenario.h"
#include "root.h"

static int handled(void)
{
    cr_director_handled();
    return !cr_quiet_is_over();
}

const cr_hooks *cr_root_hooks(void)
{
    static const cr_hooks hooks = {
        .checkpoint = cr_director_checkpoint,
        .release = cr_director_release,
        .alarm = cr_director_alarm,
        .signal = cr_quiet_signal,
        .handled = handled,
    };
    return &hooks;
}

void cr_root_begin(seL4_CPtr untyped, seL4_CPtr bound)
{
    cr_quiet_begin(untyped, bound);
}
