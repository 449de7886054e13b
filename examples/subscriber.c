/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Wants to know before others go. Argument 0, bits: to what it subscribes: 1 its first request's space, 2 the PD
 * whose capability is its first one, 4 itself; 8 twice to each; 16 and then unsubscribes once from each.
 * Argument 1: what it does when it is told: 0 it acknowledges, 1 it fails, 2 it never answers, 3 it takes as many requests
 * to the root task as argument 2 says, 4 it exits, 5 it faults, 6 it asks the server of its first request once more,
 * 7 it has the model state extracted first, and waits for that, 8 it tries what it may with its requests' spaces and the
 * PD whose capability is its first one. It says what it was told, and how what it subscribed to looks, then and at the
 * end. */
#include "crowd.h"
#include "storage.h"
#include <cellreap/image.h>

enum { TO_SPACE = 1, TO_PD = 2, TO_ITSELF = 4, TWICE = 8, ONCE_LESS = 16 };
enum { ACKNOWLEDGES = 0, FAILS = 1, NEVER = 2, SLOWLY = 3, EXITS = 4, FAULTS = 5, FLUSHES = 6, EXTRACTS = 7, TRIES = 8 };

static uint32_t request;
static uint32_t space;
static uint32_t second_space; /* of its second request, if it tries */

static void say_look(const char *what, uint32_t of_space, uint32_t pd)
{
    static const char *const names[] = {"active", "doomed", "destroyed"};
    cr_line line = {0};
    cr_look_state state = CR_LOOK_ACTIVE;
    cr_result result = cr_look(of_space, pd, 0, &state);
    cr_put(cr_put(cr_put(&line, "look: "), what), " ");
    if (result == CR_RESULT_OK && state <= CR_LOOK_DESTROYED) {
        cr_put(&line, names[state]);
    } else {
        cr_put_number(cr_put(&line, "refused, "), result);
    }
    cr_say(&line);
}

static void look(void)
{
    if ((cr_info()->args[0] & TO_SPACE) != 0) {
        say_look("space", space, 0);
    }
    if ((cr_info()->args[0] & TO_PD) != 0) {
        say_look("PD", 0, cr_info()->pds[0].number); /* the capability goes with it */
    }
    if ((cr_info()->args[0] & TO_ITSELF) != 0) {
        say_look("itself", 0, 0);
    }
}

static void say_try(const char *what, cr_result result)
{
    cr_line line = {0};
    cr_say(cr_put_number(cr_put(cr_put(cr_put(&line, "try: "), what), ": "), result));
}

/* Each would do something outside a cleanup. */
static void try_all(void)
{
    cr_ticket_info info;
    uint32_t slot;
    uint32_t of;
    uint32_t pd = cr_info()->pds[0].slot;
    uint64_t first = space;
    uint64_t second = second_space;
    say_try("terminate", cr_terminate(pd, &info));
    say_try("connect", cr_connect(cr_info()->requests[0], 0, &slot, &of));
    say_try("disconnect", cr_call_root(CR_OP_DISCONNECT, &first, 1, 0, 0));
    say_try("subscribe to the space", cr_subscribe(space, 0));
    say_try("subscribe to the PD", cr_subscribe(0, pd));
    say_try("unsubscribe from the space", cr_unsubscribe(space, 0));
    say_try("share the first", cr_call_root_with_pd(CR_OP_SHARE_REQUEST, pd, &first, 1, 0, 0));
    say_try("share the second", cr_call_root_with_pd(CR_OP_SHARE_REQUEST, pd, &second, 1, 0, 0));
}

static int told(void)
{
    cr_line line = {0};
    cr_look_state state;
    cr_ticket_info info;
    uint64_t words[2] = {0, 1};
    uint64_t echo[2] = {0};
    uint32_t number;
    switch (cr_info()->args[1]) {
    case FAILS:
        return 1;
    case NEVER:
        cr_crash(CR_CRASH_BLOCK);
        return 1;
    case SLOWLY:
        for (uint32_t i = 0; i < cr_info()->args[2]; i++) {
            (void)cr_look(0, 0, 0, &state);
        }
        cr_say_text("took long");
        return 0;
    case EXITS:
        cr_exit(3);
    case FAULTS:
        cr_crash(CR_CRASH_PAGE_FAULT);
        return 1;
    case FLUSHES:
        cr_put(&line, "flushed: ");
        cr_say(cr_put(&line, st_name(cr_call(request, CW_ASK, words, 2, echo, 2, &number))));
        return 0;
    case EXTRACTS:
        if (cr_extract(&number) != CR_RESULT_OK || cr_ticket(number, 1, &info) != CR_RESULT_OK) {
            cr_say_text("no extraction");
            return 1;
        }
        cr_say(cr_put_number(cr_put(&line, "extracted, state "), info.state));
        return 0;
    case TRIES:
        try_all();
        return 0;
    default:
        return 0;
    }
}

static int work(const cr_work_entry *w)
{
    st_say_notice(w);
    if (w->kind != CR_NOTICE_PRE_DESTROY) {
        return 0;
    }
    look();
    return told();
}

static void subscribe(const char *what, uint32_t of_space, uint32_t pd_slot)
{
    cr_line line = {0};
    uint32_t made = 0;
    for (uint32_t i = 0; i < ((cr_info()->args[0] & TWICE) != 0 ? 2 : 1); i++) {
        made += cr_subscribe(of_space, pd_slot) == CR_RESULT_OK;
    }
    cr_put(cr_put_number(cr_put(&line, "subscribed: "), made), " ");
    cr_say(cr_put(&line, what));
    if ((cr_info()->args[0] & ONCE_LESS) != 0) {
        made = cr_unsubscribe(of_space, pd_slot);
        cr_say(cr_put_number(cr_put(cr_put(cr_put(&line, "unsubscribed: "), what), ", "), made));
    }
}

void cr_main(void)
{
    uint32_t wanted = cr_info()->args[0];
    if (cr_info()->n_requests > 0 && cr_connect(cr_info()->requests[0], 1, &request, &space) != CR_RESULT_OK) {
        cr_say_text("nobody to ask");
    }
    if (cr_info()->args[1] == TRIES && cr_info()->n_requests > 1) {
        uint32_t slot;
        if (cr_connect(cr_info()->requests[1], 1, &slot, &second_space) != CR_RESULT_OK) {
            cr_say_text("nobody else to ask");
        }
    }
    if ((wanted & TO_SPACE) != 0) {
        subscribe("space", space, 0);
    }
    if ((wanted & TO_PD) != 0) {
        subscribe("PD", 0, cr_info()->pds[0].slot);
    }
    if ((wanted & TO_ITSELF) != 0) {
        subscribe("itself", 0, 0);
    }
    while (cr_next_round()) {
        cr_poll_work(work);
    }
    cr_poll_work(work);
    cr_say_text("at the end");
    look();
    cr_wait_for_work(work);
}
