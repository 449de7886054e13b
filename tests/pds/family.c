/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Is not trusted with collections. Spawns five PDs, prints their numbers, and makes some of them
 * hold others: the second and third hold each other, the PD of the first PD capability holds the
 * fourth, and the fourth holds the fifth. Then it faults.
 *
 * Argument 0: the number of the space of PDs. */
#include "storage.h"
#include <cellreap/image.h>

enum { CHILDREN = 5, ATTEMPTS = 1000 };

typedef struct child {
    uint32_t slot;
    uint32_t number;
} child;

static child spawn(void)
{
    uint64_t program[CR_NAME_WORDS] = {0x6e616870726fu}; /* "orphan" */
    uint64_t results[2] = {0};
    cr_say_check("spawn", cr_call_root(CR_OP_SPAWN, program, CR_NAME_WORDS, results, 2),
                 CR_RESULT_OK);
    return (child){(uint32_t)results[0], (uint32_t)results[1]};
}

/* Gives the capability to a PD to another one, as soon as that one allows it. */
static void give(child what, uint32_t to)
{
    const uint64_t words[2] = {cr_info()->args[0], what.number};
    cr_result result = CR_RESULT_UNWANTED;
    for (uint32_t i = 0; i < ATTEMPTS && result == CR_RESULT_UNWANTED; i++) {
        seL4_Yield();
        result = cr_call_root_with_pd(CR_OP_SEND, to, words, 2, 0, 0);
    }
    cr_say_check("send", result, CR_RESULT_OK);
}

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
