/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Probes: whether a PD that others wait for still answers. */
#ifndef CELLREAP_SUPERVISOR_PROBES_H
#define CELLREAP_SUPERVISOR_PROBES_H

#include "progress.h"

/* Called at each look for each receiver whose clock runs, with what it did in the interval.
 * `server`: the PD that it calls, or 0. `elapsed_ns`: the length of the interval. */
void cr_probes_tick(cr_pd *pd, cr_sample sample, cr_pd *server, uint64_t elapsed_ns);

#endif
