/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that uses all of its own part of the root task's tables, and checks that it is there. In
 * each round it makes a space with resources and maps, and deletes it again. In its first rounds it
 * also creates a PD, shares its own request with it, and terminates it; the ticket must say that
 * the server was told. It checks its own data too, and prints what is not as it should be. At the
 * end it prints how many rounds there were.
 *
 * Argument 0: the number of rounds in which it creates a PD.
 * Argument 1: the number of resources, at most 16. */
#include "storage.h"

enum { WORDS = 1024, RESOURCES = 16, TRIES = 100 };

static uint64_t data[WORDS];
static uint32_t request; /* slot of the request */
static uint32_t server;  /* its space */

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

static uint64_t word_of(uint32_t i)
{
    return (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u;
}

/* Prints what failed. */
static void expect(const char *what, uint64_t got, uint64_t wanted)
{
    cr_line line = {0};
    if (got != wanted) {
        cr_put_number(cr_put(cr_put(cr_put(&line, "BROKEN: "), what), ": "), got);
        cr_say(cr_put_number(cr_put(&line, ", expected "), wanted));
    }
}

static void check_data(void)
{
    uint32_t right = 0;
    for (uint32_t i = 0; i < WORDS; i++) {
        right += data[i] == word_of(i);
    }
    expect("words of data", right, WORDS);
}

/* Its own space, with a chain of maps through the resources. Returns its number. */
static uint32_t make_room(void)
{
    const uint32_t count = (uint32_t)cr_info()->args[1];
    uint32_t objects[RESOURCES] = {0};
    uint32_t space = 0;
    expect("a space", cr_create_space("ROOM", "room", &space), CR_RESULT_OK);
    for (uint32_t i = 0; i < count && i < RESOURCES; i++) {
        expect("a resource", cr_create_resource(space, &objects[i]), CR_RESULT_OK);
        if (i > 0) {
            expect("a map", cr_map(space, objects[i - 1], space, objects[i]), CR_RESULT_OK);
        }
    }
    return space;
}

static void lose_a_child(void)
{
    const uint64_t idler[CR_NAME_WORDS] = {0x72656c6469u}; /* "idler" */
    const uint64_t shared[1] = {server};
    uint64_t child[2] = {0};
    uint64_t slot[1];
    cr_ticket_info info;
    expect("a PD", cr_call_root(CR_OP_SPAWN, idler, CR_NAME_WORDS, child, 2), CR_RESULT_OK);
    expect("a request for it",
           cr_call_root_with_pd(CR_OP_SHARE_REQUEST, (uint32_t)child[0], shared, 1, slot, 1),
           CR_RESULT_OK);
    expect("its end", cr_terminate((uint32_t)child[0], &info), CR_RESULT_OK);
    const uint32_t ticket = info.ticket;
    /* It is answered before the ticket is over if it has a notice to finish itself. */
    for (uint32_t i = 0; info.state != CR_TICKET_OVER && i < TRIES; i++) {
        cr_poll_work(work);
        expect("its ticket", cr_ticket(ticket, 1, &info), CR_RESULT_OK);
    }
    expect("the ticket's state", info.state, CR_TICKET_OVER);
    expect("notices done", info.done, 1);
    expect("notices not done", info.failed + info.dropped + info.waiting + info.held, 0);
    cr_poll_work(work);
}

void cr_main(void)
{
    cr_line line = {0};
    uint32_t rounds = 0;
    for (uint32_t i = 0; i < WORDS; i++) {
        data[i] = word_of(i);
    }
    (void)cr_own_space();
    expect("a request", cr_connect(cr_info()->requests[0], 1, &request, &server), CR_RESULT_OK);
    while (cr_next_round()) {
        const uint32_t space = make_room();
        if (rounds < cr_info()->args[0]) {
            lose_a_child();
        }
        expect("the end of the space",
               cr_call_root(CR_OP_DELETE_SPACE, (uint64_t[]){space}, 1, 0, 0), CR_RESULT_OK);
        check_data();
        cr_poll_work(work);
        rounds++;
    }
    cr_say(cr_put_number(cr_put(&line, "rounds: "), rounds));
    cr_wait_for_work(work);
}
