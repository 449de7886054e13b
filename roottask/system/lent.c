/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Gives time back that a PD lent, when one of the PDs that it was lent to is stopped. A passive PD
 * gives its scheduling context back when it waits, and runs on that of its caller, which may be
 * lent on along a chain of calls to passive PDs. The kernel returns it with the answer. It does
 * not, if a PD in between goes, or the owner itself:
 *
 * - The PD runs on lent time. When its reply object is deleted, the kernel takes the time from it,
 *   gives it to its caller, and makes the caller inactive. Nothing else is needed.
 * - The PD has lent the time on, or is its owner. The chain breaks where it was. The last one of
 *   the chain keeps the time, and those before it are answered without any. So everybody in the
 *   chain gets his own: who serves a call that nobody awaits any more ends it on his own time, and
 *   gives that back when he waits.
 *
 * Registers show who calls whom, but not whether a call was received, and a thread can show
 * anything. Only the kernel knows where a scheduling context is: it is taken from nobody who does
 * not have it. */
#include "doors.h"
#include "system.h"
#include "text.h"

/* The manager of what an edge leads to, if the edge's capability is in this slot, else 0. */
static cr_pd *server_over(uint32_t edge, cr_edge_kind kind, uint32_t slot)
{
    cr_edge_info info;
    return cr_edge_slot(edge, kind) == slot && cr_model_edge(cr_sys.model, edge, &info) == CR_OK
               ? cr_manager_of(info.to)
               : 0;
}

cr_pd *cr_called_over(const cr_pd *pd, uint32_t slot)
{
    static const cr_edge_kind kinds[] = {CR_EDGE_REQUEST, CR_EDGE_HOLD};
    if (cr_pd_is_of_microkit(pd)) {
        return cr_door_over(pd->config, slot);
    }
    if (pd->servers[slot] != 0) {
        cr_pd *server;
        return cr_find_pd(pd->servers[slot], &server) == CR_RESULT_OK ? server : 0;
    }
    for (uint32_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        cr_edge_walk edges = cr_model_walk(cr_sys.model, pd->node, kinds[k], CR_OUT);
        while (cr_model_next(&edges)) {
            cr_pd *server = server_over(edges.edge, kinds[k], slot);
            if (server != 0) {
                return server;
            }
        }
    }
    return 0;
}

/* The passive PD that a PD waits for in a call, as its registers show, or 0. */
static cr_pd *lends_to(const cr_pd *pd)
{
    uint32_t slot;
    if (pd->wait != CR_WAIT_NOTHING || cr_called_slot(pd, &slot) != CR_OK || slot == 0) {
        return 0;
    }
    cr_pd *server = cr_called_over(pd, slot);
    return server != 0 && server != pd && server->passive && cr_pd_is_up(server) ? server : 0;
}

/* Whether the calls of a PD lead to another. Lends bound the loop: a circle of them has no end. */
static int leads_to(const cr_pd *pd, const cr_pd *to)
{
    for (uint32_t i = 0; pd != 0 && pd != to && i < cr_most.pds; i++) {
        pd = lends_to(pd);
    }
    return pd == to;
}

uint64_t cr_could_run_for(const cr_pd *pd, uint64_t interval)
{
    uint64_t least = cr_time_share(pd->time, interval);
    for (uint32_t i = 1; pd->passive && i < cr_most.pds; i++) {
        const cr_pd *owner = &cr_sys.pds[i];
        const uint64_t share = cr_time_share(owner->time, interval);
        if (share < least && cr_pd_is_up(owner) && leads_to(owner, pd)) {
            least = share;
        }
    }
    return least;
}

static seL4_CPtr sc_of(const cr_pd *pd)
{
    return cr_body_cap(&pd->body, CR_BODY_SC);
}

static seL4_CPtr tcb_of(const cr_pd *pd)
{
    return cr_body_cap(&pd->body, CR_BODY_TCB);
}

/* Who has the time of a PD, of those behind `from` in its chain of calls: it is taken from him. 0:
 * nobody has. */
static cr_pd *take_from(const cr_pd *owner, const cr_pd *from)
{
    cr_pd *at = lends_to(from);
    for (uint32_t i = 0; at != 0 && i < cr_most.pds; i++) {
        if (cr_take_time(sc_of(owner), tcb_of(at))) {
            return at;
        }
        at = lends_to(at);
    }
    return 0;
}

static void return_time(const cr_pd *from)
{
    if (lends_to(from) == 0) {
        return;
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *owner = &cr_sys.pds[i];
        if (!cr_pd_is_up(owner) || !leads_to(owner, from)) {
            continue;
        }
        cr_pd *last = take_from(owner, from);
        for (cr_pd *pd = last != 0 ? owner : 0; pd != 0; pd = pd != last ? lends_to(pd) : 0) {
            if (pd != from) {
                (void)cr_give_time_back(sc_of(pd), tcb_of(pd), pd->time, pd->number);
            }
        }
        if (last != 0) {
            return;
        }
    }
}

void cr_return_time(const cr_pd *from)
{
    cr_calls_kept calls;
    if (!CR_MCS || !cr_sys.has_passive) {
        return;
    }
    cr_calls_aside(&calls); /* They depend on where the time is, which only the kernel knows. */
    return_time(from);
    cr_calls_back(&calls, 0);
}
