/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What main.c is linked with beside the supervisor: scenario/scenario.c, which stages crashes, or bare.c, which does not. */
#ifndef CELLREAP_ROOT_H
#define CELLREAP_ROOT_H

#include "supervisor/hooks.h"

/* The hooks; 0: none. */
const cr_hooks *cr_root_hooks(void);
/* Called once, when the configuration is known and no PD is there yet. `untyped`: has room for a TCB and two
 * notifications. `bound`: the notification that is bound to the root task's thread. */
void cr_root_begin(seL4_CPtr untyped, seL4_CPtr bound);

#endif
