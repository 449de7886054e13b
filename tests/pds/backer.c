/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory that a server lends its clients: it backs resources.
 *
 * Argument 0: LENDER backs a resource for each client that asks, writes into the memory, deletes
 * the resource when its client says so, and faults when the client says so. BORROWER loses what
 * it has mapped in each way that there is, and says what it sees before and after. Then the next
 * lender gives it memory that it may only read, and it keeps that. DEAF keeps what it has
 * mapped, and acknowledges nothing. */
#include "storage.h"
#include <cellreap/image.h>

enum { LENDER = 0, BORROWER = 1, DEAF = 2 };
enum { DELETE = 0x240, FAULT = 0x241, GIFT = 0x242 }; /* labels: what the lender is to do */
enum { PAGES = 3, SECRET = 43, LENT = 3, CLIENTS = 2 };

static const uint64_t own_at = 1ull << CR_REGION_SPAN_BITS;
static const uint64_t lent_at = 2ull << CR_REGION_SPAN_BITS;
static uint32_t space, object; /* the resource */

static volatile uint64_t *at(uint64_t address)
{
    return (volatile uint64_t *)(uintptr_t)address;
}

/* -- the lender */

static int lent;

static uint32_t lend(cr_incoming *m)
{
    uint32_t memory_space, memory, region_space, region, left;
    const int writable = m->words[0] != 0; /* It is not the first one of this client. */
    if (cr_create_resource(space, &object) != CR_RESULT_OK ||
        cr_allocate(PAGES, 0, &memory_space, &memory) != CR_RESULT_OK ||
        cr_attach(memory_space, memory, own_at, 1, &region_space, &region) != CR_RESULT_OK) {
        return ST_FULL;
    }
    at(own_at)[0] = SECRET;
    cr_say_check("back", cr_back(space, object, memory_space, memory, writable), CR_RESULT_OK);
    cr_say_check("back twice", cr_back(space, object, memory_space, memory, 0), CR_RESULT_EXISTS);
    cr_say_check("back with a region", cr_back(space, object, region_space, region, 0),
                 CR_RESULT_DENIED);
    /* From now on, only the resource keeps the memory. */
    cr_say_check("release", cr_release(region_space, region, &left), CR_RESULT_OK);
    cr_say_check("release", cr_release(memory_space, memory, &left), CR_RESULT_OK);
    lent++;
    cr_say_check("read only", cr_give(space, object, m->badge, 1, 0), CR_RESULT_FAILED);
    return st_give(m, space, object) ? ST_OK : ST_BAD_REQUEST;
}

/* A memory object, which only the client keeps. */
static uint32_t make_gift(cr_incoming *m)
{
    uint32_t memory_space, memory, region_space, region, rights, left;
    cr_say_check("allocate", cr_allocate(1, 0, &memory_space, &memory), CR_RESULT_OK);
    cr_say_check("attach", cr_attach(memory_space, memory, own_at, 1, &region_space, &region),
                 CR_RESULT_OK);
    at(own_at)[0] = SECRET;
    cr_say_check("give a region", cr_give(region_space, region, m->badge, 1, 0), CR_RESULT_DENIED);
    cr_say_check("give", cr_give(memory_space, memory, m->badge, 1, &rights), CR_RESULT_OK);
    cr_say_check("rights", rights, CR_HOLD_READ_ONLY);
    cr_say_check("release", cr_release(region_space, region, &left), CR_RESULT_OK);
    cr_say_check("release", cr_release(memory_space, memory, &left), CR_RESULT_OK);
    m->reply[0] = memory_space;
    m->reply[1] = memory;
    m->reply_count = 3;
    return ST_OK;
}

static uint32_t serve(cr_incoming *m)
{
    switch (m->label) {
    case ST_ALLOCATE:
        return lend(m);
    case GIFT:
        return make_gift(m);
    case DELETE:
        cr_say_check("delete", cr_delete_resource(space, (uint32_t)m->words[0]), CR_RESULT_OK);
        return ST_OK;
    case FAULT:
        if (lent < LENT + CLIENTS - 1) {
            return ST_FULL; /* The other client has nothing yet. */
        }
        cr_crash(CR_CRASH_PAGE_FAULT);
        return ST_OK;
    default:
        return ST_BAD_REQUEST;
    }
}

/* -- the borrowers */

static uint32_t request, given_space;

static uint32_t ask(uint32_t label)
{
    const uint64_t words[1] = {object}; /* 0 at first */
    uint64_t reply[3] = {0};
    uint32_t received;
    const uint32_t answer = cr_call(request, label, words, 1, reply, 3, &received);
    if (answer == ST_OK && received == 3) {
        object = (uint32_t)reply[1];
    }
    given_space = (uint32_t)reply[0];
    return answer;
}

static cr_result attach(uint32_t of, uint32_t what, int writable)
{
    uint32_t region_space, region;
    return cr_attach(of, what, lent_at, writable, &region_space, &region);
}

static void borrow(void)
{
    const int writable = object != 0;
    cr_say_check("allow", cr_allow(space, 1), CR_RESULT_OK);
    cr_say_check("borrow", ask(ST_ALLOCATE), ST_OK);
    if (!writable) {
        cr_say_check("attach to write", attach(space, object, 1), CR_RESULT_DENIED);
    }
    cr_say_check("attach", attach(space, object, writable), CR_RESULT_OK);
    cr_say_text(at(lent_at)[0] == SECRET ? "mapped" : "not the memory");
    if (writable) {
        at(lent_at)[1] = SECRET;
    }
}

/* Nothing is at the address any more: new memory can be mapped there. */
static void look_after(void)
{
    uint32_t memory_space, memory, region_space, region, left;
    cr_say_check("own memory", cr_allocate(PAGES, 0, &memory_space, &memory), CR_RESULT_OK);
    cr_say_check("attach own", cr_attach(memory_space, memory, lent_at, 1, &region_space, &region),
                 CR_RESULT_OK);
    cr_say_text(at(lent_at)[0] == 0 ? "gone" : "not gone");
    cr_say_check("release", cr_release(region_space, region, &left), CR_RESULT_OK);
    cr_say_check("release", cr_release(memory_space, memory, &left), CR_RESULT_OK);
}

static int told;

/* Until the notice is acknowledged, the memory stays. */
static int note(const cr_work_entry *work)
{
    if (work->kind == CR_NOTICE_LOST) {
        cr_say_text(at(lent_at)[0] == SECRET ? "still there" : "gone too early");
        cr_say_check("attach again", attach(space, object, 0), CR_RESULT_GONE);
        told++;
    }
    return 0;
}

static void lose(uint32_t label)
{
    const int before = told;
    uint32_t answer;
    do {
        answer = ask(label);
    } while (answer == ST_FULL);
    cr_say_text(st_name(answer));
    while (told == before) {
        cr_poll_work(note);
        seL4_Yield();
    }
    look_after();
}

/* It can neither write nor give on more than that. */
static void take_gift(void)
{
    cr_say_check("connect", cr_connect(cr_info()->requests[0], 1, &request, &space), CR_RESULT_OK);
    cr_say_check("allow", cr_allow(space, 1), CR_RESULT_OK);
    cr_say_check("ask", ask(GIFT), ST_OK);
    cr_say_check("attach to write", attach(given_space, object, 1), CR_RESULT_DENIED);
    cr_say_check("attach", attach(given_space, object, 0), CR_RESULT_OK);
    cr_say_text(at(lent_at)[0] == SECRET ? "given" : "not the memory");
}

void cr_main(void)
{
    static const cr_server server = {serve, st_note, 0, 0};
    const uint64_t role = cr_info()->args[0];
    uint32_t left;
    if (role == LENDER) {
        space = cr_own_space();
        cr_serve(&server);
    }
    cr_say_check("connect", cr_connect(cr_info()->requests[0], 1, &request, &space), CR_RESULT_OK);
    borrow();
    if (role == DEAF) {
        for (;;) {
            seL4_Word badge;
            (void)cr_recv(CR_SLOT_ENDPOINT, &badge, CR_SLOT_REPLY);
        }
    }
    cr_say_check("release", cr_release(space, object, &left), CR_RESULT_OK);
    look_after();
    borrow();
    lose(DELETE);
    borrow();
    lose(FAULT);
    take_gift();
    while (cr_next_round()) {
        cr_poll_work(note);
    }
    cr_wait_for_work(note);
}
