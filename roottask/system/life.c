/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The only code that changes a PD's life and its wait (cr_pd.life, cr_pd.wait). Both functions stop
 * the system at a change that the tables in machines.h do not allow, because a PD in an impossible
 * state means that the root task has an error. */
#include "system.h"

void cr_pd_wait(cr_pd *pd, cr_wait to)
{
    if (!cr_wait_may(pd->wait, to)) {
        cr_panic("a PD waits for two things at once", pd->number);
    }
    cr_sys.waiting[pd->wait] -= pd->wait != CR_WAIT_NOTHING;
    cr_sys.waiting[to] += to != CR_WAIT_NOTHING;
    pd->wait = to;
    pd->wait_due = 0;
}

void cr_pd_become(cr_pd *pd, cr_life to)
{
    if (!cr_life_may(pd->life, to)) {
        cr_panic("a PD's life takes a turn that is not in the table",
                 ((uint64_t)pd->number << 16) | ((uint64_t)pd->life << 8) | (uint64_t)to);
    }
    cr_sys.pds_there += to != CR_LIFE_ABSENT ? 1u : 0u;
    cr_sys.pds_there -= cr_pd_exists(pd) ? 1u : 0u;
    pd->life = to;
    if (to == CR_LIFE_STOPPED && pd->wait != CR_WAIT_NOTHING) {
        cr_pd_wait(pd, CR_WAIT_NOTHING);
    }
}
