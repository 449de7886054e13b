/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The scenario: crashes that the configuration stages, and rounds of work between them. It uses the
 * supervisor's hooks and is not a part of the supervisor. No file outside this folder may depend on
 * it, so that a root task can be built without it. */
#ifndef CELLREAP_SCENARIO_H
#define CELLREAP_SCENARIO_H

#include "supervisor/supervisor.h"

/* What the root task does when no PD can run. */
typedef enum cr_idle {
    CR_IDLE_AGAIN = 0, /* a PD can run again */
    CR_IDLE_WAIT,      /* nothing happens before the next timer interrupt */
    CR_IDLE_OVER       /* the run is over */
} cr_idle;

/* -- director.c */

void cr_director_begin(void);
cr_hook_answer cr_director_checkpoint(cr_pd *pd, int round_boundary, uint64_t *order,
                                      uint32_t *slot);
void cr_director_release(cr_pd *pd);
void cr_director_alarm(void);
void cr_director_handled(void);
/* Called when no PD can run except background computations. */
cr_idle cr_director_idle(void);

/* -- inject.c */

/* Has the failures of the configuration happen (system/inject.h). */
void cr_inject_begin(void);

/* -- quiet.c */

/* The slots of that thread: its TCB, its notification, its signal. */
enum { CR_QUIET_SLOTS = 3 };
/* Makes the thread that runs when no other thread can. `untyped` and `bound` are those of
 * cr_root_begin. */
void cr_quiet_begin(seL4_CPtr untyped, seL4_CPtr bound);
/* Handles signals. Calls cr_director_idle after the thread has run. */
void cr_quiet_signal(uint64_t badge);
/* Whether cr_director_idle has returned CR_IDLE_OVER. */
int cr_quiet_is_over(void);

#endif
