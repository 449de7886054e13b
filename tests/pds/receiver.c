/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that gives a new resource to each client that asks, and is told of their ends.
 *
 * Argument 0: what it does with a notice:
 *   0  computes for a time, and finishes it
 *   1  never comes back to it
 *   2  fails it, and resumes it for ever
 *   3  calls the server of its first request, and finishes it after the answer
 * Argument 1: the turns of a loop for each notice.
 * Argument 2: 1: it creates its second space in the middle of its first notice. */
#include "storage.h"
#include <cellreap/image.h>

enum { COMPUTES = 0, HANGS = 1, FAILS = 2, CALLS = 3 };

static uint32_t space;
static uint32_t finished;

static uint32_t serve(cr_incoming *m)
{
    uint32_t object;
    if (m->label != ST_ALLOCATE || cr_create_resource(space, &object) != CR_RESULT_OK ||
        !st_give(m, space, object)) {
        return ST_FULL;
    }
    return ST_OK;
}

static void make_space(uint32_t i, uint32_t *out)
{
    const cr_startup *info = cr_info();
    if (cr_create_space(info->spaces[i].type, info->spaces[i].name, out) != CR_RESULT_OK) {
        cr_say_text("no space to serve");
        cr_exit(1);
    }
}

static int work(const cr_work_entry *w)
{
    uint32_t slot;
    uint32_t other;
    (void)w;
    if (finished++ == 0 && cr_info()->args[2] == 1) {
        make_space(1, &other);
    }
    const uint64_t turns = cr_info()->args[1];
    for (volatile uint64_t turn = 0; turn < turns; turn++) {
    }
    if (cr_info()->args[0] == HANGS) {
        cr_crash(CR_CRASH_BLOCK);
    }
    if (cr_info()->args[0] == CALLS &&
        cr_connect(cr_info()->requests[0], 1, &slot, &other) == CR_RESULT_OK) {
        (void)cr_call(slot, ST_READ, 0, 0, 0, 0, &other);
    }
    return cr_info()->args[0] == FAILS;
}

/* Without the client library, which does not resume a lane while it handles a notice. */
static _Noreturn void fail_for_ever(void)
{
    uint64_t got[2 + CR_WORK_MAX * CR_WORK_WORDS];
    for (;;) {
        if (cr_call_root(CR_OP_GET_WORK, 0, 0, got, 2 + CR_WORK_WORDS) == CR_RESULT_OK &&
            got[1] > 0) {
            const uint64_t answer[] = {1, got[2], CR_WORK_FAILED};
            const uint64_t lane[] = {got[3]};
            (void)cr_call_root(CR_OP_FINISH_WORK, answer, 3, 0, 0);
            (void)cr_call_root(CR_OP_RESUME_WORK, lane, 1, 0, 0);
        }
    }
}

static int begin_to_fail(const cr_work_entry *w)
{
    const uint64_t answer[] = {1, w->token, CR_WORK_FAILED};
    const uint64_t lane[] = {w->space};
    (void)cr_call_root(CR_OP_FINISH_WORK, answer, 3, 0, 0);
    (void)cr_call_root(CR_OP_RESUME_WORK, lane, 1, 0, 0);
    fail_for_ever();
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    static const cr_server failing = {serve, begin_to_fail, 0, 0};
    make_space(0, &space);
    cr_serve(cr_info()->args[0] == FAILS ? &failing : &server);
}
