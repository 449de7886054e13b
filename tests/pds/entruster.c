/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Spawns four PDs and entrusts the first and the third to the server of its first request. The
 * first holds the second, which faults when it is told of its end. The third is a client of the
 * server too. Prints their numbers, and faults.
 *
 * First PD capability: of the server. */
#include "saver.h"
#include <cellreap/image.h>

enum { CHILDREN = 4, ATTEMPTS = 1000 };

typedef struct child {
    uint32_t slot;
    uint32_t number;
} child;

static child spawn(int faults)
{
    static const uint64_t orphan[CR_NAME_WORDS] = {0x6e616870726fu};
    static const uint64_t foundling[CR_NAME_WORDS] = {0x6e696c646e756f66u, 0x67u};
    uint64_t results[2] = {0};
    cr_say_check("spawn",
                 cr_call_root(CR_OP_SPAWN, faults ? foundling : orphan, CR_NAME_WORDS, results, 2),
                 CR_RESULT_OK);
    return (child){(uint32_t)results[0], (uint32_t)results[1]};
}

/* Does this for another PD, as soon as that one allows it. Returns the slot there. */
static uint32_t give(cr_op op, uint32_t to, const uint64_t *words, uint32_t count)
{
    uint64_t slot = 0;
    cr_result result = CR_RESULT_UNWANTED;
    for (uint32_t i = 0; i < ATTEMPTS && result == CR_RESULT_UNWANTED; i++) {
        seL4_Yield();
        result = cr_call_root_with_pd(op, to, words, count, &slot, 1);
    }
    cr_say_check("give", result, CR_RESULT_OK);
    return (uint32_t)slot;
}

static uint32_t send(child what, uint32_t to)
{
    return give(CR_OP_SEND, to, (uint64_t[]){cr_info()->args[0], what.number}, 2);
}

static void tell(uint32_t server, uint32_t label, uint32_t slot, uint32_t number)
{
    uint32_t received;
    cr_say_check("tell", cr_call(server, label, (uint64_t[]){slot, number}, 2, 0, 0, &received),
                 ST_OK);
}

void cr_main(void)
{
    cr_line line = {0};
    child children[CHILDREN];
    uint32_t server;
    uint32_t space;
    cr_say_check("connect", cr_connect(cr_info()->requests[0], 1, &server, &space), CR_RESULT_OK);
    for (uint32_t i = 0; i < CHILDREN; i++) {
        children[i] = spawn(i == 1);
        cr_put_number(cr_put(&line, i == 0 ? "" : " "), children[i].number);
    }
    (void)send(children[1], children[0].slot);
    (void)give(CR_OP_SHARE_REQUEST, children[2].slot, (uint64_t[]){space}, 1);
    for (uint32_t i = 0; i < CHILDREN; i += 2) {
        tell(server, SAVER_KEEP, send(children[i], cr_info()->pds[0].slot), children[i].number);
    }
    tell(server, SAVER_UNTOLD, 0, children[3].number);
    cr_say(&line);
    cr_crash(CR_CRASH_PAGE_FAULT);
}
