/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Time: what is due when, one interrupt at a time. While nothing is due the timer is off and the clock stands still.
 * Nobody notices: all that is ever asked is how long from now. */
#ifndef CELLREAP_SUPERVISOR_CLOCK_H
#define CELLREAP_SUPERVISOR_CLOCK_H

#include "system/system.h"

/* Times are nanoseconds of this clock. 0 stands for never. */
typedef struct cr_clock {
    uint64_t base;  /* the clock when the timer was set last */
    uint64_t set;   /* for how long; 0: it is off */
    uint64_t next;  /* nothing is due before; 0: nothing ever. What it was for may be over already */
    uint64_t alarm; /* the hooks' */
    int there;      /* the kernel leaves a timer to user level */
} cr_clock;

/* Signals of the timer arrive at `notification`, which is bound to the root task's thread. */
void cr_clock_init(seL4_CPtr notification);
int cr_clock_exists(void);
uint64_t cr_clock_now(void);
/* When `ms` milliseconds from now are over; 0 (never) without a timer. Makes no kernel call: time is reckoned from the end
 * of the interval that runs, so the result is up to 10 ms later than asked for. */
uint64_t cr_clock_due(uint64_t ms);
/* The hooks' alarm goes off in `ns` nanoseconds, instead of when it was set for before. Stops the system without a timer. */
void cr_clock_alarm(uint64_t ns);
void cr_clock_alarm_off(void);
int cr_clock_alarm_pending(void);
/* Sets the timer if something is due before it comes. Call it last before the root task waits. */
void cr_clock_arm(void);
/* Takes the timer's interrupt. Returns whether time has passed; *alarm: the hooks' alarm went off. */
int cr_clock_tick(int *alarm);
/* After a tick: nothing is due before `due`. 0: nothing is due. */
void cr_clock_next(uint64_t due);

/* When a notice that is queued to this PD now is late; 0: never. */
uint64_t cr_clock_deadline_of(const cr_pd *pd);
/* The PD is late with nothing any more. */
void cr_clock_waive(const cr_pd *pd);
/* A PD that waited for the root task is answered. What it has to acknowledge is due as if it were queued now, each notice
 * once. */
void cr_clock_excuse(cr_pd *pd);

#endif
