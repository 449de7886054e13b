/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that creates resources until the root task refuses, and deletes them some rounds later.
 * Then it computes for a while.
 *
 * Argument 0: the number of rounds for which it keeps them.
 * Argument 1: the length of the computation, in turns of a loop. */
#include <cellreap/client.h>

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    uint32_t space = 0;
    uint32_t object = 0;
    uint32_t last = 0;
    cr_line line = {0};
    if (cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    while (cr_create_resource(space, &object) == CR_RESULT_OK) {
        last = object;
    }
    cr_say(cr_put_number(cr_put(&line, "resources: "), last));
    for (uint32_t round = 0; round < info->args[0] && cr_next_round(); round++) {
    }
    for (uint32_t i = 1; i <= last; i++) {
        uint64_t it[2] = {space, i};
        if (cr_call_root(CR_OP_DELETE_RESOURCE, it, 2, 0, 0) != CR_RESULT_OK) {
            cr_exit(2);
        }
    }
    for (volatile uint32_t turn = 0; turn < info->args[1]; turn++) {
    }
    while (cr_next_round()) {
    }
    cr_wait_for_work(work);
}
