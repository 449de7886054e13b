/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that tries to get more authority than the configuration gives it. It tries to set its depths
 * and spawns its own program. It sends three resources to the new PD, and calls the server of its
 * request. The spawned PD tries what it may not do, and computes for a time. Both print results.
 *
 * Arguments 0 and 1, if they are not 0: the space and the object that it sends first, instead of a
 * resource of its own. */
#include "storage.h"

enum { TURNS = 20000000 };

static cr_result spawn(uint32_t *slot)
{
    /* The program "climber", as words. */
    uint64_t name[CR_NAME_WORDS] = {0x7265626d696c63u};
    uint64_t results[2];
    cr_result result = cr_call_root(CR_OP_SPAWN, name, CR_NAME_WORDS, results, 2);
    *slot = (uint32_t)results[0];
    return result;
}

static cr_result set_depth(void)
{
    return cr_call_root(CR_OP_SET_DEPTH, (uint64_t[]){0xffffffffu, 0xffffffffu}, 2, 0, 0);
}

static uint32_t serve(cr_incoming *m)
{
    (void)m;
    cr_checkpoint();
    return ST_BAD_REQUEST;
}

static void climb(void)
{
    static const cr_server server = {serve, st_note, 0, 0};
    cr_line line = {0};
    uint64_t value;
    uint32_t object;
    uint32_t request;
    uint32_t slot = 0;
    uint32_t received;
    uint32_t other;
    uint32_t space = cr_own_space();
    cr_say(cr_put_number(cr_put(&line, "set depth: "), set_depth()));
    if (cr_connect(cr_info()->requests[0], 1, &request, &other) != CR_RESULT_OK) {
        cr_exit(1);
    }
    cr_say(cr_put_number(cr_put(&line, "spawn: "), spawn(&slot)));
    (void)cr_call(request, ST_READ, 0, 0, &value, 1, &received);
    cr_say_text("the server has answered");
    cr_put(&line, "send:");
    for (uint32_t i = 0; i < 3; i++) {
        (void)cr_create_resource(space, &object);
        uint64_t words[2] = {space, object};
        if (i == 0 && cr_info()->args[0] != 0) {
            words[0] = cr_info()->args[0];
            words[1] = cr_info()->args[1];
        }
        cr_put_number(cr_put(&line, " "), cr_call_root_with_pd(CR_OP_SEND, slot, words, 2, 0, 0));
    }
    cr_say(&line);
    cr_checkpoint();
    cr_serve(&server);
}

static void be_spawned(void)
{
    cr_line line = {0};
    uint32_t number;
    cr_put_number(cr_put(&line, "spawned by PD "), cr_info()->creator);
    cr_put_number(cr_put(&line, ": spawn "), spawn(&number));
    cr_put_number(cr_put(&line, ", set depth "), set_depth());
    cr_put_number(cr_put(&line, ", extract "), cr_extract(&number));
    cr_put_number(cr_put(&line, ", space "), cr_create_space("OTHER", "other", &number));
    cr_say(&line);
    for (volatile uint32_t turn = 0; turn < TURNS; turn++) {
    }
    cr_say_text("computed");
    cr_wait_for_work(st_note);
}

void cr_main(void)
{
    if (cr_info()->creator == 0) {
        climb();
    }
    be_spawned();
}
