/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Probes. See probes.h. */
#include "probes.h"

void cr_probes_tick(cr_pd *pd, cr_sample sample, cr_pd *server, uint64_t elapsed_ns)
{
    (void)pd;
    (void)sample;
    (void)server;
    (void)elapsed_ns;
}
