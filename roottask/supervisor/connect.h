/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CONNECT: a REQUEST to a space by the space's name, now or when the space is there. */
#ifndef CELLREAP_SUPERVISOR_CONNECT_H
#define CELLREAP_SUPERVISOR_CONNECT_H

#include "system/system.h"

/* The live space of that name. CR_RESULT_NO_SUCH. */
cr_result cr_find_named_space(const char *name, cr_ref *out);
/* Gives a PD its REQUEST to a space, or tells it the one it has: slot and the space's number. */
cr_result cr_connect_now(cr_pd *pd, cr_ref space, uint64_t *results);
/* Whether a space of that name of the configuration can still come: the PD that is to make it is alive and does not itself
 * wait for one that cannot come, or it will be made. */
int cr_connect_may_come(const char *name);
/* Whether what the PD waits for comes from a PD that is not there and will be made. */
int cr_connect_is_on_its_way(const cr_pd *pd);
/* Connects those that wait for a space of that name. */
void cr_connect_wake(const char *name);
/* Answers a PD that waits: with its REQUEST if the space is there, else with GONE. */
void cr_connect_give_up(cr_pd *pd);
/* Tells those that wait for a space that cannot come any more. Call it when PDs or spaces may have gone. */
void cr_connect_follow_up(void);

#endif
