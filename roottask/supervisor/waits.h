/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who is late, and who has waited long enough. */
#ifndef CELLREAP_SUPERVISOR_WAITS_H
#define CELLREAP_SUPERVISOR_WAITS_H

#include "system/system.h"

/* The PD's operation is answered later, and in its time at the latest: its own deadline, or the system's await_ms if it has none.
 * At a checkpoint it waits as long as the hooks like. */
void cr_waits_begin(cr_pd *pd, cr_wait what);
/* Answers a PD that waits, with what there is to say now. */
void cr_waits_release(cr_pd *pd);
/* Time has passed: triggers for PDs that are late, answers for those that have waited long enough, cleanups and extractions
 * that await nobody any longer. */
void cr_waits_expire(void);
/* Without a timer no wait ever expires. Whoever knows that nobody can run says so by this, and all that are bounded by time
 * are over. Does nothing where there is a timer. Returns whether something was. */
int cr_waits_without_timer(void);
/* PDs that the cleanup under way awaits, and that wait for something else, are answered, once a notice. */
void cr_waits_follow_up(void);
/* Whether something is due at a certain time; the same of notices of PDs that do not wait. */
int cr_waits_pending(void);
int cr_waits_of_others(void);

#endif
