/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The limits of time: finds PDs that are late, and ends waits that have lasted too long. Every wait
 * for the root task must be bounded if there is a timer, except a wait at a checkpoint, which the
 * hooks end. */
#ifndef CELLREAP_SUPERVISOR_WAITS_H
#define CELLREAP_SUPERVISOR_WAITS_H

#include "system/system.h"

/* The PD's operation is answered later. The wait is limited by the PD's own deadline, or by the
 * system's await_ms if it has none. In CONNECT only the time counts in which the PD that has to act
 * next could run. The hooks decide how long a wait at a checkpoint lasts. */
void cr_waits_begin(cr_pd *pd, cr_wait what);
/* Answers a PD that waits, with the present result. */
void cr_waits_release(cr_pd *pd);
/* Called after time has passed. Makes late PDs triggers, gives up receivers that were awaited long
 * enough, and answers PDs that have waited long enough. */
void cr_waits_expire(void);
/* Ends all waits that a timer would bound. Only for a caller that knows that no PD can run: without
 * a timer no wait expires. Has no effect if there is a timer. Returns whether a wait was ended. */
int cr_waits_without_timer(void);
/* Answers PDs that the cleanup under way awaits and that wait for something else. Once for each
 * notice. */
void cr_waits_follow_up(void);
/* Whether anything is due at a certain time, and whether a notice with a deadline waits for a PD
 * that does not itself wait, or a limit of hung.h will decide something. */
int cr_waits_pending(void);
int cr_waits_of_others(void);

#endif
