/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The scenario: crashes that the configuration stages, and rounds of work between them. It hooks into the supervisor and
 * is no part of it. */
#ifndef CELLREAP_SCENARIO_H
#define CELLREAP_SCENARIO_H

#include "supervisor/supervisor.h"

/* What there is to do when nobody can run. */
typedef enum cr_idle {
    CR_IDLE_AGAIN = 0, /* somebody can run again */
    CR_IDLE_WAIT,      /* nothing happens until the timer comes */
    CR_IDLE_OVER       /* the run is over */
} cr_idle;

/* -- director.c */

cr_hook_answer cr_director_checkpoint(cr_pd *pd, int round_boundary, uint64_t *order, uint32_t *slot);
void cr_director_release(cr_pd *pd);
void cr_director_alarm(void);
void cr_director_handled(void);
/* Nobody can run but the root task and background computations. */
cr_idle cr_director_idle(void);

/* -- quiet.c */

/* Makes the thread that runs when nobody else can. `untyped`, `bound`: as for cr_root_begin. */
void cr_quiet_begin(seL4_CPtr untyped, seL4_CPtr bound);
/* The signals that came. Calls cr_director_idle when the thread has run. */
void cr_quiet_signal(uint64_t badge);
/* Whether cr_director_idle has said that the run is over. */
int cr_quiet_is_over(void);

#endif
