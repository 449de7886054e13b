/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that keeps data and resources of its own and checks them before each answer: that no
 * word of the data has changed, that each resource is active, and that nobody else holds one. It
 * answers numbered requests as crowd_server does, and prints what is not as it should be. In each
 * request it makes a checkpoint. The first request of a client may have any number, because the
 * server may have been created anew. */
#include "crowd.h"
#include "storage.h"

enum { WORDS = 1024, RESOURCES = 8 };

static uint32_t space;
static uint32_t objects[RESOURCES];
static uint64_t data[WORDS];
static uint64_t last[CW_CLIENTS];

static uint64_t word_of(uint32_t i)
{
    return (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u;
}

static void check(void)
{
    cr_line line = {0};
    for (uint32_t i = 0; i < WORDS; i++) {
        if (data[i] != word_of(i)) {
            cr_say(cr_put_number(cr_put(&line, "BROKEN: word "), i));
            return;
        }
    }
    for (uint32_t i = 0; i < RESOURCES; i++) {
        cr_look_state state;
        const uint64_t it[2] = {space, objects[i]};
        uint64_t holds[2] = {0};
        if (cr_look(space, objects[i], 0, &state) != CR_RESULT_OK || state != CR_LOOK_ACTIVE) {
            cr_say(cr_put_number(cr_put(&line, "BROKEN: resource "), i));
            return;
        }
        if (cr_call_root(CR_OP_HOLDS, it, 2, holds, 2) != CR_RESULT_OK || holds[0] != 1 ||
            holds[1] != 1) {
            cr_say(cr_put_number(cr_put(&line, "BROKEN: holds of resource "), i));
            return;
        }
    }
}

static uint32_t serve(cr_incoming *m)
{
    cr_line line = {0};
    if (cr_badge_kind_of(m->badge) != CR_BADGE_REQUEST || m->label != CW_ASK || m->count != 2 ||
        m->words[0] == 0 || m->words[0] >= CW_CLIENTS) {
        return CW_BAD;
    }
    cr_checkpoint();
    check();
    uint64_t *before = &last[m->words[0]];
    if (*before != 0 && m->words[1] != *before + 1) {
        cr_put_number(cr_put(&line, "TWICE or LOST: request "), m->words[1]);
        cr_say(&line);
    }
    *before = m->words[1];
    m->reply[0] = m->words[0];
    m->reply[1] = m->words[1];
    m->reply_count = 2;
    return CW_OK;
}

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    space = cr_own_space();
    for (uint32_t i = 0; i < WORDS; i++) {
        data[i] = word_of(i);
    }
    for (uint32_t i = 0; i < RESOURCES; i++) {
        if (cr_create_resource(space, &objects[i]) != CR_RESULT_OK) {
            cr_say_text("BROKEN: no resource");
        }
    }
    cr_serve(&server);
}
