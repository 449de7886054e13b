/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The threads that parents of Microkit have of their children.
 *
 * libmicrokit crashes if the kernel refuses to restart or to stop a child. So the parent's slot for
 * it is never empty. While the child is not there, or is stopped, the slot has the child's
 * stand-in: a thread of the root task's own, which has no time, and never runs. Each child has
 * another one, because a thread has registers, by which two parents could talk. */
#ifndef CELLREAP_SYSTEM_STAND_INS_H
#define CELLREAP_SYSTEM_STAND_INS_H

#include "system.h"

/* Makes the stand-ins. Only for setup. */
void cr_stand_ins_init(void);
/* The capabilities to stand-ins with which the PD starts. Returns how many there are. */
uint32_t cr_stand_ins_fill(uint32_t config, cr_peer_cap *out);
/* Puts the thread of the child into the slot, or its stand-in. To repeat this has no effect. */
seL4_Error cr_put_thread(cr_slot slot, const cr_pd *child);
seL4_Error cr_put_stand_in(cr_slot slot, const cr_pd *child);
/* Takes the thread of the child from its parent, if it has one, which could have it run on. */
seL4_Error cr_take_thread(const cr_pd *child);

#endif
