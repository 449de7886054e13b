/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that has what cannot be reached collected while it serves a request: it makes a
 * resource, asks for the collection, waits until that is over, and only then gives the resource to
 * the client. Once it lets the PD of its first PD capability give it one capability. */
#include "storage.h"

static uint32_t space;

static uint32_t serve(cr_incoming *m)
{
    uint32_t object;
    cr_ticket_info info;
    cr_line line = {0};
    if (m->label != ST_ALLOCATE || cr_create_resource(space, &object) != CR_RESULT_OK) {
        return ST_BAD_REQUEST;
    }
    cr_result result = cr_collect(&info);
    cr_put_number(cr_put(&line, "collect: "), result);
    if (result == CR_RESULT_OK) {
        result = cr_ticket(info.ticket, 1, &info);
        cr_put_number(cr_put(&line, ", ticket: "), result);
        cr_put_number(cr_put(&line, ", state: "), info.state);
    }
    cr_say(&line);
    return st_give(m, space, object) ? ST_OK : ST_FULL;
}

void cr_main(void)
{
    static const cr_server server = {serve, st_note, 0, 0};
    space = cr_own_space();
    cr_say_check("allow", cr_allow_pd(cr_info()->pds[0].number, 1), CR_RESULT_OK);
    cr_serve(&server);
}
