/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The part of the root task that main.c calls and the link selects: scenario/scenario.c, which
 * stages crashes, or bare.c, which does nothing. The supervisor must not depend on either file. */
#ifndef CELLREAP_ROOT_H
#define CELLREAP_ROOT_H

#include "supervisor/hooks.h"

/* What the root task makes for itself besides the timer, the turn threads and the hooks' objects.
 */
enum {
    CR_OWN_BLOCK_BITS = 14, /* of the untyped, which the hooks' objects come from too */
    /* An endpoint and a notification, with the capability of the turn threads to it; those of the
     * worker and writer. */
    CR_OWN_SLOTS = 12
};

/* Returns the hooks, or 0 if there are none. */
const cr_hooks *cr_root_hooks(void);
/* Called once, after the configuration is known and before any PD exists. `untyped` has room for a
 * TCB and two notifications. `bound` is the notification that is bound to the root task's
 * thread. */
void cr_root_begin(seL4_CPtr untyped, seL4_CPtr bound);
/* Called once, when the PDs of the configuration exist and none has run. */
void cr_root_ready(void);

#endif
