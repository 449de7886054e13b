/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The edges that each PD allows others to make for it. An edge makes a PD depend on a server and
 * can fill a slot of the PD. So a PD must have allowed each edge that another PD makes for it. An
 * allowance is a number of edges. It names the PD that may make them, and ends with either PD. */
#include "system.h"

static uint32_t *allowance(const cr_pd *pd, const cr_pd *by)
{
    return &cr_sys.allowed[cr_receiver(pd) * cr_most.pds + cr_receiver(by)];
}

/* The number of allowances is never too low, also if this is not carried to its end: with 0, none
 * is looked for. */
static void set_allowance(const cr_pd *pd, const cr_pd *by, uint32_t count)
{
    uint32_t *left = allowance(pd, by);
    const uint32_t before = *left;
    cr_sys.allowances += before == 0 && count != 0 ? 1u : 0u;
    *left = count;
    cr_sys.allowances -= before != 0 && count == 0 ? 1u : 0u;
}

uint32_t cr_allowance(const cr_pd *pd, const cr_pd *by)
{
    return *allowance(pd, by);
}

int cr_may_consent(const cr_pd *pd)
{
    return pd->consents_since != cr_sys.settled || pd->consents < CR_MAX_CONSENTS;
}

void cr_count_consent(cr_pd *pd)
{
    pd->consents = pd->consents_since == cr_sys.settled ? pd->consents + 1 : 1;
    pd->consents_since = cr_sys.settled;
}

void cr_allow(const cr_pd *pd, const cr_pd *by, uint32_t count)
{
    set_allowance(pd, by, count);
    cr_trace_begin(&cr_sys.trace, CR_EV_ALLOW);
    cr_trace_pd(pd);
    cr_trace_pd(by);
    cr_trace_number(&cr_sys.trace, count);
    cr_trace_change_end();
}

int cr_is_allowed(const cr_pd *pd, const cr_pd *by)
{
    return by == 0 || by == pd || *allowance(pd, by) > 0;
}

void cr_use_allowance(cr_pd *pd, const cr_pd *by)
{
    if (by == 0 || by == pd) {
        return;
    }
    if (*allowance(pd, by) == 0) {
        cr_panic("an edge was made that its PD does not allow", pd->number);
    }
    set_allowance(pd, by, *allowance(pd, by) - 1);
    pd->consents -= pd->consents > 0 ? 1u : 0u;
}

void cr_forget_allowances(const cr_pd *pd)
{
    for (uint32_t i = 0; cr_sys.allowances > 0 && i < cr_most.pds; i++) {
        set_allowance(pd, &cr_sys.pds[i], 0);
        set_allowance(&cr_sys.pds[i], pd, 0);
    }
}
