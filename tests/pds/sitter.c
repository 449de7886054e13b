/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The fault handler of a ward (ward.c). While it has a fault of the ward, it changes what the two
 * have to do with each other. Then it lets the ward go on.
 *
 * Argument 0: what it does.
 *   0  It is a client of the ward. It releases a resource of the ward, and uses its slot anew.
 *   1  It drops its request to the ward, and uses its slot anew.
 *   2  It connects to the ward while the fault is held.
 *   3  It terminates the PD whose capability it holds: the ward's space is built on that PD's.
 *   4  It is a server of the ward, and takes back what the ward holds.
 *   5  It calls the ward, which faults before it answers.
 *   6  It calls the ward, which has faulted already. */
#include "ward.h"

enum {
    RELEASES = 0,
    LEAVES = 1,
    CONNECTS = 2,
    TERMINATES = 3,
    TAKES_BACK = 4,
    CALLS = 5,
    CALLS_LATER = 6
};

static uint32_t ward; /* slot of the request */
static uint32_t ward_space;
static uint64_t resource[3]; /* its space, its object, its slot */
static uint32_t space;
static uint64_t client;

static void say(const char *what, uint64_t value)
{
    cr_line line = {0};
    cr_say(cr_put_number(cr_put(&line, what), value));
}

/* Whatever is put into the slots that became free must fit there. */
static void use_slots_anew(void)
{
    uint32_t slot;
    uint32_t other;
    say("connect ", cr_connect(cr_info()->requests[1], 1, &slot, &other));
    say("slot ", slot);
}

static void connect_to_ward(void)
{
    say("connect ", cr_connect(cr_info()->requests[0], 1, &ward, &ward_space));
}

static int handle(const cr_fault *fault)
{
    uint32_t received;
    cr_ticket_info ticket;
    uint64_t taken[3] = {space, 1, client};
    (void)fault;
    cr_say_text("has a fault");
    switch (cr_info()->args[0]) {
    case RELEASES:
        say("release ", cr_call_root(CR_OP_RELEASE, resource, 2, 0, 0));
        say("lost ",
            cr_call((uint32_t)resource[2], ST_READ, 0, 0, 0, 0, &received) == CR_CALL_LOST);
        use_slots_anew();
        break;
    case LEAVES:
        say("disconnect ", cr_call_root(CR_OP_DISCONNECT, (uint64_t[]){ward_space}, 1, 0, 0));
        say("lost ", cr_call(ward, ST_READ, 0, 0, 0, 0, &received) == CR_CALL_LOST);
        use_slots_anew();
        break;
    case CONNECTS:
        connect_to_ward();
        break;
    case TERMINATES:
        say("terminate ", cr_terminate(cr_info()->pds[0].slot, &ticket));
        break;
    case TAKES_BACK:
        say("take back ", cr_call_root(CR_OP_TAKE_BACK, taken, 3, 0, 0));
        break;
    default:
        break;
    }
    return 0;
}

static uint32_t serve(cr_incoming *m)
{
    uint32_t object;
    client = m->badge;
    return cr_create_resource(space, &object) == CR_RESULT_OK && st_give(m, space, object)
               ? ST_OK
               : ST_FULL;
}

void cr_main(void)
{
    static const cr_server server = {serve, st_note, 0, 0};
    const cr_startup *info = cr_info();
    const uint64_t act = info->args[0];
    uint32_t received;
    cr_handle_faults(handle);
    if (act == TAKES_BACK) {
        space = cr_own_space();
        cr_serve(&server);
    }
    connect_to_ward();
    if (cr_allow(ward_space, 1) != CR_RESULT_OK ||
        cr_call(ward, ST_ALLOCATE, 0, 0, resource, 3, &received) != ST_OK) {
        cr_say_text("no resource");
    }
    say("slot ", resource[2]);
    (void)cr_next_round();
    if (act == CALLS) {
        say("lost ", cr_call(ward, WD_FAULT, 0, 0, 0, 0, &received) == CR_CALL_LOST);
        cr_wait_for_work(st_note);
    }
    seL4_Send(ward, seL4_MessageInfo_new(WD_FAULT, 0, 0, 0));
    if (act == CALLS_LATER) {
        say("lost ", cr_call(ward, ST_ALLOCATE, 0, 0, 0, 0, &received) == CR_CALL_LOST);
    }
    if (act == CONNECTS) {
        (void)cr_call_root(CR_OP_RELEASE, resource, 2, 0, 0);
        (void)cr_call_root(CR_OP_DISCONNECT, (uint64_t[]){ward_space}, 1, 0, 0);
    }
    if (act == TERMINATES) {
        /* the fault, and then the loss of the ward's space */
        seL4_Word badge;
        (void)seL4_Wait(CR_SLOT_NOTIFICATION, &badge);
        cr_do_work(st_note);
        use_slots_anew();
    }
    cr_wait_for_work(st_note);
}
