/* SPDX-License-Identifier: BSD-2-Clause */
#include <cellreap/work.h>

void cr_work_init(cr_work *work, cr_work_item *items, uint32_t n_items, cr_work_queue *queues, uint32_t n_queues)
{
    *work = (cr_work){.items = items, .queues = queues, .n_items = n_items, .n_queues = n_queues, .next_token = 1};
    for (uint32_t i = 0; i < n_items; i++) {
        items[i].next = i + 1 < n_items ? i + 1 : CR_NONE;
    }
    work->free = n_items > 0 ? 0 : CR_NONE;
    for (uint32_t i = 0; i < n_queues; i++) {
        queues[i] = (cr_work_queue){CR_NONE, CR_NONE, CR_NONE};
    }
}

uint32_t cr_work_room(const cr_work *work)
{
    return work->n_items - work->pending;
}

cr_status cr_work_oldest(const cr_work *work, uint32_t *receiver)
{
    uint64_t oldest = 0;
    for (uint32_t i = 0; i < work->n_queues; i++) {
        uint32_t first = work->queues[i].first;
        if (first != CR_NONE && (oldest == 0 || work->items[first].notice.token < oldest)) {
            oldest = work->items[first].notice.token;
            *receiver = i;
        }
    }
    return oldest != 0 ? CR_OK : CR_ERR_ABSENT;
}

cr_status cr_work_put(cr_work *work, uint32_t receiver, cr_work_notice *notice)
{
    if (receiver >= work->n_queues) {
        return CR_ERR_ARG;
    }
    uint32_t index = work->free;
    if (index == CR_NONE) {
        return CR_ERR_FULL_NODES;
    }
    cr_work_item *item = &work->items[index];
    cr_work_queue *queue = &work->queues[receiver];
    work->free = item->next;
    notice->token = work->next_token++;
    *item = (cr_work_item){.notice = *notice, .next = CR_NONE};
    if (queue->last == CR_NONE) {
        queue->first = index;
    } else {
        work->items[queue->last].next = index;
    }
    queue->last = index;
    if (queue->first_unfetched == CR_NONE) {
        queue->first_unfetched = index;
    }
    work->pending++;
    return CR_OK;
}

cr_status cr_work_fetch(cr_work *work, uint32_t receiver, uint32_t max, cr_work_notice *out, uint32_t *count)
{
    if (receiver >= work->n_queues) {
        return CR_ERR_ARG;
    }
    cr_work_queue *queue = &work->queues[receiver];
    uint32_t n = 0;
    uint32_t at = queue->first_unfetched;
    while (at != CR_NONE && n < max) {
        cr_work_item *item = &work->items[at];
        if (n > 0 && item->notice.kind != out[0].kind) {
            break;
        }
        item->fetched = 1;
        out[n++] = item->notice;
        at = item->next;
    }
    queue->first_unfetched = at;
    *count = n;
    return CR_OK;
}

cr_status cr_work_check(const cr_work *work, uint32_t receiver, uint64_t token)
{
    if (receiver >= work->n_queues) {
        return CR_ERR_ARG;
    }
    uint32_t at = work->queues[receiver].first;
    for (uint32_t steps = 0; at != CR_NONE && steps < work->n_items; steps++) {
        const cr_work_item *item = &work->items[at];
        if (item->notice.token == token) {
            return item->fetched ? CR_OK : CR_ERR_ABSENT;
        }
        at = item->next;
    }
    return CR_ERR_ABSENT;
}

cr_status cr_work_finish(cr_work *work, uint32_t receiver, uint64_t token, cr_work_notice *out)
{
    if (receiver >= work->n_queues) {
        return CR_ERR_ARG;
    }
    cr_work_queue *queue = &work->queues[receiver];
    uint32_t before = CR_NONE;
    uint32_t at = queue->first;
    for (uint32_t steps = 0; at != CR_NONE && steps < work->n_items; steps++) {
        cr_work_item *item = &work->items[at];
        if (item->notice.token == token) {
            if (!item->fetched) {
                return CR_ERR_ABSENT;
            }
            *out = item->notice;
            if (before == CR_NONE) {
                queue->first = item->next;
            } else {
                work->items[before].next = item->next;
            }
            if (queue->last == at) {
                queue->last = before;
            }
            item->next = work->free;
            work->free = at;
            work->pending--;
            return CR_OK;
        }
        before = at;
        at = item->next;
    }
    return CR_ERR_ABSENT;
}

uint32_t cr_work_drop(cr_work *work, uint32_t receiver)
{
    if (receiver >= work->n_queues) {
        return 0;
    }
    cr_work_queue *queue = &work->queues[receiver];
    uint32_t dropped = 0;
    uint32_t at = queue->first;
    while (at != CR_NONE && dropped < work->n_items) {
        uint32_t next = work->items[at].next;
        work->items[at].next = work->free;
        work->free = at;
        work->pending--;
        dropped++;
        at = next;
    }
    *queue = (cr_work_queue){CR_NONE, CR_NONE, CR_NONE};
    return dropped;
}
