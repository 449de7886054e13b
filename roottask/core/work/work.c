/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Lanes of notices. The contract of each function is in cellreap/work.h.
 *
 * A lane exists while it has a notice. A lane is found by hashing its receiver and its key
 * (key_of), a notice by hashing its token. The notices of a lane that are handed out are always its
 * first `out` notices.
 * A lane is on a ready list exactly if none of its notices is handed out and it is not stopped. A
 * stopped lane has the failed notice at its head.
 *
 * A function checks everything before it changes anything. Every loop ends within a limit that is
 * known at its start, even if a list is corrupt. */
#include <cellreap/lanes.h>
#include <cellreap/work.h>

enum { LIMIT = 0x3fffffff };

/* Probes and faults are about no space, and no failed notice may hold them: a receiver must not
 * be able to put them off. So probes have a lane of their own, and so have the faults of each PD.
 * Numbers of spaces are below these keys. */
enum { PROBE_LANE = 0x40000000, FAULT_LANES = 0x60000000 };

typedef enum item_state {
    ITEM_WAITING = 0,
    ITEM_OUT,   /* handed out */
    ITEM_FAILED /* acknowledged as failed; it stops its lane */
} item_state;

typedef struct item {
    cr_work_notice notice;
    uint16_t state;
    uint16_t seen; /* it was handed out before */
    uint32_t lane;
    uint32_t next; /* in the lane */
    uint32_t prev;
    uint32_t chain; /* in the table of tokens, or on the free list */
} item;

typedef struct lane {
    uint32_t receiver;
    uint32_t key; /* key_of its notices */
    uint32_t first;
    uint32_t last;
    uint32_t out; /* number of notices that are handed out */
    uint32_t stopped;
    uint32_t ready; /* the kind of the ready list that it is on, or CR_NONE */
    uint32_t ready_next;
    uint32_t ready_prev;
    uint32_t next; /* in the list of the receiver's lanes */
    uint32_t prev;
    uint32_t chain; /* in the table of lanes, or on the free list */
} lane;

typedef struct receiver {
    uint32_t kinds[CR_NOTICE_KIND_COUNT]; /* pending, by kind */
    uint32_t charged;                     /* notices of the account with this number */
    uint32_t taken;                       /* notices of limited kinds that it has seen */
    uint32_t most;                        /* of those */
    uint16_t account; /* that the notices which it takes count for; 0: they stay as they are */
    uint32_t lanes;   /* the first lane, or CR_NONE */
    uint32_t ready_first[CR_NOTICE_KIND_COUNT];
    uint32_t ready_last[CR_NOTICE_KIND_COUNT];
} receiver;

struct cr_work {
    uint64_t next_token;
    uint32_t n_items;
    uint32_t n_receivers;
    uint32_t n_buckets; /* a power of two */
    uint32_t pending;
    uint32_t free_item;
    uint32_t free_lane;
    item *items;         /* n_items */
    lane *lanes;         /* n_items: each lane has a notice */
    receiver *receivers; /* n_receivers */
    uint32_t *by_token;  /* n_buckets */
    uint32_t *by_key;    /* n_buckets */
};

const cr_notice_kind cr_work_precedence[CR_NOTICE_KIND_COUNT] = {
    CR_NOTICE_PROBE, CR_NOTICE_FAULT, CR_NOTICE_PRE_DESTROY, CR_NOTICE_DESTROY,
    CR_NOTICE_LOST,  CR_NOTICE_FREE,  CR_NOTICE_DISCONNECT,  CR_NOTICE_EXTRACT,
};

int cr_work_is_left(cr_notice_kind kind)
{
    return kind == CR_NOTICE_FREE || kind == CR_NOTICE_DISCONNECT;
}

static int is_limited(cr_notice_kind kind)
{
    return cr_work_is_left(kind) || kind == CR_NOTICE_EXTRACT;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint32_t bucket_count(uint32_t n_items)
{
    uint32_t buckets = 1;
    while (buckets < n_items && buckets <= (uint32_t)LIMIT) {
        buckets *= 2;
    }
    return buckets;
}

/* Divides one block of memory into pieces aligned to 8 bytes. Without memory it only measures. */
static void *carve(unsigned char *memory, uint64_t *used, uint32_t count, size_t size)
{
    void *piece = memory != NULL ? memory + *used : NULL;
    *used += ((uint64_t)count * size + 7) / 8 * 8;
    return piece;
}

/* The only list of the arrays. Returns the bytes used, with the header. */
static uint64_t lay_out(cr_work *work, unsigned char *memory)
{
    uint64_t used = (sizeof(cr_work) + 7) / 8 * 8;
    work->items = carve(memory, &used, work->n_items, sizeof(item));
    work->lanes = carve(memory, &used, work->n_items, sizeof(lane));
    work->receivers = carve(memory, &used, work->n_receivers, sizeof(receiver));
    work->by_token = carve(memory, &used, work->n_buckets, sizeof(uint32_t));
    work->by_key = carve(memory, &used, work->n_buckets, sizeof(uint32_t));
    return used;
}

size_t cr_work_bytes(uint32_t n_items, uint32_t n_receivers)
{
    if (n_items == 0 || n_items > LIMIT || n_receivers == 0 || n_receivers > LIMIT) {
        return 0;
    }
    cr_work measured = {
        .n_items = n_items, .n_receivers = n_receivers, .n_buckets = bucket_count(n_items)};
    const uint64_t bytes = lay_out(&measured, NULL);
    return bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

cr_status cr_work_init(void *memory, size_t bytes, uint32_t n_items, uint32_t n_receivers,
                       cr_work **out)
{
    const size_t needed = cr_work_bytes(n_items, n_receivers);
    if (memory == NULL || out == NULL || needed == 0) {
        return CR_ERR_ARG;
    }
    if (bytes < needed || (uintptr_t)memory % 8 != 0) {
        return CR_ERR_MEMORY;
    }
    cr_work *work = memory;
    *work = (cr_work){.next_token = 1,
                      .n_items = n_items,
                      .n_receivers = n_receivers,
                      .n_buckets = bucket_count(n_items),
                      .free_item = 0,
                      .free_lane = 0};
    (void)lay_out(work, memory);
    for (uint32_t i = 0; i < n_items; i++) {
        const uint32_t next = i + 1 < n_items ? i + 1 : CR_NONE;
        work->items[i] = (item){.lane = CR_NONE, .next = CR_NONE, .prev = CR_NONE, .chain = next};
        work->lanes[i] = (lane){.first = CR_NONE, .last = CR_NONE, .ready = CR_NONE, .chain = next};
    }
    for (uint32_t i = 0; i < n_receivers; i++) {
        work->receivers[i] = (receiver){.lanes = CR_NONE, .most = UINT32_MAX};
        for (uint32_t kind = 0; kind < CR_NOTICE_KIND_COUNT; kind++) {
            work->receivers[i].ready_first[kind] = CR_NONE;
            work->receivers[i].ready_last[kind] = CR_NONE;
        }
    }
    for (uint32_t i = 0; i < work->n_buckets; i++) {
        work->by_token[i] = CR_NONE;
        work->by_key[i] = CR_NONE;
    }
    *out = work;
    return CR_OK;
}

/* The entry at an index, and the row of a kind. Every index that is read from memory goes through
 * these functions. Only damaged memory contains one out of range. Any entry then serves, because no
 * access may leave the arrays. */
static item *get_item(const cr_work *work, uint32_t index)
{
    return &work->items[index < work->n_items ? index : 0];
}

static lane *get_lane(const cr_work *work, uint32_t index)
{
    return &work->lanes[index < work->n_items ? index : 0];
}

static receiver *get_receiver(const cr_work *work, uint32_t index)
{
    return &work->receivers[index < work->n_receivers ? index : 0];
}

static uint32_t row_of(uint32_t kind)
{
    return kind < CR_NOTICE_KIND_COUNT ? kind : 0;
}

/* ---- finding --------------------------------------------------------------------------------- */

static uint32_t bucket_of(const cr_work *work, uint32_t a, uint32_t b)
{
    uint32_t hash = a * 0x9e3779b1u ^ b * 0x85ebca77u;
    hash ^= hash >> 15;
    hash *= 0x2c1b3c6du;
    hash ^= hash >> 12;
    return hash & (work->n_buckets - 1);
}

static uint32_t token_bucket(const cr_work *work, uint64_t token)
{
    return bucket_of(work, (uint32_t)token, (uint32_t)(token >> 32));
}

static uint32_t find_item(const cr_work *work, uint64_t token)
{
    uint32_t at = work->by_token[token_bucket(work, token)];
    for (uint32_t steps = 0; at != CR_NONE && steps < work->n_items; steps++) {
        if (get_item(work, at)->notice.token == token) {
            return at;
        }
        at = get_item(work, at)->chain;
    }
    return CR_NONE;
}

static uint32_t find_lane(const cr_work *work, uint32_t to, uint32_t key)
{
    uint32_t at = work->by_key[bucket_of(work, to, key)];
    for (uint32_t steps = 0; at != CR_NONE && steps < work->n_items; steps++) {
        if (get_lane(work, at)->receiver == to && get_lane(work, at)->key == key) {
            return at;
        }
        at = get_lane(work, at)->chain;
    }
    return CR_NONE;
}

/* The notice with this token if it is handed out to this receiver, else CR_NONE. */
static uint32_t find_handed_out(const cr_work *work, uint32_t to, uint64_t token)
{
    const uint32_t at = find_item(work, token);
    if (at == CR_NONE || get_item(work, at)->state != ITEM_OUT ||
        get_lane(work, get_item(work, at)->lane)->receiver != to) {
        return CR_NONE;
    }
    return at;
}

static uint32_t key_of(const cr_work_notice *notice)
{
    if (notice->kind == CR_NOTICE_FAULT) {
        return FAULT_LANES + notice->pd % (UINT32_MAX - FAULT_LANES);
    }
    return notice->kind == CR_NOTICE_PROBE ? (uint32_t)PROBE_LANE : notice->space;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Puts a lane at the end of the ready list for the kind of its head, unless a notice of it is
 * handed out. The lane must have a notice and must not be stopped. */
static void make_ready(cr_work *work, uint32_t index)
{
    lane *l = get_lane(work, index);
    if (l->out != 0) {
        return;
    }
    const uint32_t kind = row_of((uint32_t)get_item(work, l->first)->notice.kind);
    receiver *r = get_receiver(work, l->receiver);
    l->ready = kind;
    l->ready_next = CR_NONE;
    l->ready_prev = r->ready_last[kind];
    if (l->ready_prev == CR_NONE) {
        r->ready_first[kind] = index;
    } else {
        get_lane(work, l->ready_prev)->ready_next = index;
    }
    r->ready_last[kind] = index;
}

static void make_unready(cr_work *work, uint32_t index)
{
    lane *l = get_lane(work, index);
    if (l->ready == CR_NONE) {
        return;
    }
    receiver *r = get_receiver(work, l->receiver);
    if (l->ready_prev == CR_NONE) {
        r->ready_first[row_of(l->ready)] = l->ready_next;
    } else {
        get_lane(work, l->ready_prev)->ready_next = l->ready_next;
    }
    if (l->ready_next == CR_NONE) {
        r->ready_last[row_of(l->ready)] = l->ready_prev;
    } else {
        get_lane(work, l->ready_next)->ready_prev = l->ready_prev;
    }
    l->ready = CR_NONE;
}

static uint32_t new_lane(cr_work *work, uint32_t to, uint32_t key)
{
    /* There is one: a notice is free, and each lane has a notice. */
    const uint32_t index = work->free_lane;
    uint32_t *bucket = &work->by_key[bucket_of(work, to, key)];
    receiver *r = get_receiver(work, to);
    work->free_lane = get_lane(work, index)->chain;
    *get_lane(work, index) = (lane){.receiver = to,
                                    .key = key,
                                    .first = CR_NONE,
                                    .last = CR_NONE,
                                    .ready = CR_NONE,
                                    .ready_next = CR_NONE,
                                    .ready_prev = CR_NONE,
                                    .next = r->lanes,
                                    .prev = CR_NONE,
                                    .chain = *bucket};
    *bucket = index;
    if (r->lanes != CR_NONE) {
        get_lane(work, r->lanes)->prev = index;
    }
    r->lanes = index;
    return index;
}

static void free_lane(cr_work *work, uint32_t index)
{
    lane *l = get_lane(work, index);
    uint32_t *link = &work->by_key[bucket_of(work, l->receiver, l->key)];
    for (uint32_t steps = 0; *link != index && *link != CR_NONE && steps < work->n_items; steps++) {
        link = &get_lane(work, *link)->chain;
    }
    if (*link == index) {
        *link = l->chain;
    }
    if (l->prev == CR_NONE) {
        get_receiver(work, l->receiver)->lanes = l->next;
    } else {
        get_lane(work, l->prev)->next = l->next;
    }
    if (l->next != CR_NONE) {
        get_lane(work, l->next)->prev = l->prev;
    }
    l->chain = work->free_lane;
    work->free_lane = index;
}

/* Removes a notice that is in no lane any more from the table of tokens and from the counts. */
static void free_item(cr_work *work, uint32_t index)
{
    item *it = get_item(work, index);
    receiver *r = get_receiver(work, get_lane(work, it->lane)->receiver);
    uint32_t *link = &work->by_token[token_bucket(work, it->notice.token)];
    for (uint32_t steps = 0; *link != index && *link != CR_NONE && steps < work->n_items; steps++) {
        link = &get_item(work, *link)->chain;
    }
    if (*link == index) {
        *link = it->chain;
    }
    r->kinds[row_of((uint32_t)it->notice.kind)]--;
    r->taken -= it->seen && is_limited(it->notice.kind);
    if (it->notice.account != 0) {
        get_receiver(work, it->notice.account)->charged--;
    }
    work->pending--;
    it->lane = CR_NONE;
    it->chain = work->free_item;
    work->free_item = index;
}

/* Removes the head of a lane, whatever its state. Frees the lane if no notice is left. */
static void remove_head(cr_work *work, uint32_t lane_index)
{
    lane *l = get_lane(work, lane_index);
    const uint32_t index = l->first;
    const item *head = get_item(work, index);
    make_unready(work, lane_index);
    if (head->state == ITEM_OUT) {
        l->out--;
    } else if (head->state == ITEM_FAILED) {
        l->stopped = 0;
    }
    l->first = head->next;
    if (l->first == CR_NONE) {
        l->last = CR_NONE;
    } else {
        get_item(work, l->first)->prev = CR_NONE;
    }
    free_item(work, index);
    if (l->first == CR_NONE) {
        free_lane(work, lane_index);
    } else {
        make_ready(work, lane_index);
    }
}

/* Removes a notice that is not the head of its lane and waits. */
static void remove_behind(cr_work *work, uint32_t index)
{
    const item *it = get_item(work, index);
    get_item(work, it->prev)->next = it->next;
    if (it->next == CR_NONE) {
        get_lane(work, it->lane)->last = it->prev;
    } else {
        get_item(work, it->next)->prev = it->prev;
    }
    free_item(work, index);
}

/* ---- walking over the notices of a receiver -------------------------------------------------- */

static uint32_t first_of(const cr_work *work, uint32_t lane_at)
{
    return lane_at != CR_NONE ? get_lane(work, lane_at)->first : CR_NONE;
}

/* The next notice of the receiver, lane by lane, or CR_NONE. The cursor is then at the one behind
 * it, so that this one may go. */
static uint32_t next_of(const cr_work *work, uint32_t to, cr_work_cursor *at)
{
    if (at->steps++ == 0) {
        at->lane = get_receiver(work, to)->lanes;
        at->item = first_of(work, at->lane);
    }
    if (at->item == CR_NONE || at->steps > work->n_items) {
        at->steps = work->n_items;
        return CR_NONE;
    }
    const uint32_t index = at->item;
    at->item = get_item(work, index)->next;
    if (at->item == CR_NONE) {
        at->lane = get_lane(work, at->lane)->next;
        at->item = first_of(work, at->lane);
    }
    return index;
}

/* The next one that the receiver has not seen, or that it can fetch or finish. */
static cr_status next_that(const cr_work *work, uint32_t to, int unseen, cr_work_cursor *at,
                           cr_work_notice *out)
{
    if (to >= work->n_receivers) {
        return CR_ERR_ARG;
    }
    for (uint32_t i = next_of(work, to, at); i != CR_NONE; i = next_of(work, to, at)) {
        const item *it = get_item(work, i);
        if (unseen ? !it->seen : !get_lane(work, it->lane)->stopped) {
            *out = it->notice;
            return CR_OK;
        }
    }
    return CR_ERR_ABSENT;
}

cr_status cr_work_next_unseen(const cr_work *work, uint32_t to, cr_work_cursor *at,
                              cr_work_notice *out)
{
    return next_that(work, to, 1, at, out);
}

cr_status cr_work_next(const cr_work *work, uint32_t to, cr_work_cursor *at, cr_work_notice *out)
{
    return next_that(work, to, 0, at, out);
}

/* ---- counts ---------------------------------------------------------------------------------- */

uint32_t cr_work_room(const cr_work *work)
{
    return work->n_items - work->pending;
}

int cr_work_has(const cr_work *work, uint64_t token)
{
    return find_item(work, token) != CR_NONE;
}

/* Whether the receiver may be handed this notice, now that its turn has come. */
static int may_take(const cr_work *work, uint32_t to, const item *it)
{
    const receiver *r = get_receiver(work, to);
    return it->seen || r->taken < r->most || !is_limited(it->notice.kind);
}

/* The first ready lane of this kind from which something can be handed out, or CR_NONE. Only a
 * receiver at its limit makes it search. */
static inline uint32_t first_ready(const cr_work *work, uint32_t to, uint32_t kind)
{
    uint32_t at = get_receiver(work, to)->ready_first[kind];
    for (uint32_t steps = 0; at != CR_NONE && steps < work->n_items; steps++) {
        if (may_take(work, to, get_item(work, get_lane(work, at)->first))) {
            return at;
        }
        at = get_lane(work, at)->ready_next;
    }
    return CR_NONE;
}

/* The kind to hand out next, or CR_NONE. */
static uint32_t next_kind(const cr_work *work, uint32_t to)
{
    for (uint32_t i = 0; i < CR_NOTICE_KIND_COUNT; i++) {
        if (first_ready(work, to, (uint32_t)cr_work_precedence[i]) != CR_NONE) {
            return (uint32_t)cr_work_precedence[i];
        }
    }
    return CR_NONE;
}

int cr_work_ready(const cr_work *work, uint32_t to)
{
    return to < work->n_receivers && next_kind(work, to) != CR_NONE;
}

uint32_t cr_work_pending_of(const cr_work *work, uint32_t to, cr_notice_kind kind)
{
    return to < work->n_receivers && (uint32_t)kind < CR_NOTICE_KIND_COUNT
               ? get_receiver(work, to)->kinds[kind]
               : 0;
}

uint32_t cr_work_charged(const cr_work *work, uint32_t account)
{
    return account < work->n_receivers ? get_receiver(work, account)->charged : 0;
}

void cr_work_count_of(const cr_work *work, uint32_t to, uint32_t tag, uint32_t *waiting,
                      uint32_t *held)
{
    cr_work_cursor at = {0};
    *waiting = 0;
    *held = 0;
    if (to >= work->n_receivers) {
        return;
    }
    for (uint32_t i = next_of(work, to, &at); i != CR_NONE; i = next_of(work, to, &at)) {
        const item *it = get_item(work, i);
        if (it->notice.tag == tag && it->state != ITEM_FAILED) {
            *waiting += 1;
            *held += get_lane(work, it->lane)->stopped;
        }
    }
}

/* ---- putting, fetching, finishing ------------------------------------------------------------ */

cr_status cr_work_put(cr_work *work, uint32_t to, cr_work_notice *notice)
{
    if (to >= work->n_receivers || notice->account >= work->n_receivers ||
        (uint32_t)notice->kind >= CR_NOTICE_KIND_COUNT) {
        return CR_ERR_ARG;
    }
    const uint32_t index = work->free_item;
    if (index == CR_NONE) {
        return CR_ERR_FULL_NODES;
    }
    const uint32_t key = key_of(notice);
    uint32_t lane_index = find_lane(work, to, key);
    if (lane_index == CR_NONE) {
        lane_index = new_lane(work, to, key);
    }
    lane *l = get_lane(work, lane_index);
    item *it = get_item(work, index);
    work->free_item = it->chain;
    notice->token = work->next_token++;
    uint32_t *bucket = &work->by_token[token_bucket(work, notice->token)];
    it->notice = *notice;
    it->state = ITEM_WAITING;
    it->seen = 0;
    it->lane = lane_index;
    it->next = CR_NONE;
    it->prev = l->last;
    it->chain = *bucket;
    *bucket = index;
    get_receiver(work, to)->kinds[notice->kind]++;
    if (notice->account != 0) {
        get_receiver(work, notice->account)->charged++;
    }
    work->pending++;
    if (l->last != CR_NONE) {
        get_item(work, l->last)->next = index;
        l->last = index;
        return CR_OK; /* the lane stays as it is: ready, handed out or stopped */
    }
    l->first = index;
    l->last = index;
    make_ready(work, lane_index);
    return CR_OK;
}

/* Makes a notice count for another account. One that no account was charged for stays so. */
static void charge(cr_work *work, item *it, uint16_t account)
{
    if (it->notice.account != 0 && account != 0) {
        get_receiver(work, it->notice.account)->charged--;
        get_receiver(work, account)->charged++;
        it->notice.account = account;
    }
}

static void hand_out(cr_work *work, item *it)
{
    receiver *r = get_receiver(work, get_lane(work, it->lane)->receiver);
    it->state = ITEM_OUT;
    get_lane(work, it->lane)->out++;
    if (!it->seen && is_limited(it->notice.kind)) {
        r->taken++;
        charge(work, it, r->account);
    }
    it->seen = 1;
}

cr_status cr_work_fetch(cr_work *work, uint32_t to, uint32_t max, cr_work_notice *out,
                        uint32_t *count)
{
    if (to >= work->n_receivers) {
        return CR_ERR_ARG;
    }
    *count = 0;
    const uint32_t kind = next_kind(work, to);
    if (kind == CR_NONE) {
        return CR_OK;
    }
    uint32_t n = 0;
    for (uint32_t from = first_ready(work, to, kind); from != CR_NONE && n < max;
         from = first_ready(work, to, kind)) {
        const lane *l = get_lane(work, from);
        make_unready(work, from);
        for (uint32_t at = l->first; at != CR_NONE && n < max; at = get_item(work, at)->next) {
            if ((uint32_t)get_item(work, at)->notice.kind != kind ||
                !may_take(work, to, get_item(work, at))) {
                break;
            }
            hand_out(work, get_item(work, at));
            out[n++] = get_item(work, at)->notice;
        }
    }
    *count = n;
    return CR_OK;
}

/* The index of this token among the first `n` answers, or CR_NONE. A message has few answers. */
static uint32_t place_of(const cr_work_answer *answers, uint32_t n, uint64_t token)
{
    for (uint32_t i = 0; i < n; i++) {
        if (answers[i].token == token) {
            return i;
        }
    }
    return CR_NONE;
}

cr_status cr_work_check(const cr_work *work, uint32_t to, const cr_work_answer *answers,
                        uint32_t count)
{
    if (to >= work->n_receivers) {
        return CR_ERR_ARG;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = find_handed_out(work, to, answers[i].token);
        if (at == CR_NONE || place_of(answers, i, answers[i].token) != CR_NONE) {
            return CR_ERR_ABSENT;
        }
        const item *it = get_item(work, at);
        if (it->prev == CR_NONE) {
            continue;
        }
        const item *before = get_item(work, it->prev);
        const uint32_t place = place_of(answers, i, before->notice.token);
        if (place >= i ||
            (answers[place].failed && cr_notice_stops_its_lane(before->notice.kind))) {
            return CR_ERR_STATE;
        }
    }
    return CR_OK;
}

cr_status cr_work_look(const cr_work *work, uint32_t to, uint64_t token, cr_work_notice *out)
{
    if (to >= work->n_receivers) {
        return CR_ERR_ARG;
    }
    const uint32_t at = find_handed_out(work, to, token);
    if (at == CR_NONE) {
        return CR_ERR_ABSENT;
    }
    *out = get_item(work, at)->notice;
    return CR_OK;
}

cr_status cr_work_finish(cr_work *work, uint32_t to, const cr_work_answer *answer,
                         cr_work_notice *out)
{
    const cr_status status = cr_work_check(work, to, answer, 1);
    if (status != CR_OK) {
        return status;
    }
    const uint32_t index = find_item(work, answer->token);
    item *it = get_item(work, index);
    *out = it->notice;
    if (!answer->failed || !cr_notice_stops_its_lane(it->notice.kind)) {
        remove_head(work, it->lane);
        return CR_OK;
    }
    lane *l = get_lane(work, it->lane);
    it->state = ITEM_FAILED;
    l->stopped = 1;
    l->out--;
    for (uint32_t at = it->next; at != CR_NONE && l->out > 0; at = get_item(work, at)->next) {
        get_item(work, at)->state = ITEM_WAITING;
        l->out--;
    }
    return CR_OK;
}

cr_status cr_work_failed(const cr_work *work, uint32_t to, uint32_t space, cr_work_notice *out)
{
    if (to >= work->n_receivers) {
        return CR_ERR_ARG;
    }
    const uint32_t index = find_lane(work, to, space);
    if (index == CR_NONE || !get_lane(work, index)->stopped) {
        return CR_ERR_ABSENT;
    }
    *out = get_item(work, get_lane(work, index)->first)->notice;
    return CR_OK;
}

cr_status cr_work_resume(cr_work *work, uint32_t to, uint32_t space)
{
    if (to >= work->n_receivers) {
        return CR_ERR_ARG;
    }
    const uint32_t index = find_lane(work, to, space);
    if (index == CR_NONE || !get_lane(work, index)->stopped) {
        return CR_ERR_ABSENT;
    }
    lane *l = get_lane(work, index);
    l->stopped = 0;
    get_item(work, l->first)->state = ITEM_WAITING;
    get_item(work, l->first)->notice.tag = 0;
    get_item(work, l->first)->notice.again = 1;
    make_ready(work, index);
    return CR_OK;
}

cr_status cr_work_take(cr_work *work, uint32_t to, cr_work_notice *out, uint32_t *failed)
{
    if (to >= work->n_receivers) {
        return CR_ERR_ARG;
    }
    const uint32_t index = get_receiver(work, to)->lanes;
    if (index == CR_NONE) {
        return CR_ERR_ABSENT;
    }
    const item *head = get_item(work, get_lane(work, index)->first);
    *out = head->notice;
    *failed = head->state == ITEM_FAILED;
    remove_head(work, index);
    return CR_OK;
}

/* ---- notices that nobody has seen ------------------------------------------------------------ */

cr_status cr_work_set_receiver(cr_work *work, uint32_t to, uint16_t account, uint32_t most)
{
    if (to >= work->n_receivers || account >= work->n_receivers || most == 0) {
        return CR_ERR_ARG;
    }
    get_receiver(work, to)->account = account;
    get_receiver(work, to)->most = most;
    return CR_OK;
}

/* The notice with this token, if it is the receiver's and unseen, else CR_NONE. */
static uint32_t find_unseen(const cr_work *work, uint32_t to, uint64_t token)
{
    const uint32_t index = find_item(work, token);
    const int its = index != CR_NONE && get_lane(work, get_item(work, index)->lane)->receiver == to;
    return its && !get_item(work, index)->seen ? index : CR_NONE;
}

cr_status cr_work_withdraw(cr_work *work, uint32_t to, uint64_t token, cr_work_notice *out)
{
    if (to >= work->n_receivers) {
        return CR_ERR_ARG;
    }
    const uint32_t index = find_unseen(work, to, token);
    if (index == CR_NONE) {
        return CR_ERR_ABSENT;
    }
    *out = get_item(work, index)->notice;
    if (get_item(work, index)->prev == CR_NONE) {
        remove_head(work, get_item(work, index)->lane);
    } else {
        remove_behind(work, index);
    }
    return CR_OK;
}

cr_status cr_work_merge(cr_work *work, uint32_t to, uint64_t token)
{
    if (to >= work->n_receivers) {
        return CR_ERR_ARG;
    }
    const uint32_t index = find_unseen(work, to, token);
    if (index == CR_NONE || !cr_work_is_left(get_item(work, index)->notice.kind)) {
        return CR_ERR_ABSENT;
    }
    item *it = get_item(work, index);
    receiver *r = get_receiver(work, to);
    const int was_ready = get_lane(work, it->lane)->ready != CR_NONE && it->prev == CR_NONE;
    if (was_ready) {
        make_unready(work, it->lane);
    }
    r->kinds[row_of((uint32_t)it->notice.kind)]--;
    it->notice.kind = CR_NOTICE_DISCONNECT;
    it->notice.object = 0;
    it->notice.pd = 0;
    r->kinds[row_of((uint32_t)it->notice.kind)]++;
    charge(work, it, r->account);
    if (was_ready) {
        make_ready(work, it->lane);
    }
    return CR_OK;
}

cr_status cr_work_untag(cr_work *work, uint32_t to, uint64_t token)
{
    if (to >= work->n_receivers) {
        return CR_ERR_ARG;
    }
    cr_work_cursor at = {0};
    for (uint32_t i = next_of(work, to, &at); i != CR_NONE; i = next_of(work, to, &at)) {
        if (get_item(work, i)->notice.token <= token) {
            get_item(work, i)->notice.tag = 0;
        }
    }
    return CR_OK;
}
