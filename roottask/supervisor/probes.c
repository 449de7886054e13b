/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Probes. See probes.h. */
#include "probes.h"
#include "arena.h"
#include "notices.h"

/* Whether the PD has a probe that it must finish in its own deadline. */
static int has_probe(const cr_pd *pd)
{
    return cr_work_pending_of(cr_sys.work, cr_receiver(pd), CR_NOTICE_PROBE) >
           (pd->limits.token != 0 ? 1u : 0u);
}

static int can_be_probed(const cr_pd *pd)
{
    return cr_pd_is_served(pd) && pd->deadline_ms != 0;
}

void cr_probes_tick(cr_pd *pd, cr_sample sample, uint64_t elapsed_ns)
{
    cr_run *run = &pd->run;
    if (sample == CR_SAMPLE_IN_CALL) {
        run->in_call += elapsed_ns;
        run->circle +=
            has_probe(pd) && cr_last_in_circle(pd, cr_waited_for_by) != 0 ? elapsed_ns : 0;
    } else if (sample != CR_SAMPLE_STARVED) {
        run->in_call = 0;
        run->answers = 0;
    }
}

void cr_probe(cr_pd *pd, const cr_pd *by, uint32_t ms)
{
    const cr_notice notice = {.kind = CR_NOTICE_PROBE,
                              .node = pd->node,
                              .from = by != 0 ? by->node : (cr_ref){CR_NONE, 0},
                              .number = ms};
    cr_notice_put(pd, &notice, 0);
}

static void probe(cr_pd *pd, const cr_pd *by)
{
    if (can_be_probed(pd) && !has_probe(pd)) {
        pd->run.circle = 0;
        cr_probe(pd, by, 0);
    }
}

void cr_probes_send(void)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *by = &cr_sys.pds[i];
        if (!can_be_probed(by) || by->run.in_call < (uint64_t)by->deadline_ms * CR_NS_PER_MS) {
            continue;
        }
        by->run.in_call = 0;
        cr_pd *end = cr_waited_for_by(by) != 0 ? cr_end_of_waits(by, cr_waited_for_by) : 0;
        for (cr_pd *at = end; at != 0; at = cr_next_at_end(at, end, cr_waited_for_by)) {
            probe(at, by);
        }
    }
}

uint64_t cr_probes_circle_time(const cr_pd *pd, const cr_work_notice *notice)
{
    return notice->kind == CR_NOTICE_PROBE ? pd->run.circle : 0;
}

void cr_probes_answered(const cr_pd *pd)
{
    if (cr_waited_for_by(pd) != 0) {
        return;
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *by = &cr_sys.pds[i];
        if (cr_pd_is_served(by) && cr_waited_for_by(by) != 0 &&
            cr_end_of_waits(by, cr_waited_for_by) == pd) {
            by->run.answers++;
        }
    }
}

int cr_probes_decide(const cr_pd *pd)
{
    int decides = 0;
    if (pd->run.answers >= CR_PROBES_ENOUGH) {
        return 0;
    }
    const cr_pd *end = cr_end_of_waits(pd, cr_waited_for_by);
    for (const cr_pd *at = end; at != 0; at = cr_next_at_end(at, end, cr_waited_for_by)) {
        decides |= can_be_probed(at);
    }
    return decides;
}
