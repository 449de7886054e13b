/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server whose children are its clients. It spawns two PDs of this program and shares the request
 * to its own space with them. The children call it, and it never answers. */
#include <cellreap/client.h>

enum { CHILDREN = 2, LABEL = 1 };

static _Noreturn void live_as_child(void)
{
    uint32_t received;
    /* The request of its creator comes later, into the first slot. */
    while (cr_call(CR_SLOT_FIRST_FREE, LABEL, 0, 0, 0, 0, &received) == CR_CALL_LOST) {
        seL4_Yield();
    }
    cr_say_text("answered");
    cr_exit(1);
}

static void found_household(void)
{
    const uint64_t own = cr_own_space();
    const uint64_t program[CR_NAME_WORDS] = {0x6c6f686573756f68u /* househol */, 'd'};
    for (int i = 0; i < CHILDREN; i++) {
        uint64_t child[2] = {0};
        cr_say_check("spawn", cr_call_root(CR_OP_SPAWN, program, CR_NAME_WORDS, child, 2),
                     CR_RESULT_OK);
        cr_say_check("share",
                     cr_call_root_with_pd(CR_OP_SHARE_REQUEST, (uint32_t)child[0], &own, 1, 0, 0),
                     CR_RESULT_OK);
    }
}

void cr_main(void)
{
    seL4_Word badge;
    if (cr_info()->creator != 0) {
        live_as_child();
    }
    found_household();
    /* Of one child; the other stays in the queue. */
    (void)cr_recv(CR_SLOT_ENDPOINT, &badge, CR_SLOT_REPLY);
    for (;;) {
        (void)seL4_Wait(CR_SLOT_NOTIFICATION, &badge);
    }
}
