/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The clock of the supervisor: due times, with one timer interrupt at a time. While nothing is due,
 * the clock stands still, and the timer is off or counts real time for silence.h. This has no
 * effect, because all times are computed relative to the present time of the clock. For the same
 * reason the clock must not be used as the time of day. */
#ifndef CELLREAP_SUPERVISOR_CLOCK_H
#define CELLREAP_SUPERVISOR_CLOCK_H

#include "system/system.h"

enum { CR_NS_PER_MS = 1000000 };

/* Times are in nanoseconds of this clock. 0 means never. */
typedef struct cr_clock {
    uint64_t base;  /* the time of the clock when the timer was last set */
    uint64_t set;   /* the time for which it was set; 0: the timer is off */
    uint64_t until; /* when the interrupt was wanted; it comes up to a tick of the device later */
    /* nothing is due before this time, and perhaps not even then; 0: nothing is due */
    uint64_t next;
    uint64_t alarm;    /* of the hooks */
    uint64_t look;     /* the next look at the receivers (progress.h); 0: there is nothing to see */
    uint64_t interval; /* between two looks */
    uint64_t told;     /* the time of the last CLOCK event */
    uint64_t tells;    /* the number of CLOCK and HELD_UP events */
    uint64_t recorded; /* the number of all events when the last one was told */
    uint64_t passed;   /* of real time, since it was taken last */
    int still;         /* the timer is set although nothing is due, and the clock stands still */
    int guarded;       /* the timer's interrupt came while the cleaner was watched */
    int rang;          /* the alarm was due then */
    int there;         /* the kernel leaves a timer to user level */
} cr_clock;

/* The earlier one of two times. */
static inline uint64_t cr_clock_earlier(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* Signals of the timer arrive at `notification`, which is bound to the root task's thread. */
void cr_clock_init(seL4_CPtr notification);
int cr_clock_exists(void);
uint64_t cr_clock_now(void);

/* The time of the clock when the timer's interrupt comes. It takes no kernel calls. */
uint64_t cr_clock_end_of_interval(void);
/* The time `ms` milliseconds from now. 0 (never) without a timer. Makes no kernel call: it counts
 * from the end of the current interval, so the result is up to 10 ms later than requested. */
uint64_t cr_clock_due(uint64_t ms);
/* Sets the hooks' alarm to `ns` nanoseconds from now and replaces an earlier alarm. Without a timer
 * this stops the system. */
void cr_clock_alarm(uint64_t ns);
int cr_clock_alarm_pending(void);
/* Sets the timer if something is due before its interrupt. Must be the last call before the root
 * task waits for a message. */
void cr_clock_arm(void);
/* Sets the timer if it is off, so that real time is counted. The clock stands still meanwhile. Must
 * come after cr_clock_arm. */
void cr_clock_stand(void);
/* The nanoseconds of real time that the timer has counted since the last call. Real time is counted
 * only while the timer is set. */
uint64_t cr_clock_take_passed(void);
/* Handles the timer's interrupt. Returns whether the clock has gone on. *alarm is set if the hooks'
 * alarm is due. */
int cr_clock_tick(int *alarm);
/* While the cleaner is watched, the timer's interrupt comes at least every 50 ms. cr_clock_stand
 * must come first, this after each interrupt. It does not change what follows from an interrupt:
 * the next cr_clock_tick returns it. */
void cr_clock_guard_tick(void);
/* HELD_UP. `token`: of a probe; else 0. `ran`: in ns. */
void cr_trace_held_up(const cr_pd *pd, uint64_t token, uint64_t ms, uint64_t ran);
/* After a tick, before anything that follows from it: tells the trace the time, if enough has
 * passed. Makes no kernel call. */
void cr_clock_tell(void);
/* After a tick: nothing is due before `due`. 0: nothing is due at all. */
void cr_clock_next(uint64_t due);

/* Called when a PD is owed a notice or is awaited: the receivers' clocks may have to run. From now
 * on there is a look at them after each interval. Has no effect without a timer. */
void cr_clock_watch(void);
/* After a look: there must be another one, or nothing is left to see. */
void cr_clock_look_again(int again);

#endif
