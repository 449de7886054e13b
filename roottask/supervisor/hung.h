/* SPDX-License-Identifier: BSD-2-Clause
 *
 * PDs that live and answer nobody: heartbeat_ms and call_ms of the configuration find them.
 *
 * heartbeat_ms of a PD: it must wait for its next message now and then. It was seen to wait if a
 * look found it in a receive from its endpoint, or in another one while nobody is in a call to it.
 * A look cannot show that a busy PD waits between two looks. So a PD that was not seen to wait for
 * half of the time is sent a probe, and it has hung if it could run for the whole time and did not
 * finish the probe.
 *
 * call_ms of a PD: its call must come to an end. When the call has lasted so long, the PD that its
 * calls lead to is sent a probe; if the calls form a circle, all PDs of it are. A PD has hung if it
 * does not finish the probe in the same time again. A finished probe starts the time of the call
 * anew: a client that calls again and again cannot be told from one that waits in one call. But a
 * PD has also hung if for twice the time each look found it in a receive, and the call unchanged.
 * The same holds with its own heartbeat_ms, for receives that are none from its endpoint.
 *
 * A PD for Microkit knows no probes. They are answered when it is seen to wait for a message. Its
 * parent can stop it, so its silence counts only while it also uses its time, and its call only
 * while that leads to a PD that waits for no message.
 *
 * Only the time counts in which the PD could run, as the turn thread of its priority shows it. That
 * it only receives counts while its caller could run, too. What a PD finishes for the first time
 * starts its clocks anew. */
#ifndef CELLREAP_SUPERVISOR_HUNG_H
#define CELLREAP_SUPERVISOR_HUNG_H

#include "system/system.h"

enum { CR_HUNG_BY_ITSELF = CR_MAX_PDS };

/* How a PD has hung. */
typedef struct cr_hanging {
    uint32_t by;    /* the index of the PD whose call it kept, or BY_ITSELF; 0: it has not */
    uint64_t token; /* the probe that it left; 0: it only waited for messages */
    uint64_t ns;    /* for so long */
} cr_hanging;

/* Whether PDs wait for the next period of their budget. */
typedef struct cr_out_of_time {
    int any;         /* may ever */
    uint64_t over;   /* when the waits are over that follow from what was seen to be used */
    uint64_t looked; /* when that was looked for last */
} cr_out_of_time;

typedef struct cr_hung {
    int any;         /* the configuration has such a limit */
    int rests;       /* at the last look no other clock ran, and no probe was to be finished */
    uint32_t *on;    /* the index of the PD that this one waits for; 0: none */
    uint8_t *called; /* somebody waits for the PD */
    cr_hanging *found;
    cr_out_of_time out_of_time;
} cr_hung;

/* Must be called once, during setup. */
void cr_hung_init(const cr_image_header *image);
/* Called at each look at the clocks. `elapsed`: the length of the interval; `passed`: real time,
 * of which the root task was busy for what is beyond `elapsed`; `others`: whether another clock
 * runs. Sends the probes that are due. Returns whether there must be another look. */
int cr_hung_look(uint64_t elapsed, uint64_t passed, int others);
/* Whether the clock goes on for these limits only, and nothing happened since the trace was told
 * the time. So a system in which nothing happens does not fill its trace with times. */
int cr_hung_is_quiet(void);
/* When no PD can run: whether one may run on in the next period of its budget or of its caller's.
 * Then the clock ticks until it does. Registers do not show it: the kernel stops a PD whose time is
 * used up also right before a system call, where it looks as if it waited. */
int cr_hung_awaits_time(void);
/* After a look: makes the PDs triggers that have hung, and tells of those that have not. */
void cr_hung_find(void);
/* The PD finished a notice. */
void cr_hung_heard(cr_pd *pd, const cr_work_notice *notice);
/* Whether the notice is a probe that such a limit had the PD sent. */
int cr_hung_is_probe(const cr_pd *pd, const cr_work_notice *notice);
/* Whether the PD has such a probe, and was not seen to wait since. */
int cr_hung_is_asked(const cr_pd *pd);
/* Whether one of these clocks will decide something, even if no PD runs any more. For the hooks. */
int cr_hung_is_pending(void);

#endif
