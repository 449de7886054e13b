/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server to which a PD entrusts others: it subscribes to each and gives the capability back at
 * once, so that it does not keep them. When it is told of the end of the first of them, it saves
 * that one, after and before a few attempts that must be refused. The end of any other it only
 * acknowledges. When one of these has left it, it tries to save it, too late.
 *
 * Argument 0: the number of the space of PDs. First PD capability: of the PD that entrusts. */
#include "saver.h"

enum { NEVER = 0xffff };

static uint32_t first;
static uint32_t untold; /* the number of a PD that goes too and that it did not subscribe to */

static void expect_save(const char *what, uint32_t pd, cr_result wanted)
{
    uint32_t slot;
    cr_say_check(what, cr_save(pd, &slot), wanted);
}

static uint32_t serve(cr_incoming *m)
{
    const uint32_t number = (uint32_t)m->words[1];
    if (m->label == SAVER_UNTOLD) {
        untold = number;
        return ST_OK;
    }
    if (m->label != SAVER_KEEP || cr_subscribe(0, (uint32_t)m->words[0]) != CR_RESULT_OK ||
        cr_call_root(CR_OP_RELEASE, (uint64_t[]){cr_info()->args[0], number}, 2, 0, 0) !=
            CR_RESULT_OK) {
        return ST_BAD_REQUEST;
    }
    first = first != 0 ? first : number;
    expect_save("save what lives", number, CR_RESULT_DENIED);
    return ST_OK;
}

static void save_first(void)
{
    uint32_t slot;
    cr_line line = {0};
    expect_save("save what it was not told of", untold, CR_RESULT_DENIED);
    expect_save("save itself", cr_info()->pd, CR_RESULT_DENIED);
    expect_save("save the root task", 0, CR_RESULT_DENIED);
    expect_save("save nobody", NEVER, CR_RESULT_NO_SUCH);
    cr_put_number(cr_put(&line, "save: "), cr_save(first, &slot));
    cr_say(&line);
    expect_save("save twice", first, CR_RESULT_EXISTS);
    cr_say_check("use it while it is doomed", cr_subscribe(0, slot), CR_RESULT_GONE);
}

static int work(const cr_work_entry *w)
{
    cr_line line = {0};
    cr_mortem mortem;
    cr_look_state state = CR_LOOK_ACTIVE;
    if (w->kind == CR_NOTICE_PRE_DESTROY && w->pd == cr_info()->pds[0].number) {
        expect_save("save what crashed", w->pd, CR_RESULT_GONE);
    } else if (w->kind == CR_NOTICE_PRE_DESTROY && w->pd == first) {
        save_first();
    } else if (w->kind == CR_NOTICE_DISCONNECT && w->pd != cr_info()->pds[0].number) {
        expect_save("save too late", w->pd, CR_RESULT_GONE);
        cr_say_check("look", cr_look(0, w->pd, 0, &state), CR_RESULT_OK);
        cr_say_check("post-mortem", cr_post_mortem(0, w->pd, &mortem), CR_RESULT_OK);
        cr_put_number(cr_put(&line, "state: "), state);
        cr_put_number(cr_put(&line, ", ending: "), mortem.how);
        cr_say(&line);
    }
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    cr_own_space();
    cr_say_check("allow", cr_allow_pd(cr_info()->pds[0].number, 4), CR_RESULT_OK);
    cr_say_check("subscribe", cr_subscribe(0, cr_info()->pds[0].slot), CR_RESULT_OK);
    cr_serve(&server);
}
