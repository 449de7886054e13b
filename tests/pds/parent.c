/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Spawns two idlers, shares its request with the first one, and prints their numbers.
 *
 * Argument 0: 1: it faults after its first round. */
#include "storage.h"
#include <cellreap/image.h>

enum { CHILDREN = 2 };

typedef struct child {
    uint32_t slot;
    uint32_t number;
} child;

static child spawn(void)
{
    uint64_t program[CR_NAME_WORDS] = {0x72656c6469u}; /* "idler" */
    uint64_t results[2] = {0};
    cr_say_check("spawn", cr_call_root(CR_OP_SPAWN, program, CR_NAME_WORDS, results, 2),
                 CR_RESULT_OK);
    return (child){(uint32_t)results[0], (uint32_t)results[1]};
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    uint32_t slot;
    uint32_t space;
    cr_line line = {0};
    child children[CHILDREN];
    for (uint32_t i = 0; i < CHILDREN; i++) {
        children[i] = spawn();
        cr_put_number(cr_put(&line, " "), children[i].number);
    }
    cr_say_check("connect", cr_connect(info->requests[0], 1, &slot, &space), CR_RESULT_OK);
    const uint64_t number = space;
    cr_say_check("share",
                 cr_call_root_with_pd(CR_OP_SHARE_REQUEST, children[0].slot, &number, 1, 0, 0),
                 CR_RESULT_OK);
    cr_say(&line);
    (void)cr_next_round();
    if (info->args[0] != 0) {
        cr_crash(CR_CRASH_PAGE_FAULT);
    }
    cr_wait_for_work(st_note);
}
