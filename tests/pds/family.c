/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Is not trusted with collections. Spawns five PDs, prints their numbers, and makes some of them
 * hold others: the second and third hold each other, the PD of the first PD capability holds the
 * fourth, and the fourth holds the fifth. Then it faults.
 *
 * Argument 0: the number of the space of PDs. */
#include "children.h"
#include "storage.h"
#include <cellreap/image.h>

void cr_main(void)
{
    cr_line line = {0};
    child children[CHILDREN];
    cr_ticket_info info;
    cr_say_check("collect", cr_collect(&info), CR_RESULT_DENIED);
    for (uint32_t i = 0; i < CHILDREN; i++) {
        children[i] = spawn();
        cr_put_number(cr_put(&line, i == 0 ? "" : " "), children[i].number);
    }
    give(children[1], children[2].slot);
    give(children[2], children[1].slot);
    give(children[4], children[3].slot);
    give(children[3], cr_info()->pds[0].slot);
    cr_say(&line);
    cr_crash(CR_CRASH_PAGE_FAULT);
}
