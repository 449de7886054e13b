/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Protected procedures of PDs for Microkit: calls over a channel. And faults of their children.
 *
 * The endpoint of a PD that others call, or that handles faults of others, is no part of its body.
 * It is one of the root task's own objects, the PD's door, which is there before the first PD. So
 * whoever calls a PD that comes back waits there until it is back, and no capability of another PD
 * changes. If the PD does not come back, its door is closed: nobody waits there any more, and calls
 * end with an error of the kernel. The root task does not learn of faults that go to a door.
 *
 * In the model, a PD that others call manages a space, and each of them has a request to it. These
 * PDs ask for no operations. The root task makes space and requests for them, as if each had asked
 * for its own. A request stands for no capability. */
#ifndef CELLREAP_SYSTEM_DOORS_H
#define CELLREAP_SYSTEM_DOORS_H

#include "system.h"

/* Makes the doors. Only for setup. */
void cr_doors_init(void);
/* The door of the PD, and where its faults go if a parent that is there handles them. */
void cr_door_fill(uint32_t config, cr_body_params *out);
/* The capability with which the PD of this end of a channel calls the other one. */
cr_peer_cap cr_door_cap(uint32_t end);
/* Whether the other PD does not come back: then who calls it finds the slot empty. */
int cr_door_is_closed(uint32_t end);
/* The PD that a PD for Microkit calls over this slot, if it is there, or 0. */
cr_pd *cr_door_over(uint32_t config, uint32_t slot);
/* Takes the capabilities to the door from all, and ends the calls that wait there. */
void cr_door_close(uint32_t config);
/* Makes the spaces and requests that are missing. What cannot be made now is tried again. */
void cr_doors_connect(void);

#endif
