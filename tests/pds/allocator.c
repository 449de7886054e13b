/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Allocates memory objects, attaches them, writes and reads them, and lets them go. It says what it
 * found. Argument 1: how many cycles of this. Argument 2: whether its pages are large. Then,
 * argument 0:
 *
 * GIVER: it gives a memory object that it filled to the PD whose capability it has, and writes
 * where it may only read. KEEPER: when the PD whose capability it has is gone, it looks for such an
 * object, reads it, and lets it go. POOR: it may not allocate. */
#include "storage.h"
#include <cellreap/client.h>

enum { PAGES = 7, MOST_LARGE = 8 };

static volatile uint64_t *at(uint64_t address)
{
    return (volatile uint64_t *)(uintptr_t)address;
}

static uint64_t gib(uint32_t number)
{
    return (uint64_t)number << CR_REGION_SPAN_BITS;
}

static int is_large(void)
{
    return cr_info()->args[2] != 0;
}

static uint64_t page(void)
{
    return 1ull << (is_large() ? CR_LARGE_PAGE_BITS : CR_PAGE_BITS);
}

/* As many pages as it gives away. */
static uint32_t most(void)
{
    return is_large() ? MOST_LARGE : CR_MEMORY_PAGES_MAX;
}

static uint64_t last_word(void)
{
    return most() * page() / 8 - 1;
}

typedef struct thing {
    uint32_t space;
    uint32_t object;
} thing;

static thing allocate(uint32_t pages)
{
    thing made = {0, 0};
    cr_say_check("allocate", cr_allocate(pages, is_large(), &made.space, &made.object),
                 CR_RESULT_OK);
    return made;
}

static thing attach(thing what, uint64_t address, int writable)
{
    thing made = {0, 0};
    cr_say_check("attach",
                 cr_attach(what.space, what.object, address, writable, &made.space, &made.object),
                 CR_RESULT_OK);
    return made;
}

static void release(thing what)
{
    uint32_t left;
    cr_say_check("release", cr_release(what.space, what.object, &left), CR_RESULT_OK);
}

/* Whether every word of the pages is 0. Then fills them. */
static int is_zero(uint64_t address, uint32_t pages)
{
    int zero = 1;
    for (uint32_t i = 0; i < pages * page() / 8; i++) {
        zero &= at(address)[i] == 0;
        at(address)[i] = 0x5ec7e7u + i;
    }
    return zero;
}

/* The last addresses for a region. */
static const uint64_t last_gib = (1ull << CR_REGIONS_END_BITS) - (1ull << CR_REGION_SPAN_BITS);

static void refused(thing object, thing region)
{
    uint32_t space, number;
    cr_say_check("no pages", cr_allocate(0, is_large(), &space, &number), CR_RESULT_FAILED);
    cr_say_check("too many pages",
                 cr_allocate(CR_MEMORY_PAGES_MAX + 1, is_large(), &space, &number),
                 CR_RESULT_FAILED);
    cr_say_check("not aligned",
                 cr_attach(object.space, object.object, gib(9) + page() / 2, 1, &space, &number),
                 CR_RESULT_FAILED);
    cr_say_check("two spans",
                 cr_attach(object.space, object.object, gib(9) - page(), 1, &space, &number),
                 CR_RESULT_FAILED);
    cr_say_check("address 0", cr_attach(object.space, object.object, 0, 1, &space, &number),
                 CR_RESULT_FAILED);
    cr_say_check(
        "too high",
        cr_attach(object.space, object.object, 1ull << CR_REGIONS_END_BITS, 1, &space, &number),
        CR_RESULT_FAILED);
    cr_say_check("there already",
                 cr_attach(object.space, object.object, gib(1), 1, &space, &number),
                 CR_RESULT_EXISTS);
    cr_say_check("no memory", cr_attach(region.space, region.object, gib(9), 1, &space, &number),
                 CR_RESULT_DENIED);
    cr_say_check("no such", cr_attach(object.space, 0x7777, gib(9), 1, &space, &number),
                 CR_RESULT_NO_SUCH);
}

/* Regions in one GiB, in which the PD's body has page tables: that of its program, or one with a
 * region of the configuration. */
static void attach_beside(thing object, uint64_t begin)
{
    const uint64_t block = 1ull << CR_LARGE_PAGE_BITS, beside = begin + 16 * block;
    uint32_t space, number;
    const thing first = attach(object, begin, 1);
    const thing second = attach(object, beside, 0);
    at(begin)[1] = begin;
    cr_say_text(at(beside)[1] == begin ? "beside" : "elsewhere");
    cr_say_check("the same table",
                 cr_attach(object.space, object.object,
                           is_large() ? begin + block : begin + block - page(), 0, &space, &number),
                 CR_RESULT_EXISTS);
    release(first);
    cr_say_text(at(beside)[1] == begin ? "still there" : "gone");
    release(second);
}

/* The body keeps the page table of the region that the configuration gives it. */
static void release_own(thing object)
{
    const thing other = attach(object, gib(6), 0);
    cr_result result = CR_RESULT_NO_SUCH;
    uint32_t left;
    for (uint32_t i = 1; i < other.object && result != CR_RESULT_OK; i++) {
        result = cr_release(other.space, i, &left);
    }
    cr_say_check("release its own", result, CR_RESULT_OK);
    cr_say_check("its table",
                 cr_attach(object.space, object.object, gib(5), 0, &object.space, &object.object),
                 CR_RESULT_EXISTS);
    release(other);
}

static void several(void)
{
    const thing object = allocate(PAGES);
    uint32_t space, number;
    cr_say_check(
        "too low",
        cr_attach(object.space, object.object, CR_ATTACHED_BEGIN - page(), 0, &space, &number),
        CR_RESULT_FAILED);
    attach_beside(object, CR_ATTACHED_BEGIN);
    attach_beside(object, gib(5) + (1u << CR_LARGE_PAGE_BITS));
    release_own(object);
    release(object);
}

enum { GIVER = 0, KEEPER = 1, POOR = 2, ATTEMPTS = 1000, OBJECTS = 40, SECRET = 43 };

static void cycles(uint32_t count)
{
    /* Small pages use two tables of the last level there. */
    const uint64_t across = gib(1) + (5ull << CR_LARGE_PAGE_BITS) - 3 * page();
    int zero = 1;
    for (uint32_t i = 0; i < count; i++) {
        const thing object = allocate(PAGES);
        const thing region = attach(object, across, 1);
        zero &= is_zero(across, PAGES);
        if (i == 0) {
            refused(object, region);
        }
        /* The region keeps the memory. */
        release(i % 2 == 0 ? object : region);
        zero &= i % 2 != 0 || at(across)[3] == 0x5ec7eau;
        release(i % 2 == 0 ? region : object);
    }
    cr_say_text(zero ? "zero" : "not zero");
}

static void give(void)
{
    const uint64_t last = last_word();
    const uint32_t to = cr_info()->pds[0].slot;
    const thing object = allocate(most());
    uint32_t space, number;
    cr_say_check("over the quota", cr_allocate(PAGES + 1, is_large(), &space, &number),
                 CR_RESULT_FULL);
    release(allocate(PAGES)); /* as many as it may */
    (void)attach(object, gib(1), 1);
    const thing region = attach(object, last_gib, 0);
    at(gib(1))[last] = SECRET;
    cr_say_text(at(last_gib)[last] == SECRET ? "shared" : "not shared");
    cr_say_check("send region", cr_send(region.space, region.object, to, 0, 0), CR_RESULT_DENIED);
    cr_result result = CR_RESULT_UNWANTED;
    for (uint32_t i = 0; i < ATTEMPTS && result == CR_RESULT_UNWANTED; i++) {
        seL4_Yield();
        result = cr_send(object.space, object.object, to, 1, 0);
    }
    cr_say_check("send", result, CR_RESULT_OK);
    at(last_gib)[0] = 1;
    cr_say_text("written");
}

static thing mine;

static void look_for_gift(void)
{
    const uint64_t last = last_word();
    for (uint32_t i = 1; i < OBJECTS; i++) {
        thing object = {mine.space, i};
        thing region, none;
        if (i != mine.object &&
            cr_attach(object.space, i, gib(2), 0, &region.space, &region.object) == CR_RESULT_OK) {
            cr_say_text(at(gib(2))[last] == SECRET ? "kept" : "lost");
            cr_say_check("attach to write",
                         cr_attach(object.space, i, gib(3), 1, &none.space, &none.object),
                         CR_RESULT_DENIED);
            release(object);
            cr_say_text(at(gib(2))[last] == SECRET ? "kept" : "lost");
            release(region);
            return;
        }
    }
    cr_say_text("no gift");
}

static int note(const cr_work_entry *work)
{
    if (work->kind == CR_NOTICE_LOST) {
        look_for_gift();
    }
    return 0;
}

void cr_main(void)
{
    const uint64_t role = cr_info()->args[0];
    thing none;
    if (role == KEEPER) {
        cr_say_check("allow", cr_allow_pd(cr_info()->pds[0].number, 1), CR_RESULT_OK);
    }
    if (role == POOR) {
        cr_say_check("allocate", cr_allocate(1, 0, &none.space, &none.object), CR_RESULT_DENIED);
    } else {
        cycles(cr_info()->args[1]);
    }
    if (role == KEEPER) {
        several();
        mine = allocate(1);
        (void)attach(mine, gib(1), 1);
    } else if (role == GIVER) {
        give();
    }
    while (cr_next_round()) {
        cr_poll_work(note);
    }
    cr_wait_for_work(note);
}
