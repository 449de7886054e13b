/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads what is known of the destroyed. It has a request to the space of its first request, and the
 * capability to the PD of its first PD capability. When it is told that it lost something, it reads
 * the post-mortem of what it lost, before it acknowledges that, and once more afterwards. */
#include "storage.h"

enum { LOSSES_MAX = 8 };

static struct {
    uint32_t space;
    uint32_t pd;
} lost[LOSSES_MAX];
static uint32_t n_lost;

static void tell(const char *when, uint32_t space, uint32_t pd)
{
    cr_line line = {0};
    cr_mortem mortem;
    const cr_result result = cr_post_mortem(space, pd, &mortem);
    cr_put(cr_put(&line, when), space != 0 ? ": space " : ": PD ");
    cr_put_number(cr_put(cr_put_number(&line, space != 0 ? space : pd), ": "), result);
    if (result == CR_RESULT_OK) {
        cr_put(cr_put(cr_put(&line, " "), mortem.type), " ");
        cr_put_number(cr_put(cr_put(&line, mortem.name), " how "), mortem.how);
        cr_put_number(cr_put(&line, " code "), mortem.code);
        cr_put_number(cr_put(&line, " faulted "), (uint64_t)mortem.faulted);
        cr_put_number(cr_put(&line, " fault "), mortem.fault);
        cr_put_hex(cr_put(&line, " address "), mortem.address);
        cr_put_hex(cr_put(&line, " ip "), mortem.ip);
        cr_put_hex(cr_put(&line, " registers "), mortem.registers[0]);
        cr_put_hex(cr_put(&line, " "), mortem.registers[1]);
    }
    cr_say(&line);
}

/* Each operation on what is gone is refused, as long as somebody can read of it and afterwards. */
static void touch(uint32_t space)
{
    uint64_t slot;
    uint64_t arguments[3] = {space, 1, 0};
    cr_say_check("subscribe", cr_subscribe(space, 0), CR_RESULT_GONE);
    cr_say_check("unsubscribe", cr_unsubscribe(space, 0), CR_RESULT_GONE);
    cr_say_check("disconnect", cr_call_root(CR_OP_DISCONNECT, arguments, 1, 0, 0), CR_RESULT_GONE);
    cr_say_check("release", cr_call_root(CR_OP_RELEASE, arguments, 2, 0, 0), CR_RESULT_GONE);
    cr_say_check("holds", cr_call_root(CR_OP_HOLDS, arguments, 2, &slot, 1), CR_RESULT_GONE);
    cr_say_check("map", cr_map(space, 0, space, 0), CR_RESULT_GONE);
}

static int is_destroyed(uint32_t space, uint32_t pd)
{
    cr_look_state state = CR_LOOK_ACTIVE;
    return cr_look(space, pd, 0, &state) == CR_RESULT_OK && state == CR_LOOK_DESTROYED;
}

static int note(const cr_work_entry *w)
{
    if (w->kind != CR_NOTICE_LOST || n_lost == LOSSES_MAX) {
        return 0;
    }
    lost[n_lost].space = w->space;
    lost[n_lost].pd = w->pd;
    n_lost++;
    cr_say_check("destroyed", (uint64_t)is_destroyed(w->space, w->space != 0 ? 0 : w->pd), 1);
    tell("before", w->space, w->pd);
    /* Nobody can read what it does not refer to: a PD that lives, nor one that never was. */
    cr_mortem mortem;
    cr_say_check("of itself", cr_post_mortem(0, cr_info()->pd, &mortem), CR_RESULT_DENIED);
    cr_say_check("of nobody", cr_post_mortem(0, 0x7fffffff, &mortem), CR_RESULT_NO_SUCH);
    if (w->space != 0) {
        touch(w->space);
    }
    return 0;
}

void cr_main(void)
{
    uint32_t told = 0;
    do {
        uint32_t slot;
        uint32_t space;
        uint32_t received;
        uint64_t resource[3];
        (void)cr_connect(cr_info()->requests[0], 1, &slot, &space);
        (void)cr_allow(space, 1);
        (void)cr_call(slot, ST_ALLOCATE, 0, 0, resource, 3, &received);
        cr_poll_work(note);
        for (; told < n_lost; told++) {
            tell("after", lost[told].space, lost[told].pd);
            if (lost[told].space != 0) {
                touch(lost[told].space);
            }
        }
    } while (cr_next_round());
    cr_wait_for_work(note);
}
