/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD with a fault handler. It can pretend to fault: it sends a message in the form of a fault
 * over its fault capability. It is suspended until its handler answers, and then goes on.
 *
 * If it has a space, it is a server that gives out resources, and pretends to fault when it is sent
 * WD_FAULT. Its space is built on that of its first request, if it has one.
 * Otherwise it is a client: it gets a resource of its first request, pretends to fault, and gets
 * another resource when it has handled its notices. */
#include "ward.h"

static uint32_t space;

static void pretend_to_fault(void)
{
    cr_say_text("faults");
    for (int i = 0; i < (int)seL4_VMFault_Length; i++) {
        seL4_SetMR(i, 0);
    }
    seL4_Send(CR_SLOT_FAULT, seL4_MessageInfo_new(seL4_Fault_VMFault, 0, 0, seL4_VMFault_Length));
    cr_say_text("goes on");
}

static uint32_t serve(cr_incoming *m)
{
    uint32_t object;
    if (m->label == WD_FAULT) {
        pretend_to_fault();
        return ST_OK;
    }
    if (m->label != ST_ALLOCATE || cr_create_resource(space, &object) != CR_RESULT_OK ||
        !st_give(m, space, object)) {
        return ST_FULL;
    }
    return ST_OK;
}

static void get_resource(uint32_t server)
{
    cr_line line = {0};
    uint64_t resource[3] = {0};
    uint32_t received;
    (void)cr_call(server, ST_ALLOCATE, 0, 0, resource, 3, &received);
    cr_say(cr_put_number(cr_put(&line, "slot "), resource[2]));
}

void cr_main(void)
{
    static const cr_server server = {serve, st_note, 0, 0};
    const cr_startup *info = cr_info();
    uint32_t slot = 0;
    uint32_t below = 0;
    if (info->n_requests > 0 && (cr_connect(info->requests[0], 1, &slot, &below) != CR_RESULT_OK ||
                                 cr_allow(below, 2) != CR_RESULT_OK)) {
        cr_say_text("nobody to call");
    }
    if (info->n_spaces > 0) {
        space = cr_own_space();
        if (slot != 0 && cr_map(space, 0, below, 0) != CR_RESULT_OK) {
            cr_say_text("not built on anything");
        }
        cr_serve(&server);
    }
    get_resource(slot);
    pretend_to_fault();
    cr_poll_work(st_note);
    get_resource(slot);
    cr_wait_for_work(st_note);
}
