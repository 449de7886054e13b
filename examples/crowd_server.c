/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that receives numbered requests from many clients. It checks that the requests of
 * each client arrive in order, and each only once. In the middle of each request it makes a
 * checkpoint, where a scenario can crash it.
 *
 * Argument 0, bits:
 *   1  it answers each request a second time; the second answer must reach nobody
 *   2  it sends each request on to the server of its first request before it answers */
#include "crowd.h"
#include "storage.h"

enum { REPLIES_TWICE = 1, RELAYS = 2 };

static uint32_t space;
static uint32_t behind; /* slot of the request to the server behind; 0: not connected */
static uint64_t last[CW_CLIENTS];

static uint32_t relay(const cr_incoming *m)
{
    uint64_t echo[2];
    uint32_t received;
    uint32_t behind_space;
    if (behind == 0 &&
        cr_connect(cr_info()->requests[0], 1, &behind, &behind_space) != CR_RESULT_OK) {
        return CW_BAD;
    }
    uint32_t label = cr_call(behind, CW_ASK, m->words, 2, echo, 2, &received);
    return label == CW_OK && echo[0] == m->words[0] && echo[1] == m->words[1] ? CW_OK : CW_BAD;
}

static uint32_t serve(cr_incoming *m)
{
    cr_line line = {0};
    if (cr_badge_kind_of(m->badge) != CR_BADGE_REQUEST || m->label != CW_ASK || m->count != 2 ||
        m->words[0] >= CW_CLIENTS) {
        return CW_BAD;
    }
    uint64_t *before = &last[m->words[0]];
    if (m->words[1] <= *before) {
        cr_put(&line, m->words[1] == *before ? "TWICE: " : "OUT OF ORDER: ");
        cr_put_number(cr_put(cr_put_number(cr_put(&line, "client "), m->words[0]), ", request "),
                      m->words[1]);
        cr_say(&line);
    }
    *before = m->words[1];
    cr_checkpoint();
    if ((cr_info()->args[0] & RELAYS) != 0 && relay(m) != CW_OK) {
        return CW_BAD;
    }
    m->reply[0] = m->words[0];
    m->reply[1] = m->words[1];
    m->reply_count = 2;
    if ((cr_info()->args[0] & REPLIES_TWICE) != 0) {
        seL4_SetMR(0, m->reply[0]);
        seL4_SetMR(1, m->reply[1]);
        cr_reply(CR_SLOT_REPLY, seL4_MessageInfo_new(CW_OK, 0, 0, 2));
        m->reply[1] = ~m->reply[1];
    }
    return CW_OK;
}

static int work(const cr_work_entry *w)
{
    behind = w->kind == CR_NOTICE_LOST ? 0 : behind;
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    space = cr_own_space();
    cr_serve(&server);
}
