/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that calls a capability at the order of a client: a resource that was sent to it, or
 * a request that was shared with it. It allows what the client orders. The labels PE_... of
 * shared/registry.h are its orders. */
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
        m->reply[0] = cr_call_root(CR_OP_DISCONNECT, m->words, 1, 0, 0);
        m->reply_count = 1;
        return RG_OK;
    case PE_RELEASE:
        m->reply[0] = cr_call_root(CR_OP_RELEASE, m->words, 2, &m->reply[1], 1);
        return RG_OK;
    case PE_ALLOW:
        m->reply[0] = cr_call_root(CR_OP_ALLOW, m->words, 3, 0, 0);
        m->reply_count = 1;
        return RG_OK;
    case PE_NUMBER:
        m->reply[0] = cr_info()->pd;
        m->reply_count = 1;
        return RG_OK;
    default:
        return RG_BAD;
    }
}

void cr_main(void)
{
    static const cr_server server = {serve, st_note, 0, 0};
    (void)cr_own_space();
    cr_serve(&server);
}
