/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that fetches notices until there are none left, and acknowledges them only then.
 * Later notices become ready only through its own acknowledgements. */
#include "storage.h"

enum { MOST = 64 };

static uint32_t space;

static uint32_t serve(cr_incoming *m)
{
    uint32_t object;
    uint32_t slot;
    if (m->label != ST_ALLOCATE || cr_create_resource(space, &object) != CR_RESULT_OK) {
        return ST_FULL;
    }
    return cr_give(space, object, m->badge, 0, &slot) == CR_RESULT_OK ? ST_OK : ST_FULL;
}

/* Handles notices in place of the library: fetches all of them first, then acknowledges each. */
static void work(void)
{
    static uint64_t tokens[MOST];
    uint64_t got[2 + CR_WORK_MAX * CR_WORK_WORDS];
    uint32_t n = 0;
    while (cr_call_root(CR_OP_GET_WORK, 0, 0, got, 2 + CR_WORK_MAX * CR_WORK_WORDS) ==
               CR_RESULT_OK &&
           got[1] > 0) {
        for (uint32_t i = 0; i < got[1] && n < MOST; i++) {
            tokens[n++] = got[2 + i * CR_WORK_WORDS];
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t finish[3] = {1, tokens[i], CR_WORK_DONE};
        if (cr_call_root(CR_OP_FINISH_WORK, finish, 3, 0, 0) != CR_RESULT_OK) {
            cr_say_text("it could not be finished");
        }
    }
}

void cr_main(void)
{
    cr_incoming m;
    const cr_startup *info = cr_info();
    if (info->n_spaces != 1 ||
        cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    for (;;) {
        seL4_Word badge;
        seL4_MessageInfo_t tag = cr_recv(CR_SLOT_ENDPOINT, &badge, CR_SLOT_REPLY);
        if (cr_badge_kind_of(badge) == CR_BADGE_SIGNAL) {
            work();
            continue;
        }
        m.badge = badge;
        m.label = (uint32_t)seL4_MessageInfo_get_label(tag);
        cr_reply(CR_SLOT_REPLY, seL4_MessageInfo_new(serve(&m), 0, 0, 0));
    }
}
