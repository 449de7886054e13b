/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server of several spaces that fails some notices. A client names a space by its place in the
 * configuration and gets a new resource of it. SB_RESUME makes the root task hand out the failed
 * notices about a space again.
 *
 * Argument 0: the number of notices about its first space that it fails.
 * Argument 1: the number of operations that it performs for each notice.
 * Argument 2: when it creates its last space:
 *   0  at its start, with the others
 *   1  in the middle of the first notice
 *   2  in the middle of the creation of the first resource */
#include "storage.h"
#include "stubborn.h"

enum { FIRST = 0, IN_A_NOTICE = 1, IN_A_RESOURCE = 2 };

static uint32_t spaces[CR_STARTUP_SPACES];
static uint32_t made;
static uint32_t failures;

static void make_space(void)
{
    const cr_startup *info = cr_info();
    if (made < info->n_spaces && cr_create_space(info->spaces[made].type, info->spaces[made].name,
                                                 &spaces[made]) != CR_RESULT_OK) {
        cr_say_text("no space to serve");
        cr_exit(1);
    }
    made++;
}

static uint32_t serve(cr_incoming *m)
{
    uint32_t object;
    cr_checkpoint();
    if (cr_badge_kind_of(m->badge) != CR_BADGE_REQUEST || m->words[0] >= made) {
        return ST_BAD_REQUEST;
    }
    uint32_t space = spaces[m->words[0]];
    if (m->label == SB_RESUME) {
        m->reply[0] = cr_resume_work(space);
        m->reply_count = 1;
        return ST_OK;
    }
    if (m->label != ST_ALLOCATE) {
        return ST_BAD_REQUEST;
    }
    if (cr_create_resource(space, &object) != CR_RESULT_OK) {
        return ST_FULL;
    }
    if (cr_info()->args[2] == IN_A_RESOURCE) {
        make_space();
    }
    return st_give(m, space, object) ? ST_OK : ST_FULL;
}

static int work(const cr_work_entry *w)
{
    cr_look_state state;
    int fails = w->space == spaces[0] && failures < cr_info()->args[0];
    st_say_notice(w);
    if (cr_info()->args[2] == IN_A_NOTICE) {
        make_space();
    }
    for (uint32_t i = 0; i < cr_info()->args[1]; i++) {
        (void)cr_look(0, 0, 0, &state);
    }
    if (fails) {
        failures++;
        cr_say_text("and I fail");
    } else if (w->kind == CR_NOTICE_FREE) {
        return cr_call_root(CR_OP_DELETE_RESOURCE, (uint64_t[]){w->space, w->object}, 2, 0, 0) !=
               CR_RESULT_OK;
    }
    return fails;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    const cr_startup *info = cr_info();
    while (made + (info->args[2] != FIRST) < info->n_spaces) {
        make_space();
    }
    cr_serve(&server);
}
