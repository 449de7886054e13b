/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Probes: whether a PD that others wait for still answers. A PD that waits in a call longer than
 * its deadline is not blamed. The root task follows its call to the PD that is itself in no call,
 * and sends that one a PROBE notice. If the calls form a circle, all PDs of the circle are probed,
 * and their calls are no excuse. A PD without a deadline is never probed. */
#ifndef CELLREAP_SUPERVISOR_PROBES_H
#define CELLREAP_SUPERVISOR_PROBES_H

#include "calls.h"

enum { CR_PROBES_ENOUGH = 2 };

/* Called at each look for each receiver whose clock runs, with what it did in the interval.
 * `elapsed_ns`: the length of the interval. */
void cr_probes_tick(cr_pd *pd, cr_sample sample, uint64_t elapsed_ns);
/* Sends the probes that are due. Must be called after the ticks of a look, because the clock of a
 * probe must not include the interval before it. */
void cr_probes_send(void);
/* Sends the PD a probe, which it must finish in `ms`; 0: in its own deadline. `by`: the PD that it
 * keeps waiting, or 0. A PD has at most one of either kind. */
void cr_probe(cr_pd *pd, const cr_pd *by, uint32_t ms);
/* The time that the PD spent in circles of calls since the probe was sent. 0 for other notices. */
uint64_t cr_probes_circle_time(const cr_pd *pd, const cr_work_notice *notice);
/* The PD has finished a probe. */
void cr_probes_answered(const cr_pd *pd);
/* Whether probes will decide about the call of a PD: nothing can be expected of a server that has
 * answered several and still not the call. It can live like this for ever. */
int cr_probes_decide(const cr_pd *pd);

#endif
