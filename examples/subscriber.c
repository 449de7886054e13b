/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that subscribes to a space or a PD and so gets a notice before that is destroyed
 * (pre-destroy notice). It prints each notice. After each notice, and at the end, it prints the
 * state of what it subscribed to.
 *
 * Argument 0, bits:
 *   1   it subscribes to the space of its first request
 *   2   it subscribes to the PD of its first PD capability
 *   4   it subscribes to itself
 *   8   it subscribes twice to each
 *   16  afterwards it unsubscribes once from each
 * Argument 1: what it does when the notice arrives:
 *   0  it acknowledges the notice
 *   1  it acknowledges the notice as failed
 *   2  it never answers
 *   3  it performs as many operations as argument 2 says, then acknowledges
 *   4  it exits
 *   5  it faults
 *   6  it sends one more request to the server of its first request
 *   7  it has the model state extracted and waits for that, then acknowledges
 *   8  it tries operations on the spaces of its requests and on the PD of its first PD
 *      capability */
#include "crowd.h"
#include "storage.h"
#include <cellreap/image.h>

enum { TO_SPACE = 1, TO_PD = 2, TO_ITSELF = 4, TWICE = 8, ONCE_LESS = 16 };
enum {
    ACKNOWLEDGES = 0,
    FAILS = 1,
    NEVER = 2,
    SLOWLY = 3,
    EXITS = 4,
    FAULTS = 5,
    FLUSHES = 6,
    EXTRACTS = 7,
    TRIES = 8
};

static uint32_t request;
static uint32_t space;
static uint32_t second_space; /* of the second request, for TRIES */

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
        /* by number: the capability is deleted with the PD */
        say_look("PD", 0, cr_info()->pds[0].number);
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

/* Operations that act outside the running cleanup. */
static void try_all(void)
{
    cr_ticket_info info;
    uint32_t slot;
    uint32_t of;
    uint32_t pd = cr_info()->pds[0].slot;
    say_try("terminate", cr_terminate(pd, &info));
    say_try("connect", cr_connect(cr_info()->requests[0], 0, &slot, &of));
    say_try("disconnect", cr_disconnect(space));
    say_try("subscribe to the space", cr_subscribe(space, 0));
    say_try("subscribe to the PD", cr_subscribe(0, pd));
    say_try("unsubscribe from the space", cr_unsubscribe(space, 0));
    say_try("share the first", cr_share_request(space, pd, 0));
    say_try("share the second", cr_share_request(second_space, pd, 0));
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
    if (cr_info()->n_requests > 0 &&
        cr_connect(cr_info()->requests[0], 1, &request, &space) != CR_RESULT_OK) {
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
