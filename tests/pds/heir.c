/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Argument 0: OWNER gives a memory object to the PD whose capability it has, calls a server, which
 * crashes, and has a destructor: in it, it waits until nobody else holds the memory. HEIR then lets
 * go of that, and says so. Argument 1, of both: the configuration lets them share memory, and the
 * heir faults while the destructor runs. */
#include "storage.h"
#include <cellreap/client.h>
#include <cellreap/image.h>

enum { OWNER = 0, HEIR = 1, OBJECTS = 8 };
enum { ATTACHED = 0, ENDING = 1 }; /* words of the memory */
enum { LONG = 2000 };              /* so often, it lets others run */

static volatile uint64_t *const shared =
    (volatile uint64_t *)(uintptr_t)(1ull << CR_REGION_SPAN_BITS);
static uint32_t space, object;

static int attach(uint32_t number, uint32_t *region_space, uint32_t *region)
{
    return cr_attach(space, number, (uint64_t)(uintptr_t)shared, 1, region_space, region) ==
           CR_RESULT_OK;
}

static int end(const cr_work_entry *about, cr_moment moment, uint64_t data)
{
    uint32_t own = 0, all = 0;
    (void)about;
    (void)moment;
    (void)data;
    shared[ENDING] = 1;
    for (uint32_t i = 0; cr_info()->args[1] && i < LONG; i++) {
        seL4_Yield();
    }
    while (cr_info()->args[1] == 0 && all != 1) {
        seL4_Yield();
        cr_say_check("holds", cr_holds(space, object, &own, &all), CR_RESULT_OK);
    }
    return 0;
}

static int work(const cr_work_entry *entry)
{
    return cr_tell_handlers(entry);
}

static void own(void)
{
    uint32_t slot, apps, region_space, region, received;
    cr_say_check("connect", cr_connect(cr_info()->requests[0], 1, &slot, &apps), CR_RESULT_OK);
    cr_say_check("destructor", cr_set_destructor(end, 0), CR_RESULT_OK);
    if (cr_info()->args[1]) {
        (void)cr_next_round();
        (void)cr_call(slot, 0x200, 0, 0, 0, 0, &received);
        return;
    }
    cr_say_check("allocate", cr_allocate(1, 0, &space, &object), CR_RESULT_OK);
    cr_say_check("attach", (uint64_t)attach(object, &region_space, &region), 1);
    (void)cr_next_round();
    cr_say_check("send", cr_send(space, object, cr_info()->pds[0].slot, 0, &received),
                 CR_RESULT_OK);
    while (shared[ATTACHED] == 0) {
        seL4_Yield();
    }
    (void)cr_call(slot, 0x200, 0, 0, 0, 0, &received);
}

static void inherit(void)
{
    uint32_t region_space, region, left;
    if (cr_info()->args[1]) {
        (void)cr_next_round();
        while (shared[ENDING] == 0) {
            seL4_Yield();
        }
        cr_crash(CR_CRASH_PAGE_FAULT);
    }
    cr_say_check("allow", cr_allow_pd(cr_info()->pds[0].number, 1), CR_RESULT_OK);
    cr_say_check("allocate", cr_allocate(1, 0, &space, &object), CR_RESULT_OK);
    (void)cr_next_round();
    uint32_t gift = 0;
    while (gift == 0) {
        seL4_Yield();
        for (uint32_t i = 1; i < OBJECTS && gift == 0; i++) {
            gift = i != object && attach(i, &region_space, &region) ? i : 0;
        }
    }
    shared[ATTACHED] = 1;
    while (shared[ENDING] == 0) {
        seL4_Yield();
    }
    cr_say_check("release", cr_release(region_space, region, &left), CR_RESULT_OK);
    cr_say_check("release", cr_release(space, gift, &left), CR_RESULT_OK);
    cr_say_text("let go");
}

void cr_main(void)
{
    if (cr_info()->args[0] == OWNER) {
        own();
    } else {
        inherit();
    }
    while (cr_next_round()) {
        cr_poll_work(work);
    }
    cr_wait_for_work(work);
}
