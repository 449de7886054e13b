/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Spawns five PDs and prints their numbers. It keeps the capability to the first one, gives that to
 * the second one to the first, and has the third and fourth hold each other. It releases all but
 * the first, and has what cannot be reached collected. It lives on.
 *
 * Argument 0: the number of the space of PDs. */
#include "children.h"
#include "storage.h"
#include <cellreap/image.h>

static void collect(void)
{
    cr_ticket_info info = {0};
    cr_say_check("collect", cr_collect(&info), CR_RESULT_OK);
    cr_say_check("ticket", cr_ticket(info.ticket, 1, &info), CR_RESULT_OK);
}

void cr_main(void)
{
    cr_line line = {0};
    child children[CHILDREN];
    for (uint32_t i = 0; i < CHILDREN; i++) {
        children[i] = spawn();
        cr_put_number(cr_put(&line, i == 0 ? "" : " "), children[i].number);
    }
    cr_say(&line);
    give(children[1], children[0].slot);
    give(children[2], children[3].slot);
    give(children[3], children[2].slot);
    collect();
    for (uint32_t i = 1; i < CHILDREN; i++) {
        const uint64_t words[2] = {cr_info()->args[0], children[i].number};
        cr_say_check("release", cr_call_root(CR_OP_RELEASE, words, 2, 0, 0), CR_RESULT_OK);
    }
    collect();
    cr_say_text("lives");
    while (cr_next_round()) {
        cr_poll_work(st_note);
    }
    cr_wait_for_work(st_note);
}
