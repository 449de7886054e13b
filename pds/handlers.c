/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Subscriptions with handlers. An entry stands for the subscriptions of one handler with one data
 * to one node. To the root task, its number is the handler. It counts the subscriptions of each and
 * tells this PD once, with all numbers. See client.h. */
#include "local.h"

static int is_about(const cr_subscription *entry, const cr_work_entry *work)
{
    return entry->count != 0 && entry->subject.space == work->space &&
           (work->space != 0 || entry->pd == work->pd);
}

static cr_subscription *find(cr_subject subject, cr_handler handler, uint64_t data)
{
    cr_subscription *const entries = cr_here()->subscriptions;
    for (uint32_t i = 0; i < CR_HANDLERS_MAX; i++) {
        const cr_subject *of = &entries[i].subject;
        if (entries[i].count != 0 && of->space == subject.space &&
            (subject.space != 0 || of->pd_slot == subject.pd_slot) &&
            entries[i].handler == handler && entries[i].data == data) {
            return &entries[i];
        }
    }
    return 0;
}

/* The number of an entry, as the root task knows it. 0 is that of no handler. */
static uint32_t number_of(const cr_subscription *entry)
{
    return (uint32_t)(entry - cr_here()->subscriptions) + 1;
}

static cr_subscription *find_free(void)
{
    cr_subscription *const entries = cr_here()->subscriptions;
    for (uint32_t i = 0; i < CR_HANDLERS_MAX; i++) {
        if (entries[i].count == 0) {
            return &entries[i];
        }
    }
    return 0;
}

cr_result cr_subscribe_handler(cr_subject subject, cr_handler handler, uint64_t data)
{
    cr_subscription *entry = find(subject, handler, data);
    cr_subscription *place = entry != 0 ? entry : find_free();
    if (place == 0) {
        return CR_RESULT_FULL;
    }
    /* The PD may have come into the slot after this one began: only the root task knows which it
     * is. Subscriptions to one that was there before went with it. */
    const uint64_t arguments[] = {subject.space, number_of(place)};
    uint64_t pd = 0;
    cr_result result = cr_call_root_with_pd(
        CR_OP_SUBSCRIBE, subject.space == 0 ? subject.pd_slot : 0, arguments, 2, &pd, 1);
    if (result == CR_RESULT_OK) {
        const uint32_t before = place->pd == (uint32_t)pd ? place->count : 0;
        *place = (cr_subscription){subject, (uint32_t)pd, handler, data, before + 1};
    }
    return result;
}

cr_result cr_unsubscribe_handler(cr_subject subject, cr_handler handler, uint64_t data)
{
    cr_subscription *entry = find(subject, handler, data);
    if (entry == 0) {
        return CR_RESULT_NO_SUCH;
    }
    cr_result result = cr_unsubscribe_as(subject.space, subject.pd_slot, number_of(entry));
    if (result == CR_RESULT_OK) {
        entry->count--;
    }
    return result;
}

cr_result cr_set_destructor(cr_handler run, uint64_t data)
{
    cr_local *const here = cr_here();
    cr_result result = CR_RESULT_OK;
    if (run != 0 && here->destructor == 0) {
        result = cr_subscribe_as(0, 0, CR_HANDLER_DESTRUCTOR);
    } else if (run == 0 && here->destructor != 0) {
        result = cr_unsubscribe_as(0, 0, CR_HANDLER_DESTRUCTOR);
    }
    if (result == CR_RESULT_OK) {
        here->destructor = run;
        here->destructor_data = data;
    }
    return result;
}

/* A `lost` notice may also be about a node that is still there. */
static int is_destroyed(const cr_work_entry *work)
{
    cr_look_state state = CR_LOOK_ACTIVE;
    uint32_t object = work->space == 0 ? work->pd : 0;
    return cr_look(work->space, object, 0, &state) == CR_RESULT_OK && state == CR_LOOK_DESTROYED;
}

static int tell(const cr_work_entry *work, cr_moment moment)
{
    int failed = 0;
    for (uint32_t i = 0; i < CR_HANDLERS_MAX; i++) {
        cr_subscription *entry = &cr_here()->subscriptions[i];
        if (!is_about(entry, work) ||
            (moment == CR_BEFORE && (work->handlers >> number_of(entry) & 1) == 0)) {
            continue;
        }
        int result = entry->handler != 0 ? entry->handler(work, moment, entry->data) : 0;
        if (moment == CR_AFTER && result == 0) {
            entry->count = 0; /* The root task's edge went with the node. */
        }
        failed |= result != 0;
    }
    return failed;
}

int cr_tell_handlers(const cr_work_entry *work)
{
    const cr_local *const here = cr_here();
    switch (work->kind) {
    case CR_NOTICE_PRE_DESTROY:
        return (work->handlers >> CR_HANDLER_DESTRUCTOR & 1) != 0 && here->destructor != 0
                   ? here->destructor(work, CR_BEFORE, here->destructor_data)
                   : tell(work, CR_BEFORE);
    case CR_NOTICE_LOST:
    case CR_NOTICE_DESTROY:
        return work->object == 0 && is_destroyed(work) ? tell(work, CR_AFTER) : 0;
    default:
        return 0;
    }
}
