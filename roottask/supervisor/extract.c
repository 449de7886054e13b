/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Extraction. See extract.h. What servers report must never change the model, and an extraction
 * must end even if servers do not answer. */
#include "extract.h"
#include "arena.h"
#include "notices.h"
#include "system/backlog.h"
#include "system/charge.h"
#include "system/rows.h"
#include "tickets.h"
#include <cellreap/digest.h>
#include <cellreap/numbers.h>

/* Added to the tags of extractions, to distinguish them from those of cleanups. */
enum { TAG = 0x80000000 };
_Static_assert((CR_LAST_EXTRACTION & TAG) == 0 && (CR_LAST_PD & TAG) == 0,
               "no number of an extraction or a cleanup has the bit");

static cr_extraction *of_tag(uint32_t tag)
{
    for (uint32_t i = 0; i < CR_MAX_EXTRACTIONS; i++) {
        if ((TAG | cr_sup.extract.at[i].x) == tag) {
            return &cr_sup.extract.at[i];
        }
    }
    return 0;
}

static int node_lives(cr_ref node)
{
    cr_node_info info;
    cr_node_info space;
    if (cr_model_get(cr_sys.model, node, &info) != CR_OK || info.state != CR_STATE_ACTIVE) {
        return 0;
    }
    return info.kind != CR_NODE_RESOURCE ||
           (cr_model_get(cr_sys.model, info.space, &space) == CR_OK &&
            space.state == CR_STATE_ACTIVE);
}

static void ask(cr_pd *manager, cr_ref node, uint32_t x)
{
    const cr_notice notice = {.kind = CR_NOTICE_EXTRACT, .node = node, .from = {CR_NONE, 0}};
    cr_notice_put(manager, &notice, TAG | x);
}

/* A free entry. 0: none is free, or the PD has an extraction under way. */
static cr_extraction *place(const cr_pd *by)
{
    cr_extraction *unused = 0;
    for (uint32_t i = 0; i < CR_MAX_EXTRACTIONS; i++) {
        cr_extraction *e = &cr_sup.extract.at[i];
        if (e->x != 0 && cr_same(e->by, by->node)) {
            return 0;
        }
        unused = unused == 0 && e->x == 0 ? e : unused;
    }
    return unused;
}

/* The questions that the PDs of an account have not answered, also those of extractions that have
 * ended. */
static uint32_t questions_of(uint32_t account)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        if (cr_pd_exists(&cr_sys.pds[i]) && cr_sys.pds[i].account == account) {
            n += cr_work_pending_of(cr_sys.work, cr_receiver(&cr_sys.pds[i]), CR_NOTICE_EXTRACT);
        }
    }
    return n;
}

cr_result cr_extract_check(const cr_pd *by, int with_ticket)
{
    /* There is always room for the questions: those that nobody awaits are withdrawn, and a server
     * takes only so many. */
    int room = place(by) != 0 && (!with_ticket || cr_ticket_room(by));
    if (!cr_number_left(cr_sup.extract.last_x + 1, CR_LAST_EXTRACTION)) {
        return CR_RESULT_FULL;
    }
    return room ? CR_RESULT_OK : CR_RESULT_BUSY;
}

void cr_extract_start(cr_pd *by, uint64_t *ticket)
{
    cr_extraction *e = place(by);
    if (e == 0) {
        cr_panic("there was room for an extraction, and then there was not", by->number);
    }
    *e = (cr_extraction){.x = ++cr_sup.extract.last_x, .by = by->node};
    cr_notices_changed();
    cr_trace_begin(&cr_sys.trace, CR_EV_EXTRACT);
    cr_trace_number(&cr_sys.trace, e->x);
    cr_trace_pd(by);
    cr_trace_end(&cr_sys.trace);
    if (ticket != 0) {
        *ticket = e->ticket = cr_ticket_make(by, CR_TICKET_EXTRACTION, 0, TAG | e->x);
    }
    for (uint32_t i = 0; i < cr_node_entries(); i++) {
        cr_ref node;
        cr_node_info info;
        if (cr_model_at(cr_sys.model, i, &node) != CR_OK ||
            cr_model_get(cr_sys.model, node, &info) != CR_OK || info.kind != CR_NODE_SPACE ||
            info.state != CR_STATE_ACTIVE || (info.flags & CR_FLAG_CORE) != 0) {
            continue;
        }
        cr_pd *manager = cr_pd_of(info.manager);
        if (manager != 0 && !cr_is_doomed(manager)) {
            ask(manager, node, e->x);
        }
    }
}

cr_result cr_extract_may_split(const cr_pd *manager, const cr_work_notice *notice, uint32_t *more)
{
    cr_ref space;
    cr_node_info info;
    if (notice->kind != CR_NOTICE_EXTRACT || notice->object != 0) {
        return CR_RESULT_FAILED;
    }
    if (cr_find_space(notice->space, &space) != CR_RESULT_OK ||
        cr_model_get(cr_sys.model, space, &info) != CR_OK) {
        return CR_RESULT_OK; /* Nothing is left to ask about. */
    }
    *more += info.members;
    return questions_of(manager->account) + *more <= cr_quota_of(manager->account, CR_QUOTA_NODES)
               ? CR_RESULT_OK
               : CR_RESULT_FULL;
}

void cr_extract_split(cr_pd *manager, const cr_work_notice *notice)
{
    const cr_extraction *e = of_tag(notice->tag);
    cr_ref space;
    if (e == 0 || cr_find_space(notice->space, &space) != CR_RESULT_OK) {
        return;
    }
    cr_edge_walk members = cr_model_walk(cr_sys.model, space, CR_EDGE_SUBSET, CR_IN);
    while (cr_model_next(&members)) {
        ask(manager, members.other, e->x);
    }
}

/* -- reports of servers */

static void reach(cr_ref node, uint32_t *n)
{
    cr_extractions *s = &cr_sup.extract;
    if (s->reached[node.index] != s->stamp) {
        s->reached[node.index] = s->stamp;
        s->queue[(*n)++] = node.index;
    }
}

/* `more`: pieces that are about to be added. */
static int is_built_on(cr_ref node, cr_ref other, uint32_t x, const cr_pieces *more)
{
    uint32_t n = 0;
    cr_sup.extract.stamp++;
    reach(node, &n);
    for (uint32_t i = 0; i < n; i++) {
        cr_ref at;
        if (cr_sup.extract.queue[i] == other.index) {
            return 1;
        }
        if (cr_model_at(cr_sys.model, cr_sup.extract.queue[i], &at) != CR_OK) {
            continue;
        }
        cr_edge_walk maps = cr_model_walk(cr_sys.model, at, CR_EDGE_MAP, CR_OUT);
        while (cr_model_next(&maps)) {
            reach(maps.other, &n);
        }
        uint32_t next = x != 0 ? cr_sup.extract.first_piece[at.index] : 0;
        for (uint32_t k = 0; next != 0 && k < cr_sup.extract.n_pieces; k++) {
            const cr_piece *p = &cr_sup.extract.pieces[next - 1];
            next = p->next;
            if (p->x == x && cr_same(p->from, at) && node_lives(p->to)) {
                reach(p->to, &n);
            }
        }
        for (uint32_t k = 0; more != 0 && k < more->count; k++) {
            if (cr_same(more->at[k].from, at)) {
                reach(more->at[k].to, &n);
            }
        }
    }
    return 0;
}

int cr_is_built_on(cr_ref node, cr_ref other, uint32_t x)
{
    return is_built_on(node, other, x, 0);
}

static void add_piece(const cr_piece *p)
{
    cr_sup.extract.pieces[cr_sup.extract.n_pieces] = *p;
    cr_sup.extract.pieces[cr_sup.extract.n_pieces].next = cr_sup.extract.first_piece[p->from.index];
    cr_sup.extract.first_piece[p->from.index] = ++cr_sup.extract.n_pieces;
}

/* The pieces that the PD has reported in the extraction, and those of its account in all. */
static void count_pieces(uint32_t x, const cr_pd *pd, uint32_t *his, uint32_t *all)
{
    *his = 0;
    *all = 0;
    for (uint32_t i = 0; i < cr_sup.extract.n_pieces; i++) {
        const cr_piece *p = &cr_sup.extract.pieces[i];
        *his += p->x == x && p->by == cr_receiver(pd);
        *all += p->account == pd->account;
    }
}

static int known(uint32_t x, cr_ref from, cr_ref to)
{
    uint32_t next = cr_sup.extract.first_piece[from.index];
    for (uint32_t i = 0; next != 0 && i < cr_sup.extract.n_pieces; i++) {
        const cr_piece *p = &cr_sup.extract.pieces[next - 1];
        if (p->x == x && cr_same(p->from, from) && cr_same(p->to, to)) {
            return 1;
        }
        next = p->next;
    }
    return cr_model_count(cr_sys.model, CR_EDGE_MAP, from, to) > 0;
}

static int listed(const cr_pieces *pieces, cr_ref from, cr_ref to)
{
    for (uint32_t i = 0; i < pieces->count; i++) {
        if (cr_same(pieces->at[i].from, from) && cr_same(pieces->at[i].to, to)) {
            return 1;
        }
    }
    return 0;
}

cr_result cr_extract_may_take(const cr_pd *from, const cr_work_notice *notice,
                              const cr_subgraph_item *items, uint32_t count, cr_pieces *out)
{
    const cr_extraction *e = of_tag(notice->tag);
    out->count = 0;
    if (e == 0 || notice->kind != CR_NOTICE_EXTRACT) {
        return CR_RESULT_NO_SUCH;
    }
    uint32_t his;
    uint32_t all;
    count_pieces(e->x, from, &his, &all);
    for (uint32_t i = 0; i < count; i++) {
        cr_ref source;
        cr_ref target;
        const cr_subgraph_item *item = &items[i];
        if (notice->object != 0 && item->object != notice->object) {
            return CR_RESULT_DENIED;
        }
        const cr_map_ends ends = {notice->space, item->object, item->target_space,
                                  item->target_object};
        cr_result result = cr_find_map_ends(from, &ends, &source, &target);
        if (result != CR_RESULT_OK) {
            return result;
        }
        if (known(e->x, source, target) || listed(out, source, target)) {
            continue;
        }
        if (is_built_on(target, source, e->x, out)) {
            return CR_RESULT_DENIED;
        }
        if (his + out->count >= CR_MAX_MAPS_EACH ||
            all + out->count >= cr_quota_of(from->account, CR_QUOTA_MAPS)) {
            return CR_RESULT_FULL;
        }
        out->at[out->count++] = (cr_piece){.x = e->x,
                                           .by = cr_receiver(from),
                                           .account = from->account,
                                           .from = source,
                                           .to = target};
    }
    return CR_RESULT_OK;
}

void cr_extract_take(const cr_pd *from, const cr_work_notice *notice, const cr_pieces *pieces)
{
    for (uint32_t i = 0; i < pieces->count; i++) {
        const cr_piece *p = &pieces->at[i];
        add_piece(p);
        cr_trace_begin(&cr_sys.trace, CR_EV_SUBGRAPH);
        cr_trace_number(&cr_sys.trace, p->x);
        cr_trace_pd(from);
        cr_trace_number(&cr_sys.trace, notice->token);
        cr_trace_node(p->from);
        cr_trace_node(p->to);
        cr_trace_end(&cr_sys.trace);
    }
}

/* -- questions that nobody awaits any more */

void cr_extract_withdraw(const cr_pd *pd)
{
    cr_work_cursor at = {0};
    cr_work_notice notice;
    while (cr_work_next_unseen(cr_sys.work, cr_receiver(pd), &at, &notice) == CR_OK) {
        if (notice.kind == CR_NOTICE_EXTRACT && of_tag(notice.tag) == 0) {
            cr_backlog_withdraw(pd, notice.token);
        }
    }
}

/* -- the result */

/* Drops all pieces, and adds those again that `keeps` says, which come to the place that they had
 * or before it. */
static void sift(const cr_extraction *e, int (*keeps)(const cr_extraction *e, const cr_piece *p))
{
    const uint32_t count = cr_sup.extract.n_pieces;
    while (cr_sup.extract.n_pieces > 0) {
        const cr_piece *p = &cr_sup.extract.pieces[--cr_sup.extract.n_pieces];
        cr_sup.extract.first_piece[p->from.index] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        const cr_piece p = cr_sup.extract.pieces[i];
        if (keeps(e, &p)) {
            add_piece(&p);
        }
    }
}

static int is_of_another(const cr_extraction *e, const cr_piece *p)
{
    return p->x != e->x;
}

/* Since it was reported, one of its ends may have gone, or others may lead from the one end to the
 * other: the piece that would close a circle is left out. */
static int is_valid(const cr_extraction *e, const cr_piece *p)
{
    return is_of_another(e, p) ||
           (node_lives(p->from) && node_lives(p->to) && !known(e->x, p->from, p->to) &&
            !cr_is_built_on(p->to, p->from, e->x));
}

static void end(cr_extraction *e)
{
    sift(e, is_of_another);
    e->x = 0;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_extract_withdraw(&cr_sys.pds[i]);
    }
}

static void finish(cr_extraction *e)
{
    const uint32_t x = e->x;
    uint64_t digest = cr_sys.digest;
    uint32_t maps = 0;
    sift(e, is_valid);
    for (uint32_t i = 0; i < cr_sup.extract.n_pieces; i++) {
        const cr_piece *p = &cr_sup.extract.pieces[i];
        if (p->x == x) {
            digest += cr_digest_edge(CR_EDGE_MAP, cr_rows_label(p->from), cr_rows_label(p->to));
            maps++;
        }
    }
    cr_trace_begin(&cr_sys.trace, CR_EV_EXTRACTED);
    cr_trace_number(&cr_sys.trace, x);
    cr_trace_number(&cr_sys.trace, maps);
    cr_trace_digest(&cr_sys.trace, digest);
    cr_trace_end(&cr_sys.trace);
    end(e);
    cr_tickets_settle(TAG | x);
}

void cr_extract_cancel(uint64_t ticket)
{
    for (uint32_t i = 0; i < CR_MAX_EXTRACTIONS; i++) {
        cr_extraction *e = &cr_sup.extract.at[i];
        if (e->x != 0 && e->ticket == ticket) {
            end(e);
            cr_notices_changed();
        }
    }
}

/* Whether the PD asked for this extraction and waits for the result. It cannot acknowledge before
 * it has the result. */
static int is_its_own(const cr_extraction *e, const cr_pd *pd)
{
    return cr_same(pd->node, e->by) && pd->wait == CR_WAIT_TICKET && pd->ticket == e->ticket;
}

int cr_extract_awaits(uint32_t tag, const cr_pd *pd)
{
    const cr_extraction *e = of_tag(tag);
    return e != 0 && !is_its_own(e, pd);
}

/* Whether a PD can still answer. */
static int is_awaited(const cr_extraction *e)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        uint32_t waiting = 0;
        uint32_t held = 0;
        if (!cr_pd_exists(pd) || pd->life == CR_LIFE_FAULTED || is_its_own(e, pd)) {
            continue;
        }
        cr_work_count_of(cr_sys.work, i, TAG | e->x, &waiting, &held);
        if (waiting > held) {
            return 1;
        }
    }
    return 0;
}

void cr_extract_follow_up(void)
{
    if (cr_sup.extract.seen == cr_sup.changes) {
        return;
    }
    cr_sup.extract.seen = cr_sup.changes;
    for (uint32_t i = 0; i < CR_MAX_EXTRACTIONS; i++) {
        cr_extraction *e = &cr_sup.extract.at[i];
        if (e->x != 0 && !is_awaited(e)) {
            finish(e);
        }
    }
}
