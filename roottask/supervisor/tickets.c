/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tickets. See tickets.h. A ticket counts the notices with its tag, except those to its owner. The
 * owner cannot acknowledge while it waits for the ticket, so counting its notices could make it
 * wait for itself. */
#include "tickets.h"
#include "answer.h"
#include "arena.h"
#include "system/charge.h"

/* The next ticket in use from place `*at` on, which moves behind it. 0: there is none. Most systems
 * have no tickets, so nothing is searched if none is in use. */
static cr_ticket *next(uint32_t *at)
{
    while (cr_sup.tickets.in_use > 0 && *at < cr_most.tickets) {
        cr_ticket *t = &cr_sup.tickets.at[(*at)++];
        if (t->number != 0) {
            return t;
        }
    }
    return 0;
}

static cr_ticket *find(uint64_t number)
{
    uint32_t at = 0;
    cr_ticket *t = next(&at);
    while (t != 0 && t->number != number) {
        t = next(&at);
    }
    return t;
}

/* A ticket that is there. */
static cr_ticket *get(uint64_t number)
{
    cr_ticket *t = find(number);
    if (t == 0) {
        cr_panic("a ticket that was found is not there", number);
    }
    return t;
}

/* The receiver's notices that the ticket counts. */
static void count_of(const cr_ticket *t, uint32_t receiver, uint32_t *waiting, uint32_t *held)
{
    *waiting = 0;
    *held = 0;
    if (t->tag != 0 && receiver != cr_receiver(t->owner)) {
        cr_work_count_of(cr_sys.work, receiver, t->tag, waiting, held);
    }
}

static void count(const cr_ticket *t, uint32_t *waiting, uint32_t *held)
{
    *waiting = 0;
    *held = 0;
    for (uint32_t i = 1; t->tag != 0 && i < cr_most.pds; i++) {
        uint32_t its;
        uint32_t its_held;
        count_of(t, i, &its, &its_held);
        *waiting += its;
        *held += its_held;
    }
}

/* A settled ticket is over when all notices that still wait are held. */
static cr_ticket_state state_of(const cr_ticket *t)
{
    uint32_t waiting;
    uint32_t held;
    if (t->state != CR_TICKET_SETTLED) {
        return t->state;
    }
    count(t, &waiting, &held);
    return waiting == held ? CR_TICKET_OVER : CR_TICKET_SETTLED;
}

/* Whether nothing will come of it any more. */
static int is_over(cr_ticket_state state)
{
    return state == CR_TICKET_OVER || state == CR_TICKET_CANCELLED || state == CR_TICKET_PREVENTED;
}

/* The same in its present state. A ticket that is over remains over. */
static cr_ticket *refreshed(uint64_t number)
{
    cr_ticket *t = get(number);
    t->state = state_of(t);
    return t;
}

/* A free entry. If the owner's account has used its quota: the entry of the oldest of its tickets
 * that are over. 0: there is none, or the owner has CR_MAX_TICKETS_EACH tickets that are not
 * over. */
static cr_ticket *place(const cr_pd *owner)
{
    cr_ticket *best = 0;
    cr_ticket *unused = 0;
    uint32_t his = 0;
    uint32_t its = 0; /* of the account */
    for (uint32_t i = 0; i < cr_most.tickets; i++) {
        cr_ticket *t = &cr_sup.tickets.at[i];
        if (t->number == 0) {
            unused = t;
            continue;
        }
        if (t->owner->account != owner->account) {
            continue;
        }
        its++;
        if (!is_over(state_of(t))) {
            his += t->owner == owner;
        } else if (best == 0 || t->number < best->number) {
            best = t;
        }
    }
    int full = its >= cr_quota_of(owner->account, CR_QUOTA_TICKETS) || unused == 0;
    return his >= CR_MAX_TICKETS_EACH ? 0 : full ? best : unused;
}

int cr_ticket_room(const cr_pd *owner)
{
    return place(owner) != 0;
}

uint64_t cr_ticket_make(cr_pd *owner, cr_ticket_kind kind, const cr_pd *what, uint32_t tag)
{
    cr_ticket *t = place(owner);
    if (t == 0) {
        cr_panic("there was room for a ticket, and then there was not", cr_sup.tickets.last_number);
    }
    cr_sup.tickets.in_use += t->number == 0;
    *t = (cr_ticket){.kind = kind,
                     .owner = owner,
                     .what = what != 0 ? what->node : (cr_ref){CR_NONE, 0},
                     .number = ++cr_sup.tickets.last_number,
                     .tag = tag,
                     .state = tag != 0 ? CR_TICKET_RUNNING : CR_TICKET_QUEUED};
    return t->number;
}

void cr_tickets_leave_queue(cr_ref what, cr_ticket_state to, uint32_t tag)
{
    uint32_t at = 0;
    for (cr_ticket *t = next(&at); t != 0; t = next(&at)) {
        if (t->state == CR_TICKET_QUEUED && cr_same(t->what, what)) {
            t->tag = tag;
            t->state = to;
        }
    }
}

void cr_tickets_settle(uint32_t tag)
{
    uint32_t at = 0;
    for (cr_ticket *t = next(&at); t != 0; t = next(&at)) {
        if (t->state == CR_TICKET_RUNNING && t->tag == tag) {
            t->state = CR_TICKET_SETTLED;
        }
    }
}

const cr_ticket *cr_ticket_of(uint64_t number)
{
    return get(number);
}

void cr_ticket_cancel(uint64_t number)
{
    get(number)->state = CR_TICKET_CANCELLED;
}

void cr_ticket_credit(const cr_pd *receiver, const cr_work_notice *notice, cr_notice_end end)
{
    uint32_t at = 0;
    for (cr_ticket *t = next(&at); notice->tag != 0 && t != 0; t = next(&at)) {
        if (t->tag == notice->tag && t->owner != receiver) {
            t->ends[end]++;
        }
    }
}

int cr_ticket_awaits(uint32_t tag, const cr_pd *receiver)
{
    uint32_t at = 0;
    for (const cr_ticket *t = next(&at); tag != 0 && t != 0; t = next(&at)) {
        if (t->tag == tag && t->owner != receiver && !is_over(t->state)) {
            return 1;
        }
    }
    return 0;
}

void cr_ticket_give_up(const cr_pd *receiver, uint64_t token)
{
    const uint32_t me = cr_receiver(receiver);
    uint32_t waiting;
    uint32_t held;
    uint32_t at = 0;
    for (cr_ticket *t = next(&at); t != 0; t = next(&at)) {
        count_of(t, me, &waiting, &held);
        t->left += waiting;
    }
    cr_must(cr_work_untag(cr_sys.work, me, token), "there is no such receiver");
    at = 0;
    for (cr_ticket *t = next(&at); t != 0; t = next(&at)) {
        count_of(t, me, &waiting, &held);
        t->left -= waiting;
    }
}

static uint32_t tell(const cr_ticket *t, uint64_t *out)
{
    uint32_t waiting;
    uint32_t held;
    count(t, &waiting, &held);
    const uint64_t words[CR_TICKET_WORDS] = {(uint64_t)t->state,        t->ends[CR_NOTICE_DONE],
                                             t->ends[CR_NOTICE_FAILED], t->ends[CR_NOTICE_DROPPED],
                                             waiting + t->left,         held};
    cr_trace_begin(&cr_sys.trace, CR_EV_TICKET);
    cr_trace_number(&cr_sys.trace, t->number);
    for (uint32_t i = 0; i < CR_TICKET_WORDS; i++) {
        cr_trace_number(&cr_sys.trace, words[i]);
        out[i] = words[i];
    }
    cr_trace_end(&cr_sys.trace);
    return CR_TICKET_WORDS;
}

cr_result cr_ticket_check(const cr_pd *from, uint64_t number)
{
    const cr_ticket *t = find(number);
    if (t == 0) {
        return number != 0 && number <= cr_sup.tickets.last_number ? CR_RESULT_GONE
                                                                   : CR_RESULT_NO_SUCH;
    }
    return t->owner == from ? CR_RESULT_OK : CR_RESULT_DENIED;
}

uint32_t cr_ticket_look(uint64_t number, int wait, uint64_t *out)
{
    const cr_ticket *t = refreshed(number);
    return wait && !is_over(t->state) ? 0 : tell(t, out);
}

static int waits(const cr_pd *pd)
{
    return pd->wait == CR_WAIT_TICKET || pd->wait == CR_WAIT_TERMINATE;
}

int cr_ticket_is_bounded(const cr_pd *pd)
{
    return !is_over(get(pd->ticket)->state);
}

int cr_ticket_keeps(const cr_pd *pd)
{
    if (!waits(pd)) {
        return 0;
    }
    const cr_ticket *t = get(pd->ticket);
    return t->kind != CR_TICKET_EXTRACTION &&
           (t->state == CR_TICKET_QUEUED || t->state == CR_TICKET_RUNNING);
}

void cr_ticket_answer(cr_pd *pd)
{
    uint64_t results[1 + CR_TICKET_WORDS];
    const cr_ticket *t = refreshed(pd->ticket);
    int terminates = pd->wait == CR_WAIT_TERMINATE;
    results[0] = t->number;
    uint32_t words = tell(t, results + terminates);
    const cr_answer answer = {.op = terminates ? pd->ticket_op : CR_OP_TICKET,
                              .count = words + (uint32_t)terminates,
                              .words = results};
    cr_answer_later(pd, &answer);
}

static int anybody_waits(void)
{
    return cr_sys.waiting[CR_WAIT_TICKET] != 0 || cr_sys.waiting[CR_WAIT_TERMINATE] != 0;
}

void cr_tickets_follow_up(void)
{
    for (uint32_t i = 1; anybody_waits() && i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_is_served(pd) && waits(pd) && is_over(refreshed(pd->ticket)->state)) {
            cr_ticket_answer(pd);
        }
    }
}

void cr_tickets_forget(const cr_pd *owner)
{
    uint32_t at = 0;
    for (cr_ticket *t = next(&at); t != 0; t = next(&at)) {
        if (t->owner == owner) {
            t->number = 0;
            cr_sup.tickets.in_use--;
        }
    }
}

uint32_t cr_tickets_in_use(void)
{
    uint32_t count = 0;
    uint32_t at = 0;
    for (cr_ticket *t = next(&at); t != 0; t = next(&at)) {
        count += !is_over(state_of(t));
    }
    return count;
}
