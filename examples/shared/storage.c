/* SPDX-License-Identifier: BSD-2-Clause */
#include "storage.h"

/* The space, the object in it, or with space 0 the PD. */
static cr_line *put_thing(cr_line *line, const cr_work_entry *work)
{
    if (work->space == 0) {
        return cr_put_hex(cr_put(line, "PD_"), work->pd);
    }
    cr_put_hex(cr_put(line, "space "), work->space);
    return work->object != 0 ? cr_put_hex(cr_put(line, " object "), work->object) : line;
}

void st_say_notice(const cr_work_entry *work)
{
    cr_line line = {0};
    switch (work->kind) {
    case CR_NOTICE_FREE:
        cr_put_hex(cr_put(put_thing(cr_put(&line, "told: "), work), " is no longer held by PD_"),
                   work->pd);
        break;
    case CR_NOTICE_DESTROY:
        cr_put(put_thing(cr_put(&line, "told: my "), work), " is destroyed");
        break;
    case CR_NOTICE_DISCONNECT:
        put_thing(cr_put(&line, "told: my "), work);
        if (work->pd != 0) {
            cr_put_hex(cr_put(&line, " has lost its client PD_"), work->pd);
        } else {
            cr_put(&line, " has lost holders or clients");
        }
        break;
    case CR_NOTICE_LOST:
        put_thing(cr_put(&line, "told: I have lost "), work);
        break;
    case CR_NOTICE_PRE_DESTROY:
        put_thing(cr_put(&line, "told: about to be destroyed: "), work);
        break;
    case CR_NOTICE_EXTRACT:
    case CR_NOTICE_PROBE:
    case CR_NOTICE_FAULT:
    case CR_NOTICE_KIND_COUNT:
        cr_put(&line, "told: something I do not know");
        break;
    }
    cr_say(&line);
}

int st_give(cr_incoming *m, uint32_t space, uint32_t object)
{
    uint32_t slot;
    if (cr_give(space, object, m->badge, 0, &slot) != CR_RESULT_OK) {
        return 0;
    }
    m->reply[0] = space;
    m->reply[1] = object;
    m->reply[2] = slot;
    m->reply_count = 3;
    return 1;
}

int st_note(const cr_work_entry *work)
{
    st_say_notice(work);
    return 0;
}
