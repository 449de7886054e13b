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
        run->circle += has_probe(pd) && cr_is_in_circle(pd) ? elapsed_ns : 0;
    } else if (sample != CR_SAMPLE_STARVED) {
        run->in_call = 0;
        run->answers = 0;
    }
}

void cr_probe(cr_pd *pd, const cr_pd *by, uint32_t ms)
{
    const cr_notice notice = {.kind = CR_NOTICE_PROBE,
                              .to = pd->node,
                              .node = pd->node,
                              .from = by != 0 ? by->node : (cr_ref){CR_NONE, 0},
                              .number = ms};
    if (cr_notice_put(&notice, 0, 0) != CR_OK) {
        cr_panic("there is no room for a probe", pd->number);
    }
}

static void probe(cr_pd *pd, const cr_pd *by)
{
    if (can_be_probed(pd) && !has_probe(pd)) {
        pd->run.circle = 0;
        cr_probe(pd, by, 0);
    }
}

/* Where the calls lead to from a PD that is called: the last PD, or one of the circle that they end
 * in (*circle). More steps than PDs lead into a circle. */
static cr_pd *end_of_calls(cr_pd *pd, int *circle)
{
    *circle = 1;
    for (uint32_t i = 0; i < cr_most.pds; i++) {
        cr_pd *next = cr_waited_for_by(pd);
        if (next == 0) {
            *circle = 0;
            return pd;
        }
        pd = next;
    }
    return pd;
}

void cr_probes_send(void)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *by = &cr_sys.pds[i];
        int circle;
        if (!can_be_probed(by) || by->run.in_call < (uint64_t)by->deadline_ms * CR_NS_PER_MS) {
            continue;
        }
        by->run.in_call = 0;
        cr_pd *at = cr_waited_for_by(by);
        if (at == 0) {
            continue;
        }
        at = end_of_calls(at, &circle);
        for (uint32_t n = 0; at != 0 && n < (circle ? cr_most.pds : 1); n++) {
            probe(at, by);
            at = cr_waited_for_by(at);
        }
    }
}

uint64_t cr_probes_circle_time(const cr_pd *pd, const cr_work_notice *notice)
{
    return notice->kind == CR_NOTICE_PROBE ? pd->run.circle : 0;
}

void cr_probes_answered(const cr_pd *pd)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *by = &cr_sys.pds[i];
        cr_pd *at = cr_pd_is_served(by) ? cr_waited_for_by(by) : 0;
        int circle;
        if (at != 0 && end_of_calls(at, &circle) == pd && !circle) {
            by->run.answers++;
        }
    }
}

int cr_probes_decide(const cr_pd *pd, cr_pd *server)
{
    int circle;
    int decides = 0;
    if (pd->run.answers >= CR_PROBES_ENOUGH) {
        return 0;
    }
    cr_pd *at = end_of_calls(server, &circle);
    for (uint32_t n = 0; at != 0 && n < (circle ? cr_most.pds : 1); n++) {
        decides |= can_be_probed(at);
        at = cr_waited_for_by(at);
    }
    return decides;
}
