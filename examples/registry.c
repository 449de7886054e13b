/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that performs on its space any operation that a client orders. With it, a test can
 * try what the root task allows and refuses. The labels RG_... of shared/registry.h are its
 * orders. */
#include "registry.h"
#include "storage.h"
#include <cellreap/image.h>

static uint32_t space;
static uint32_t second;
static uint64_t destroyed;

static uint32_t serve(cr_incoming *m)
{
    uint32_t number;
    uint32_t slot;
    uint32_t own;
    m->reply_count = 2;
    if (cr_badge_kind_of(m->badge) == CR_BADGE_RESOURCE) {
        m->reply[0] = cr_badge_object(m->badge);
        m->reply_count = 1;
        return RG_OK;
    }
    switch (m->label) {
    case RG_MAKE:
        m->reply[0] = cr_create_resource(space, &number);
        m->reply[1] = number;
        if (m->reply[0] == CR_RESULT_OK) {
            m->reply[0] = cr_give(space, (uint32_t)m->reply[1], m->badge, 0, &number);
            m->reply[2] = number;
            m->reply_count = 3;
        }
        return RG_OK;
    case RG_GIVE:
        m->reply[0] = cr_give(space, (uint32_t)m->words[0], m->badge, 0, &number);
        m->reply[1] = number;
        return RG_OK;
    case RG_TAKE_BACK:
        m->reply[0] = cr_take_back(space, (uint32_t)m->words[0], m->badge, &number);
        m->reply[1] = number;
        return RG_OK;
    case RG_DELETE:
        m->reply[0] = cr_delete_resource(space, (uint32_t)m->words[0]);
        return RG_OK;
    case RG_WHO:
        m->reply[0] = CR_RESULT_OK;
        m->reply[1] = m->badge;
        return RG_OK;
    case RG_HOLDS:
        m->reply[0] = cr_holds(space, (uint32_t)m->words[0], &own, &number);
        m->reply[1] = number;
        return RG_OK;
    case RG_FIRST_CLIENT:
        m->reply[0] =
            cr_create_space_for("SECOND", "second", cr_info()->pds[0].slot, &number, &slot);
        second = m->reply[0] == CR_RESULT_OK ? number : second;
        m->reply[1] = number;
        m->reply[2] = slot;
        m->reply_count = 3;
        return RG_OK;
    case RG_GIVE_TO:
        m->reply[0] = cr_give(space, (uint32_t)m->words[0], m->words[1], 0, &number);
        return RG_OK;
    case RG_DELETE_SPACE:
        m->reply[0] = cr_delete_space(second);
        return RG_OK;
    case RG_SET_DEPTH:
        m->reply[0] = cr_call_root(CR_OP_SET_DEPTH, m->words, 2, 0, 0);
        return RG_OK;
    case RG_DELETE_OTHERS:
        m->reply[0] = cr_call_root(CR_OP_DELETE_RESOURCE, m->words, 2, 0, 0);
        return RG_OK;
    case RG_DESTROYED:
        m->reply[0] = CR_RESULT_OK;
        m->reply[1] = destroyed;
        return RG_OK;
    case RG_SHARE_CORE:
        /* The core space of type RESSPC has number 1. */
        m->reply[0] = cr_share_request(1, cr_info()->pds[0].slot, 0);
        return RG_OK;
    case RG_FAIL:
        cr_crash(CR_CRASH_PAGE_FAULT);
        return RG_BAD;
    default:
        return RG_BAD;
    }
}

static int work(const cr_work_entry *w)
{
    st_say_notice(w);
    destroyed += w->kind == CR_NOTICE_DESTROY;
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    const cr_startup *info = cr_info();
    if (info->n_spaces < 1 ||
        cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_say_text("no space to serve");
        cr_exit(1);
    }
    cr_serve(&server);
}
