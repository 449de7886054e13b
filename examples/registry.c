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
    uint64_t arguments[4] = {space, m->words[0], m->words[1], 0};
    uint64_t results[2] = {0};
    uint32_t number;
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
            m->reply[0] = cr_give(space, (uint32_t)m->reply[1], m->badge, &number);
            m->reply[2] = number;
            m->reply_count = 3;
        }
        return RG_OK;
    case RG_GIVE:
        m->reply[0] = cr_give(space, (uint32_t)m->words[0], m->badge, &number);
        m->reply[1] = number;
        return RG_OK;
    case RG_TAKE_BACK:
        arguments[2] = m->badge;
        m->reply[0] = cr_call_root(CR_OP_TAKE_BACK, arguments, 3, &m->reply[1], 1);
        return RG_OK;
    case RG_DELETE:
        m->reply[0] = cr_call_root(CR_OP_DELETE_RESOURCE, arguments, 2, 0, 0);
        return RG_OK;
    case RG_WHO:
        m->reply[0] = CR_RESULT_OK;
        m->reply[1] = m->badge;
        return RG_OK;
    case RG_HOLDS:
        m->reply[0] = cr_call_root(CR_OP_HOLDS, arguments, 2, results, 2);
        m->reply[1] = results[1];
        return RG_OK;
    case RG_FIRST_CLIENT: {
        /* The type "SECOND" and the name "second", as words. */
        uint64_t names[CR_TYPE_WORDS + CR_NAME_WORDS] = {0x444e4f434553u, 0, 0x646e6f636573u};
        m->reply[0] = cr_call_root_with_pd(CR_OP_CREATE_SPACE, cr_info()->pds[0].slot, names,
                                         CR_TYPE_WORDS + CR_NAME_WORDS, results, 2);
        second = m->reply[0] == CR_RESULT_OK ? (uint32_t)results[0] : second;
        m->reply[1] = results[0];
        m->reply[2] = results[1];
        m->reply_count = 3;
        return RG_OK;
    }
    case RG_GIVE_TO:
        m->reply[0] = cr_give(space, (uint32_t)m->words[0], m->words[1], &number);
        return RG_OK;
    case RG_DELETE_SPACE:
        arguments[0] = second;
        m->reply[0] = cr_call_root(CR_OP_DELETE_SPACE, arguments, 1, 0, 0);
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
        arguments[0] = 1; /* the core space of type RESSPC has number 1 */
        m->reply[0] = cr_call_root_with_pd(CR_OP_SHARE_REQUEST, cr_info()->pds[0].slot, arguments,
                                           1, 0, 0);
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
    static const cr_server server = {serve, work, 0};
    const cr_startup *info = cr_info();
    if (info->n_spaces < 1 ||
        cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_say_text("no space to serve");
        cr_exit(1);
    }
    cr_serve(&server);
}
