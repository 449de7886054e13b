/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Has a destructor, a handler for its own end, and one for each PD whose capability it has. When
 * one of them is called, it says the states of these PDs. It serves its space, if it has one,
 * and calls the servers of its requests.
 *
 * Argument 0: what its destructor does then. Argument 1: 1 if it has no destructor after all. */
#include <cellreap/client.h>
#include <cellreap/image.h>

enum { RETURNS, STAYS, FAULTS, EXITS, FAILS, BLOCKS }; /* what its destructor does */
enum { ALLOWED = 8 }; /* edges that the PD that spawned it may make */

static void say_states(const char *what)
{
    static const char *const names[] = {" active", " doomed", " destroyed"};
    cr_line line = {0};
    cr_put(&line, what);
    for (uint32_t i = 0; i < cr_info()->n_pds; i++) {
        cr_look_state state = CR_LOOK_ACTIVE;
        if (cr_look(0, cr_info()->pds[i].number, 0, &state) == CR_RESULT_OK) {
            cr_put(cr_put(cr_put(&line, " "), cr_info()->pds[i].name), names[state]);
        }
    }
    cr_say(&line);
}

static int destroy(const cr_work_entry *about, cr_moment moment, uint64_t data)
{
    cr_say_check("about itself", about->pd, cr_info()->pd);
    cr_say_check("moment", (uint64_t)moment, CR_BEFORE);
    cr_say_check("data", data, 7);
    say_states("destructor:");
    switch (cr_info()->args[0]) {
    case STAYS:
        for (;;) {
            seL4_Yield();
        }
    case FAULTS:
        cr_crash(CR_CRASH_PAGE_FAULT);
        return 1;
    case EXITS:
        cr_exit(3);
    case FAILS:
        return 1;
    case BLOCKS: {
        seL4_Word badge;
        for (;;) {
            (void)cr_recv(CR_SLOT_ENDPOINT, &badge, CR_SLOT_REPLY);
        }
    }
    default:
        return 0;
    }
}

static int hear(const cr_work_entry *about, cr_moment moment, uint64_t data)
{
    (void)data;
    if (moment == CR_BEFORE) {
        say_states(about->pd == cr_info()->pd ? "own end:" : "end of another:");
    }
    return 0;
}

static int work(const cr_work_entry *entry)
{
    return cr_tell_handlers(entry);
}

static uint32_t serve(cr_incoming *message)
{
    (void)message;
    cr_checkpoint();
    return CR_REPLY_BASE;
}

static void subscribe(void)
{
    if (cr_info()->creator != 0) {
        cr_say_check("allow", cr_allow_pd(cr_info()->creator, ALLOWED), CR_RESULT_OK);
    }
    const cr_subject itself = {0, 0, 0};
    cr_say_check("own end", cr_subscribe_handler(itself, hear, 0), CR_RESULT_OK);
    for (uint32_t i = 0; i < cr_info()->n_pds; i++) {
        const cr_subject other = {0, cr_info()->pds[i].slot, cr_info()->pds[i].number};
        cr_say_check("end of another", cr_subscribe_handler(other, hear, i), CR_RESULT_OK);
    }
    cr_say_check("destructor", cr_set_destructor(destroy, 6), CR_RESULT_OK);
    cr_say_check("other data", cr_set_destructor(destroy, 7), CR_RESULT_OK);
    if (cr_info()->args[1] != 0) {
        cr_say_check("no destructor", cr_set_destructor(0, 0), CR_RESULT_OK);
        cr_say_check("none to drop", cr_set_destructor(0, 0), CR_RESULT_OK);
    }
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    uint32_t slots[CR_STARTUP_REQUESTS] = {0};
    uint32_t space;
    uint32_t received;
    if (cr_info()->n_spaces > 0) {
        (void)cr_create_space(cr_info()->spaces[0].type, cr_info()->spaces[0].name, &space);
    }
    for (uint32_t i = 0; i < cr_info()->n_requests; i++) {
        (void)cr_connect(cr_info()->requests[i], 1, &slots[i], &space);
    }
    subscribe();
    if (cr_info()->n_spaces > 0) {
        cr_serve(&server);
    }
    while (cr_info()->n_requests > 0 && cr_next_round()) {
        cr_poll_work(work);
        for (uint32_t i = 0; i < cr_info()->n_requests; i++) {
            (void)cr_call(slots[i], 0x200, 0, 0, 0, 0, &received);
        }
    }
    cr_wait_for_work(work);
}
