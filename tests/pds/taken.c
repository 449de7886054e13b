/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client of takers (taker.c) that uses slots after they were emptied.
 *
 * Argument 0: what it does.
 *   0  It gets a resource of each of its first server's spaces, and uses them.
 *   1  The first server takes away what it holds. It says a word, the second server gives it a
 *      resource, and it uses the old slot. Then it acknowledges the loss, and gets another one.
 *   2  It gets a resource and uses it at the end of the round, when others use theirs.
 *   3  It terminates the PD whose capability the configuration gives it. When the PD was created
 *      again, it terminates once more with the same slot. Then it acknowledges the loss, and looks
 *      what is in the slot.
 * Argument 1: the word that it sends with each call. */
#include "taker.h"

static int done(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

static void say(const char *what, uint64_t value)
{
    cr_line line = {0};
    cr_say(cr_put_number(cr_put(&line, what), value));
}

static uint32_t connect(uint32_t which)
{
    uint32_t slot;
    uint32_t space;
    if (cr_connect(cr_info()->requests[which], 1, &slot, &space) != CR_RESULT_OK ||
        cr_allow(space, 4) != CR_RESULT_OK) {
        cr_say_text("cannot connect");
        cr_exit(1);
    }
    return slot;
}

static uint32_t ask(uint32_t server, uint32_t label, uint32_t which)
{
    uint64_t word = which;
    uint64_t slot = 0;
    uint32_t received;
    if (cr_call(server, label, &word, 1, &slot, 1, &received) != TK_OK) {
        cr_say_text("refused");
    }
    return (uint32_t)slot;
}

static void use(uint32_t slot)
{
    uint64_t word = cr_info()->args[1];
    uint64_t badge = 0;
    uint32_t received;
    uint32_t label = cr_call(slot, TK_USE, &word, 1, &badge, 1, &received);
    cr_line line = {0};
    if (label == CR_CALL_LOST) {
        cr_say_text("lost");
    } else {
        cr_say(cr_put_hex(cr_put(&line, "badge "), badge));
    }
}

static void use_all(void)
{
    uint32_t server = connect(0);
    for (uint32_t i = 1; i < cr_info()->n_requests; i++) {
        (void)connect(i);
    }
    for (uint32_t i = 0; i < cr_info()->n_requests; i++) {
        use(ask(server, TK_MAKE, i));
    }
}

static void use_old(void)
{
    uint32_t first = connect(0);
    uint32_t second = connect(1);
    uint32_t old = ask(first, TK_MAKE, 0);
    say("old slot ", old);
    use(old);
    (void)ask(first, TK_TAKE, 0);
    cr_say_text("a word");
    say("another slot ", ask(second, TK_MAKE, 0));
    use(old);
    cr_do_work(done);
    cr_say_text("acknowledged");
    say("third slot ", ask(second, TK_MAKE, 0));
}

static void use_queued(void)
{
    uint32_t slot = ask(connect(0), TK_MAKE, 0);
    (void)cr_next_round();
    use(slot);
}

static void terminate_twice(void)
{
    uint32_t slot = cr_info()->pds[0].slot;
    cr_ticket_info ticket;
    cr_look_state state;
    if (cr_info()->n_pds > 1) {
        cr_say_check("allow", cr_allow_pd(cr_info()->pds[1].number, 1), CR_RESULT_OK);
    }
    say("first: ", cr_terminate(slot, &ticket));
    (void)cr_next_round();
    say("second: ", cr_terminate(slot, &ticket));
    cr_do_work(done);
    say("acknowledged, look: ", cr_look(0, 0, slot, &state));
    say("state ", state);
}

void cr_main(void)
{
    static void (*const acts[])(void) = {use_all, use_old, use_queued, terminate_twice};
    acts[cr_info()->args[0] % 4]();
    while (cr_next_round()) {
        cr_poll_work(done);
    }
    cr_wait_for_work(done);
}
