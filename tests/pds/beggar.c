/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that asks the root task for ever, once a space that it requests exists.
 *
 * Argument 0: what it asks for:
 *   0  a resource of a space that does not exist
 *   1  a resource beyond its quota
 *   2  what changes nothing
 *   3  an operation that does not exist
 *   4  allowances, by turns
 *   5  subscriptions to its own space, by turns
 *   6  resources, each of which it deletes again
 *   7  what changes nothing, without waiting for an answer
 *   8  nothing: it sends what is no fault with its fault capability
 *   9  nothing: it calls its capability to another PD
 *   10 nothing: it only computes */
#include <cellreap/client.h>

CR_ASKS_WITHOUT_LIBRARY

enum {
    NOWHERE = 0,
    FULL = 1,
    LOOK = 2,
    NO_OPERATION = 3,
    ALLOW = 4,
    SUBSCRIBE = 5,
    RESOURCES = 6,
    SENDS = 7,
    NO_FAULT = 8,
    A_PD = 9,
    COMPUTES = 10
};

static uint32_t own;
static uint32_t others;

static void raw(uint32_t slot, uint64_t label, int call)
{
    const seL4_MessageInfo_t tag = seL4_MessageInfo_new(label, 0, 0, 2);
    seL4_SetMR(0, CR_PROTOCOL_MAGIC);
    seL4_SetMR(1, own);
    if (call) {
        (void)seL4_Call(slot, tag);
    } else {
        seL4_Send(slot, tag);
    }
}

static void create_and_delete(void)
{
    uint32_t object;
    if (cr_create_resource(own, &object) == CR_RESULT_OK) {
        const uint64_t which[2] = {own, object};
        (void)cr_call_root(CR_OP_DELETE_RESOURCE, which, 2, 0, 0);
    }
}

static void ask(uint64_t what, uint32_t turn)
{
    uint32_t object;
    cr_look_state state;
    switch (what) {
    case NOWHERE:
        (void)cr_create_resource(own + 77, &object);
        break;
    case FULL:
        (void)cr_create_resource(own, &object);
        break;
    case LOOK:
        (void)cr_look(own, 0, 0, &state);
        break;
    case NO_OPERATION:
        raw(CR_SLOT_ROOT, CR_OP_COUNT, 1);
        break;
    case ALLOW:
        (void)cr_allow(others, turn % 2);
        break;
    case SUBSCRIBE:
        (void)(turn % 2 == 0 ? cr_subscribe(own, 0) : cr_unsubscribe(own, 0));
        break;
    case RESOURCES:
        create_and_delete();
        break;
    case SENDS:
        raw(CR_SLOT_ROOT, CR_OP_LOOK, 0);
        break;
    case NO_FAULT:
        raw(CR_SLOT_FAULT, CR_OP_COUNT, 0);
        break;
    case A_PD:
        raw(cr_info()->pds[0].slot, CR_OP_LOOK, 1);
        break;
    default:
        break;
    }
}

void cr_main(void)
{
    uint32_t slot;
    own = cr_own_space();
    if (cr_connect(cr_info()->requests[0], 1, &slot, &others) != CR_RESULT_OK) {
        cr_exit(1);
    }
    for (uint32_t turn = 0;; turn++) {
        ask(cr_info()->args[0], turn);
    }
}
