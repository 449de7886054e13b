/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that makes resources in each of its spaces, and takes away what its clients hold. It
 * prints the badge of each call on a resource: "used SPACE OBJECT by CLIENT", with the client's own
 * word.
 *
 * Argument 0: how it takes (TK_TAKE).
 *   0  it takes back the hold
 *   1  it deletes the resource
 *   2  it deletes the whole space
 * Argument 1: 1: all clients get the same resource, and at the first call on it the server takes it
 * back from the second client that got it. */
#include "taker.h"

enum { HOLD = 0, RESOURCE = 1, SPACE = 2, CLIENTS = 8 };

static uint32_t spaces[CR_STARTUP_SPACES];
static uint32_t objects[CR_STARTUP_SPACES]; /* the last resource of each space */
static uint64_t clients[CLIENTS];
static uint32_t known;
static int shared_was_used;

static uint32_t make(cr_incoming *m, uint32_t which)
{
    uint32_t slot;
    if (which >= cr_info()->n_spaces || known == CLIENTS) {
        return TK_BAD;
    }
    if ((cr_info()->args[1] == 0 || objects[which] == 0) &&
        cr_create_resource(spaces[which], &objects[which]) != CR_RESULT_OK) {
        return TK_BAD;
    }
    clients[known++] = m->badge;
    if (cr_give(spaces[which], objects[which], m->badge, 0, &slot) != CR_RESULT_OK) {
        return TK_BAD;
    }
    m->reply[m->reply_count++] = slot;
    return TK_OK;
}

static uint32_t take(uint64_t client, uint32_t which)
{
    uint64_t arguments[3] = {spaces[which], objects[which], client};
    cr_op op = CR_OP_DELETE_SPACE;
    uint32_t count = 1;
    if (cr_info()->args[0] == HOLD) {
        op = CR_OP_TAKE_BACK;
        count = 3;
    } else if (cr_info()->args[0] == RESOURCE) {
        op = CR_OP_DELETE_RESOURCE;
        count = 2;
    }
    return cr_call_root(op, arguments, count, 0, 0) == CR_RESULT_OK ? TK_OK : TK_BAD;
}

static uint32_t use(cr_incoming *m)
{
    cr_line line = {0};
    cr_put_number(cr_put(&line, "used "), cr_badge_space(m->badge));
    cr_put_number(cr_put(&line, " "), cr_badge_object(m->badge));
    cr_say(cr_put_number(cr_put(&line, " by "), m->words[0]));
    m->reply[m->reply_count++] = m->badge;
    if (cr_info()->args[1] != 0 && !shared_was_used) {
        shared_was_used = 1;
        return take(clients[1], 0);
    }
    return TK_OK;
}

static uint32_t serve(cr_incoming *m)
{
    if (cr_badge_kind_of(m->badge) == CR_BADGE_RESOURCE) {
        return use(m);
    }
    return m->label == TK_MAKE   ? make(m, (uint32_t)m->words[0])
           : m->label == TK_TAKE ? take(m->badge, 0)
                                 : TK_BAD;
}

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    const cr_startup *info = cr_info();
    for (uint32_t i = 0; i < info->n_spaces; i++) {
        if (cr_create_space(info->spaces[i].type, info->spaces[i].name, &spaces[i]) !=
            CR_RESULT_OK) {
            cr_exit(1);
        }
    }
    cr_serve(&server);
}
