/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A subscriber with handlers. It subscribes to the space of its first request, to the PD of its
 * first PD capability, and to itself, and drops some of its subscriptions. Each handler prints what
 * it is told, and when. */
#include "storage.h"

static cr_subject goods;
static cr_subject victim;
static const cr_subject itself;

static const char *state_of(const cr_work_entry *about)
{
    static const char *const names[] = {"active", "doomed", "destroyed"};
    cr_look_state state = CR_LOOK_ACTIVE;
    uint32_t object = about->space == 0 ? about->pd : 0;
    cr_result result = cr_look(about->space, object, 0, &state);
    return result == CR_RESULT_OK && state <= CR_LOOK_DESTROYED ? names[state] : "unknown";
}

static int say(const cr_work_entry *about, cr_moment moment, uint64_t data)
{
    cr_line line = {0};
    cr_put(cr_put_number(cr_put(&line, "handler "), data), ": ");
    cr_put(&line, moment == CR_BEFORE ? "before: " : "after: ");
    cr_put(&line, about->space != 0 ? "space " : "PD ");
    cr_put_number(&line, about->space != 0 ? about->space : about->pd);
    cr_say(cr_put(cr_put(&line, ", "), state_of(about)));
    return 0;
}

static int say_otherwise(const cr_work_entry *about, cr_moment moment, uint64_t data)
{
    return say(about, moment, 100 + data);
}

static void subscribe(cr_subject subject, cr_handler handler, uint64_t data, uint32_t times)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < times; i++) {
        made += cr_subscribe_handler(subject, handler, data) == CR_RESULT_OK;
    }
    cr_say_check("subscribed", made, times);
}

/* The last of `times` is surplus, if `surplus` is set. */
static void unsubscribe(cr_subject subject, cr_handler handler, uint64_t data, uint32_t times,
                        int surplus)
{
    for (uint32_t i = 1; i <= times; i++) {
        cr_result wanted = surplus && i == times ? CR_RESULT_NO_SUCH : CR_RESULT_OK;
        cr_say_check("unsubscribed", cr_unsubscribe_handler(subject, handler, data), wanted);
    }
}

static int work(const cr_work_entry *w)
{
    return cr_tell_handlers(w);
}

void cr_main(void)
{
    uint32_t slot;
    if (cr_connect(cr_info()->requests[0], 1, &slot, &goods.space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    victim = (cr_subject){0, cr_info()->pds[0].slot, cr_info()->pds[0].number};
    subscribe(goods, say, 1, 3);
    unsubscribe(goods, say, 1, 2, 0); /* fewer than there are: it is told */
    subscribe(goods, say, 2, 2);
    unsubscribe(goods, say, 2, 3, 1); /* as many as there are, and one more: it is not told */
    subscribe(goods, say, 3, 1);
    unsubscribe(goods, say, 4, 1, 1);           /* another data: no such subscription */
    unsubscribe(goods, say_otherwise, 3, 1, 1); /* another handler: likewise */
    subscribe(goods, say_otherwise, 3, 1);
    subscribe(goods, 0, 0, 1);
    subscribe(victim, say, 5, 2);
    subscribe(itself, say, 6, 1);
    /* The root task has 4 subscriptions to the space. Dropping them behind the library's back shows
     * that the surplus ones above dropped none. None of them has no handler. */
    if (cr_info()->args[0] != 0) {
        uint32_t left = 0;
        cr_say_check("handler 0", cr_unsubscribe(goods.space, 0), CR_RESULT_NO_SUCH);
        cr_say_check("no handler", cr_subscribe_as(goods.space, 0, CR_HANDLER_COUNT),
                     CR_RESULT_FAILED);
        for (uint32_t i = 0; i < CR_HANDLER_COUNT; i++) {
            while (cr_unsubscribe_as(goods.space, 0, i) == CR_RESULT_OK) {
                left++;
            }
        }
        cr_say_check("left", left, 4);
    }
    while (cr_next_round()) {
        cr_poll_work(work);
    }
    cr_poll_work(work);
    cr_wait_for_work(work);
}
