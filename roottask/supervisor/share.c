/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shares of the root task's time. See share.h. The kernel calls here are not counted: they belong
 * to no operation and to no cleanup. */
#include "share.h"
#include "arena.h"
#include "kernel/turns.h"

enum {
    OF_LINE = 16, /* what a line of the trace costs: to write it takes as long as 16 kernel calls */
    READS = 8     /* so many nodes and edges that a plan reads cost as much as a kernel call */
};

static uint64_t done_so_far(void)
{
    const cr_model_stats stats = cr_model_get_stats(cr_sys.model);
    return cr_calls_changed + OF_LINE * cr_sys.trace.recorded +
           (stats.touched_nodes + stats.touched_edges) / READS;
}

void cr_share_begin(void)
{
    cr_sup.share = (cr_share){.begun = done_so_far()};
}

void cr_share_interrupt(void)
{
    cr_sup.share.others_ran = 1;
}

/* A PD whose answer comes later does nothing until then. One that is frozen or whose fault is held
 * does not run. */
static int may_rest(const cr_pd *pd)
{
    return pd->life == CR_LIFE_RUNS && pd->wait == CR_WAIT_NOTHING && !pd->rests;
}

void cr_share_end(uint64_t badge)
{
    cr_pd *pd;
    const cr_badge_kind kind = cr_badge_kind_of(badge);
    if ((kind != CR_BADGE_PD && kind != CR_BADGE_FAULT) ||
        cr_find_badged(badge, kind, &pd) != CR_RESULT_OK) {
        return;
    }
    pd->asked += 1 + done_so_far() - cr_sup.share.begun;
    if (pd->asked < CR_SHARE || cr_sup.share.others_ran || !may_rest(pd)) {
        return;
    }
    cr_make_kept_answer(); /* A thread that waits for its answer would ask again. */
    if (cr_turns_tell(pd->priority)) {
        cr_must(seL4_TCB_Suspend(cr_body_cap(&pd->body, CR_BODY_TCB)), "a PD cannot rest");
        pd->rests = 1;
    }
}

static void end_turn(cr_pd *pd)
{
    pd->asked -= pd->asked < CR_SHARE ? pd->asked : CR_SHARE;
    if (pd->asked >= CR_SHARE) {
        (void)cr_turns_tell(pd->priority);
        return;
    }
    pd->rests = 0;
    if (pd->life == CR_LIFE_RUNS) {
        cr_must(seL4_TCB_Resume(cr_body_cap(&pd->body, CR_BODY_TCB)), "a PD rests for ever");
    }
}

void cr_share_turn(void)
{
    uint8_t over[CR_PRIORITY_MAX + 1]; /* a PD that rests on must not keep others from going on */
    cr_make_kept_answer();
    for (uint32_t i = 0; i <= CR_PRIORITY_MAX; i++) {
        over[i] = (uint8_t)!cr_turns_tells(i);
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_exists(pd) && pd->rests && over[pd->priority]) {
            end_turn(pd);
        }
    }
}
