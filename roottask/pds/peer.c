/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server whose clients can have it use capabilities that it was sent. */
#include "registry.h"
#include "storage.h"

static uint32_t serve(cr_incoming *m)
{
    uint64_t reply[3] = {0};
    uint32_t received;
    m->reply_count = 2;
    switch (m->label) {
    case PE_USE:
        m->reply[0] = cr_call((uint32_t)m->words[0], RG_WHO, 0, 0, reply, 1, &received);
        m->reply[1] = reply[0];
        return RG_OK;
    case PE_WHO:
        m->reply[0] = cr_call((uint32_t)m->words[0], RG_WHO, 0, 0, reply, 2, &received);
        m->reply[1] = reply[1];
        return RG_OK;
    case PE_DROP:
        m->reply[0] = cr_request(CR_OP_DISCONNECT, m->words, 1, 0, 0);
        m->reply_count = 1;
        return RG_OK;
    case PE_RELEASE:
        m->reply[0] = cr_request(CR_OP_RELEASE, m->words, 2, &m->reply[1], 1);
        return RG_OK;
    case PE_NUMBER:
        m->reply[0] = cr_info()->pd;
        m->reply_count = 1;
        return RG_OK;
    default:
        return RG_BAD;
    }
}

static int work(const cr_work_entry *w)
{
    st_say_notice(w);
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0};
    uint32_t space;
    const cr_startup *info = cr_info();
    if (info->n_spaces != 1 || cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_say_text("no space to serve");
        cr_exit(1);
    }
    cr_serve(&server);
}
