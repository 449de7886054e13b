/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that makes edges for PDs that did not ask for them, as many as the root task lets it
 * make. It prints the result for the PD of each of its PD capabilities, and gives new resources to
 * each client that calls it. It never fetches a notice. */
#include "imposer.h"

static uint32_t space;

/* Gives the caller one resource after the other. Answers the last result, and the objects. */
static uint32_t impose(cr_incoming *m)
{
    uint32_t object;
    uint32_t slot;
    m->reply_count = 1;
    for (uint32_t i = 0; i < IM_MOST; i++) {
        if (cr_create_resource(space, &object) != CR_RESULT_OK) {
            break;
        }
        m->reply[0] = cr_give(space, object, m->badge, 0, &slot);
        if (m->reply[0] != CR_RESULT_OK) {
            break;
        }
        m->reply[m->reply_count++] = object;
    }
    return IM_OK;
}

static uint32_t serve(cr_incoming *m)
{
    return cr_badge_kind_of(m->badge) == CR_BADGE_REQUEST ? impose(m) : (uint32_t)IM_OK;
}

/* Tries each way to make the PD of this capability a dependent. */
static void press(const char *name, uint32_t pd, uint32_t object)
{
    cr_line line = {0};
    uint64_t words[2] = {space, object};
    /* The type "LURE" and the name "lure", as words. */
    uint64_t lure[CR_TYPE_WORDS + CR_NAME_WORDS] = {0x4552554cu, 0, 0x6572756cu};
    cr_put(cr_put(&line, name), ": share ");
    cr_put_number(&line, cr_call_root_with_pd(CR_OP_SHARE_REQUEST, pd, words, 1, 0, 0));
    cr_put_number(cr_put(&line, ", send "), cr_call_root_with_pd(CR_OP_SEND, pd, words, 2, 0, 0));
    cr_put_number(
        cr_put(&line, ", first client "),
        cr_call_root_with_pd(CR_OP_CREATE_SPACE, pd, lure, CR_TYPE_WORDS + CR_NAME_WORDS, 0, 0));
    cr_say(&line);
}

void cr_main(void)
{
    static const cr_server server = {serve, 0, 0, 0};
    const cr_startup *info = cr_info();
    uint32_t object;
    space = cr_own_space();
    if (cr_create_resource(space, &object) != CR_RESULT_OK) {
        cr_exit(1);
    }
    for (uint32_t i = 0; i < info->n_pds; i++) {
        press(info->pds[i].name, info->pds[i].slot, object);
    }
    cr_serve(&server);
}
