/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Queues notices and ends them. See notices.h. */
#include "notices.h"
#include "arena.h"
#include "clock.h"
#include "system/charge.h"
#include "tickets.h"

static const char *const notice_names[] = {
#define CR_NOTICE_KIND(enumerator, number, name, ...) [enumerator] = name,
    CR_NOTICE_KINDS
#undef CR_NOTICE_KIND
};

/* A node, and its number. Notices that follow each other mostly name the same ones. */
typedef struct numbered {
    cr_ref node;
    uint32_t number;
} numbered;

static cr_status number_of(cr_ref node, numbered *last, uint32_t *out)
{
    cr_node_info info;
    if (!cr_same(node, last->node)) {
        cr_status status = cr_model_get(cr_sys.model, node, &info);
        if (status != CR_OK) {
            return status;
        }
        *last = (numbered){node, info.number};
    }
    *out = last->number;
    return CR_OK;
}

/* Notices of one receiver that are being queued. */
typedef struct batch {
    cr_pd *to;
    uint32_t cleanup; /* that owes them; 0: none */
    int busy; /* The receiver had something to fetch before, and needs no signal: that remains set
               * until the PD receives it, and the PD then fetches until nothing is left. */
    numbered space; /* that of the last resource */
    numbered from;
} batch;

/* A notice contains numbers, which remain valid when the nodes are destroyed. */
static cr_status fill_notice(const cr_notice *notice, batch *b, cr_work_notice *out)
{
    cr_node_info info;
    cr_status status = cr_model_get(cr_sys.model, notice->node, &info);
    if (status != CR_OK) {
        return status;
    }
    *out = (cr_work_notice){.kind = notice->kind};
    if (info.kind == CR_NODE_RESOURCE) {
        if ((status = number_of(info.space, &b->space, &out->space)) != CR_OK) {
            return status;
        }
        out->object = info.number;
    } else if (info.kind == CR_NODE_SPACE) {
        out->space = info.number;
    } else {
        out->pd = info.number;
    }
    if (notice->kind == CR_NOTICE_PRE_DESTROY) {
        out->object = notice->number;
    } else if (notice->kind == CR_NOTICE_LOST) {
        out->broken = notice->number;
    }
    return notice->from.index != CR_NONE && notice->kind != CR_NOTICE_PROBE
               ? number_of(notice->from, &b->from, &out->pd)
               : CR_OK;
}

/* The account that keeps room for a notice: that of the PD whose edge caused it. */
static uint32_t account_of(const cr_pd *to, cr_notice_kind kind, cr_ref from)
{
    if (from.index != CR_NONE && kind != CR_NOTICE_PROBE) {
        /* The PD may be destroyed, and another one in its entry. */
        return cr_sys.accounts[from.index];
    }
    return kind == CR_NOTICE_DESTROY || kind == CR_NOTICE_LOST || kind == CR_NOTICE_PRE_DESTROY
               ? to->account
               : 0;
}

cr_pd *cr_notice_held_fault(const cr_work_notice *notice)
{
    for (uint32_t i = 1; notice->kind == CR_NOTICE_FAULT && i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (pd->life == CR_LIFE_FAULTED && cr_sup.faults.of[pd->config].token == notice->token) {
            return pd;
        }
    }
    return 0;
}

int cr_notice_is_strict(const cr_work_notice *notice)
{
    return notice->kind == CR_NOTICE_PROBE || cr_notice_held_fault(notice) != 0;
}

int cr_notices_has_any(const cr_pd *pd)
{
    cr_work_cursor at = {0};
    cr_work_notice notice;
    return cr_work_next(cr_sys.work, cr_receiver(pd), &at, &notice) == CR_OK;
}

/* Strict notices are at most one in a lane, so the loop is short. */
int cr_notices_has_general(const cr_pd *pd)
{
    cr_work_cursor at = {0};
    cr_work_notice notice;
    while (cr_work_next(cr_sys.work, cr_receiver(pd), &at, &notice) == CR_OK) {
        if (!cr_notice_is_strict(&notice)) {
            return 1;
        }
    }
    return 0;
}

/* Starts the clock of a PD that is about to get a notice of this kind, if it has none that it can
 * finish under that clock. Strict notices have clocks of their own. */
static void restart_if_idle(cr_pd *to, cr_notice_kind kind)
{
    const int general = kind != CR_NOTICE_PROBE && kind != CR_NOTICE_FAULT;
    if (general && cr_notices_has_general(to)) {
        return; /* As most often. */
    }
    const int any = cr_notices_has_any(to);
    if (!any) {
        to->run.chance = 0;
    }
    if (!any || general) {
        cr_notices_restart(to);
    }
}

/* Must be called before the first notice is queued, which is of this kind. The others may not be
 * strict. */
static batch begin_batch(cr_pd *to, uint32_t cleanup, cr_notice_kind kind)
{
    const cr_ref none = {CR_NONE, 0};
    const int busy = cr_work_ready(cr_sys.work, cr_receiver(to));
    restart_if_idle(to, kind);
    cr_clock_watch();
    return (batch){
        .to = to, .cleanup = cleanup, .busy = busy, .space = {none, 0}, .from = {none, 0}};
}

/* Must be called behind the last notice. Returns whether the receiver will answer. */
static int is_answered(cr_pd *to)
{
    if (!cr_pd_is_up(to)) {
        cr_notices_forget(to); /* A stopped PD answers nothing. Nobody may wait for it. */
        return 0;
    }
    return 1;
}

/* `node`, `from` and `number`: the fields of the trace. `text`: what stands for `node` if it is not
 * in the model, and else 0. */
static cr_status queue(const batch *b, cr_work_notice *work, const char *text, cr_ref node,
                       cr_ref from, uint32_t number)
{
    cr_pd *to = b->to;
    work->account = (uint16_t)account_of(to, work->kind, from);
    work->since = to->run.ran;
    cr_status status = cr_work_put(cr_sys.work, cr_receiver(to), work);
    if (status != CR_OK) {
        return status;
    }
    to->last_token = work->token;
    if (work->kind == CR_NOTICE_FREE || work->kind == CR_NOTICE_DISCONNECT) {
        cr_charge_may_relieve(work->account);
    }
    cr_trace_begin(&cr_sys.trace, CR_EV_QUEUE);
    cr_trace_number(&cr_sys.trace, b->cleanup);
    cr_trace_number(&cr_sys.trace, work->token);
    cr_trace_pd(to);
    cr_trace_name(&cr_sys.trace, notice_names[work->kind]);
    if (text != 0) {
        cr_trace_string(&cr_sys.trace, text);
    } else {
        cr_trace_node(node);
    }
    cr_trace_node(from);
    cr_trace_number(&cr_sys.trace, number);
    cr_trace_end(&cr_sys.trace);
    cr_tombstone_owed(to, from);
    if (work->kind == CR_NOTICE_DESTROY || work->kind == CR_NOTICE_LOST) {
        cr_tombstone_owed(to, node);
    }
    return CR_OK;
}

void cr_notice_signal(const cr_pd *to)
{
    cr_signal(cr_body_cap(&to->body, CR_BODY_SIGNAL));
}

static cr_status queue_one(batch *b, const cr_notice *notice, uint32_t tag)
{
    cr_work_notice work;
    cr_status status = fill_notice(notice, b, &work);
    if (status != CR_OK) {
        return status;
    }
    work.tag = tag;
    return queue(b, &work, 0, notice->node, notice->from, notice->number);
}

cr_status cr_notices_queue(cr_pd *to, const cr_notice *notices, uint32_t count, uint32_t cleanup,
                           int (*between)(void), cr_queueing *at)
{
    cr_status status = CR_OK;
    batch b = begin_batch(to, cleanup, notices[0].kind);
    if (at->queued == 0) {
        at->signals = !b.busy;
    }
    while (at->queued < count && status == CR_OK) {
        if (at->queued > 0 && between != 0 && between()) {
            status = CR_ERR_KERNEL;
        } else if ((status = queue_one(&b, &notices[at->queued], cleanup)) == CR_OK) {
            at->queued++;
        }
    }
    if (at->queued > 0 && !is_answered(to)) {
        at->signals = 0;
    }
    return status;
}

void cr_notice_put(cr_pd *to, const cr_notice *notice, uint32_t tag)
{
    batch b = begin_batch(to, 0, notice->kind);
    cr_must(queue_one(&b, notice, tag), "there is no room for a notice");
    if (is_answered(to) && !b.busy) {
        cr_notice_signal(to);
    }
}

static void put_loss(cr_pd *to, cr_work_notice work, const char *about)
{
    const cr_ref none = {CR_NONE, 0};
    /* A PD whose fault is held finds the notice when it goes on. */
    if (!cr_pd_is_up(to) || cr_is_doomed(to)) {
        return;
    }
    work.kind = CR_NOTICE_LOST;
    /* There is room: the capability had an edge, and each edge has room for one notice. */
    const batch b = begin_batch(to, 0, work.kind);
    cr_must(queue(&b, &work, about, none, none, 0), "there is no room for a notice");
    if (work.pd != 0) {
        cr_tombstone_owed_pd(to, work.pd);
    }
    if (is_answered(to) && !b.busy) {
        cr_notice_signal(to);
    }
}

void cr_notices_of_losses(uint32_t space, uint32_t object, const char *about)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_exists(pd) && pd->just_lost != 0) {
            cr_work_notice loss = {.space = space, .object = object};
            if (object != 0) {
                loss.slot = (uint16_t)pd->just_lost;
            }
            pd->just_lost = 0;
            put_loss(pd, loss, about);
        }
    }
}

void cr_notices_of_lost_pds(void)
{
    if (!cr_sys.losses_untold) {
        return;
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        for (uint32_t slot = CR_SLOT_FIRST_FREE;
             cr_pd_exists(pd) && pd->untold > 0 && slot < 1u << pd->body.cspace_bits; slot++) {
            uint32_t lost = cr_take_untold(pd, slot);
            char about[CR_ID_BYTES];
            if (lost != 0) {
                cr_pd_number_id(lost, about);
                put_loss(pd, (cr_work_notice){.pd = lost}, about);
            }
        }
    }
    cr_sys.losses_untold = 0;
}

void cr_notices_restart(cr_pd *pd)
{
    pd->run.mark = pd->run.ran;
    pd->run.untold = cr_clock_end_of_interval();
    pd->run.in_call = 0;
    pd->run.waited = 0;
    pd->run.waits = 0;
}

void cr_notices_changed(void)
{
    cr_sup.changes++;
}

void cr_notice_over(const cr_pd *receiver, const cr_work_notice *notice, cr_notice_end end)
{
    cr_ticket_credit(receiver, notice, end);
    if (notice->kind == CR_NOTICE_PRE_DESTROY || notice->kind == CR_NOTICE_EXTRACT) {
        cr_notices_changed();
    }
}

void cr_notices_forget(const cr_pd *pd)
{
    cr_work_notice notice;
    uint32_t failed;
    cr_tombstone_forget(pd);
    /* The loop is bounded: each turn removes one notice. */
    while (cr_work_take(cr_sys.work, cr_receiver(pd), &notice, &failed) == CR_OK) {
        if (!failed) {
            cr_notice_over(pd, &notice, CR_NOTICE_DROPPED);
        }
    }
}
