/* SPDX-License-Identifier: BSD-2-Clause
 *
 * PDs that ask the root task while it cleans up after one of them. They wait for the space of the
 * gatekeeper, whose priority is the lowest, so that all of them go on at the same moment.
 *
 * Argument 0: what it does then:
 *   0  it is the gatekeeper, and creates its space when no other PD can run
 *   1  it created resources in its space before, and exits
 *   2  it asks for operations on its own space, and prints how many were carried out
 *   3  it asks for the state of the space of its second request, and prints it
 *   4  it sends lines without waiting for answers, and then asks for one
 *   5  it faults
 *   6  it spawns a PD, and prints the result
 *   7  it uses the processor until it is told that it lost the space of its second request
 *   8  it created resources in its space before, which is built on that of its second request
 * Argument 1: how many resources, operations or lines; how it faults (cr_crash_how). */
#include "storage.h"

CR_ASKS_WITHOUT_LIBRARY

enum {
    OPENS = 0,
    EXITS = 1,
    ASKS = 2,
    LOOKS = 3,
    FLOODS = 4,
    FAULTS = 5,
    SPAWNS = 6,
    SPINS = 7,
    BUILDS = 8
};

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

static uint32_t connect(uint32_t request)
{
    uint32_t slot;
    uint32_t space;
    if (cr_connect(cr_info()->requests[request], 1, &slot, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    return space;
}

static uint32_t create(uint32_t space)
{
    uint32_t object;
    if (cr_create_resource(space, &object) != CR_RESULT_OK) {
        cr_exit(2);
    }
    return object;
}

/* One of the operations that are served between steps, in turn. */
static cr_result ask(uint32_t i, uint32_t space, uint32_t first)
{
    static uint32_t last;
    uint32_t own;
    uint32_t all;
    cr_look_state state;
    switch (i % 5) {
    case 0:
        return cr_create_resource(space, &last);
    case 1:
        return cr_holds(space, first, &own, &all);
    case 2:
        return cr_map(space, last, space, first);
    case 3:
        return cr_look(space, last, 0, &state);
    default:
        return cr_unmap(space, last, space, first);
    }
}

static void ask_all(uint32_t space, uint32_t first)
{
    cr_line line = {0};
    uint32_t done = 0;
    for (uint32_t i = 0; i < cr_info()->args[1]; i++) {
        done += ask(i, space, first) == CR_RESULT_OK;
    }
    cr_say(cr_put(cr_put_number(&line, done), " operations"));
}

static void look(uint32_t space)
{
    cr_line line = {0};
    cr_look_state state = CR_LOOK_ACTIVE;
    const cr_result result = cr_look(space, 0, 0, &state);
    cr_put(cr_put_number(cr_put(&line, "look: "), result), ", state ");
    cr_say(cr_put_number(&line, state));
}

/* The answer to a call may be that a line that was sent before is still kept. */
static void flood(void)
{
    const uint64_t last[2] = {8, 0x746e6573206c6c61u}; /* "all sent" */
    uint64_t results[1];
    for (uint32_t i = 0; i < cr_info()->args[1]; i++) {
        seL4_SetMR(0, CR_PROTOCOL_MAGIC);
        seL4_SetMR(1, 1);
        seL4_SetMR(2, 'a' + i);
        seL4_Send(CR_SLOT_ROOT, seL4_MessageInfo_new(CR_OP_SAY, 0, 0, 3));
    }
    while (cr_call_root(CR_OP_SAY, last, 2, results, 0) == CR_RESULT_BUSY) {
    }
}

static void spawn(void)
{
    cr_line line = {0};
    uint64_t program[CR_NAME_WORDS] = {0x72656c6469u}; /* "idler" */
    uint64_t results[2] = {0};
    const cr_result result = cr_call_root(CR_OP_SPAWN, program, CR_NAME_WORDS, results, 2);
    cr_say(cr_put_number(cr_put(&line, "spawn: "), result));
}

/* It never blocks. If the cleaner did not run beside it, this would not end. */
static void spin(void)
{
    cr_line line = {0};
    seL4_Word badge = 0;
    while (badge == 0) {
        (void)cr_nb_recv(CR_SLOT_NOTIFICATION, &badge, CR_SLOT_REPLY);
    }
    cr_say(cr_put(&line, "told"));
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    const uint32_t space = info->n_spaces > 0 ? cr_own_space() : 0;
    const uint32_t first = info->args[0] == ASKS ? create(space) : 0;
    const uint32_t other = info->n_requests > 1 ? connect(1) : 0;
    const int makes = info->args[0] == EXITS || info->args[0] == BUILDS;
    for (uint32_t i = 0; makes && i < info->args[1]; i++) {
        (void)create(space);
    }
    if (info->args[0] == BUILDS && cr_map(space, 0, other, 0) != CR_RESULT_OK) {
        cr_exit(3);
    }
    if (info->args[0] != OPENS) {
        (void)connect(0);
    }
    switch (info->args[0]) {
    case EXITS:
        cr_exit(0);
    case ASKS:
        ask_all(space, first);
        break;
    case LOOKS:
        look(other);
        break;
    case FLOODS:
        flood();
        break;
    case FAULTS:
        cr_crash((uint32_t)info->args[1]);
        break;
    case SPAWNS:
        spawn();
        break;
    case SPINS:
        spin();
        break;
    default:
        break;
    }
    cr_wait_for_work(work);
}
