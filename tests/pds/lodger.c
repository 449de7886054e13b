/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shares memory, at the same address, with PDs that go and one that comes. Argument 0:
 *
 * HOST has a space, and faults when its client calls. CLIENT has a destructor, in which it waits
 * until the newcomer has the memory, and with argument 1 faults. OWNER gives the memory to both.
 * When the client's destructor runs, the host is gone, and the owner spawns the newcomer and gives
 * it the memory, too. The newcomer says whether it still has it when the client is gone. */
#include <cellreap/client.h>
#include <cellreap/image.h>

enum { HOST = 0, CLIENT = 1, OWNER = 2, SPACES = 8, OBJECTS = 20 };
enum { LAST = 2 };                         /* the client's number, behind the owner's */
enum { HELD, ENDING, CAME, ENDED, WORDS }; /* words of the memory */

static volatile uint64_t *const shared =
    (volatile uint64_t *)(uintptr_t)(1ull << CR_REGION_SPAN_BITS);

static void until(uint32_t word, uint64_t count)
{
    while (shared[word] != count) {
        seL4_Yield();
    }
}

/* The memory that somebody gives it. */
static void take(void)
{
    const uint64_t at = (uint64_t)(uintptr_t)shared;
    uint32_t space, region;
    for (uint32_t i = 0;; i++) {
        if (cr_attach(1 + i / OBJECTS % SPACES, 1 + i % OBJECTS, at, 1, &space, &region) ==
            CR_RESULT_OK) {
            return;
        }
        seL4_Yield();
    }
}

static void give(uint32_t space, uint32_t object, uint32_t to)
{
    uint32_t slot;
    cr_result result;
    do {
        seL4_Yield();
        result = cr_send(space, object, to, 0, &slot);
    } while (result == CR_RESULT_UNWANTED);
    cr_say_check("send", result, CR_RESULT_OK);
}

static void own(void)
{
    uint32_t space, object, region_space, region, child, number;
    cr_look_state state = CR_LOOK_ACTIVE;
    cr_say_check("allocate", cr_allocate(1, 0, &space, &object), CR_RESULT_OK);
    cr_say_check("attach",
                 cr_attach(space, object, (uint64_t)(uintptr_t)shared, 1, &region_space, &region),
                 CR_RESULT_OK);
    for (uint32_t i = 0; i < cr_info()->n_pds; i++) {
        give(space, object, cr_info()->pds[i].slot);
        until(HELD, i + 1);
    }
    until(ENDING, 1);
    cr_say_check("spawn", cr_spawn("lodger", &child, &number), CR_RESULT_OK);
    give(space, object, child);
    while (state != CR_LOOK_DESTROYED) {
        seL4_Yield();
        cr_say_check("look", cr_look(0, cr_info()->pd + LAST, 0, &state), CR_RESULT_OK);
    }
    shared[ENDED] = 1;
}

static void come(void)
{
    take();
    shared[CAME] = 1;
    until(ENDED, 1);
    cr_say_text("still there");
}

static uint32_t fault(cr_incoming *message)
{
    (void)message;
    until(HELD, 2);
    cr_crash(CR_CRASH_PAGE_FAULT);
    return CR_REPLY_BASE;
}

static void allow_and_take(void)
{
    cr_say_check("allow", cr_allow_pd(cr_info()->pds[0].number, 1), CR_RESULT_OK);
    take();
    shared[HELD]++;
}

static void host(void)
{
    static const cr_server server = {fault, 0, 0, 0};
    (void)cr_own_space();
    allow_and_take();
    cr_serve(&server);
}

static int end(const cr_work_entry *about, cr_moment moment, uint64_t data)
{
    (void)about;
    (void)moment;
    (void)data;
    shared[ENDING] = 1;
    until(CAME, 1);
    if (cr_info()->args[1] != 0) {
        cr_crash(CR_CRASH_PAGE_FAULT);
    }
    return 0;
}

static int work(const cr_work_entry *entry)
{
    return cr_tell_handlers(entry);
}

static void depend(void)
{
    uint32_t slot, space, received;
    cr_say_check("connect", cr_connect(cr_info()->requests[0], 1, &slot, &space), CR_RESULT_OK);
    cr_say_check("destructor", cr_set_destructor(end, 0), CR_RESULT_OK);
    allow_and_take();
    (void)cr_call(slot, 0x200, 0, 0, 0, 0, &received);
}

void cr_main(void)
{
    if (cr_info()->creator != 0) {
        come();
    } else if (cr_info()->args[0] == HOST) {
        host();
    } else if (cr_info()->args[0] == CLIENT) {
        depend();
    } else {
        own();
    }
    cr_wait_for_work(work);
}
