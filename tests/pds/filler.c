/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that makes things of one kind until the root task refuses. It prints how many it made and
 * why the last was refused. Then it gives one back and makes two more.
 *
 * Argument 0: what it makes:
 *   0  PDs
 *   1  spaces
 *   2  resources
 *   3  subscriptions to itself
 *   4  edges
 * Argument 1: how many it tries to make. */
#include "storage.h"

enum { PDS = 0, SPACES = 1, RESOURCES = 2, SUBSCRIPTIONS = 3, EDGES = 4 };

/* For EDGES: each of the first HALF resources is mapped to each of the second HALF. */
enum { HALF = 128 };

static uint32_t kind;
static uint32_t space;
static uint64_t last; /* PD: its slot; space: its number; resource: its object */

static cr_result make(uint32_t i)
{
    uint64_t results[2] = {0};
    /* The program "idler". The name: "s" and the number in three letters from 'a' on. */
    uint64_t program[CR_NAME_WORDS] = {0x72656c6469u};
    char name[6] = {'s', (char)('a' + i / 676 % 26), (char)('a' + i / 26 % 26),
                    (char)('a' + i % 26)};
    uint32_t number = 0;
    cr_result result;
    if (kind == PDS) {
        result = cr_call_root(CR_OP_SPAWN, program, CR_NAME_WORDS, results, 2);
        number = (uint32_t)results[0];
    } else if (kind == SPACES) {
        result = cr_create_space("FILL", name, &number);
    } else if (kind == RESOURCES) {
        result = cr_create_resource(space, &number);
    } else if (kind == SUBSCRIPTIONS) {
        result = cr_subscribe(0, 0);
    } else {
        result = cr_map(space, 1 + i / HALF, space, 1 + HALF + i % HALF);
        number = i;
    }
    last = result == CR_RESULT_OK ? number : last;
    return result;
}

static cr_result give_back(void)
{
    uint64_t arguments[2] = {kind == SPACES ? last : space, last};
    uint64_t map[4] = {space, 1 + last / HALF, space, 1 + HALF + last % HALF};
    if (kind == PDS) {
        return cr_call_root_with_pd(CR_OP_TERMINATE, (uint32_t)last, 0, 0, 0, 0);
    }
    if (kind == SUBSCRIPTIONS) {
        return cr_unsubscribe(0, 0);
    }
    if (kind == EDGES) {
        return cr_call_root(CR_OP_UNMAP, map, 4, 0, 0);
    }
    return kind == SPACES ? cr_call_root(CR_OP_DELETE_SPACE, arguments, 1, 0, 0)
                          : cr_call_root(CR_OP_DELETE_RESOURCE, arguments, 2, 0, 0);
}

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    cr_line line = {0};
    uint32_t made = 0;
    cr_result result = CR_RESULT_OK;
    const cr_startup *info = cr_info();
    kind = info->args[0];
    if (info->n_spaces > 0 &&
        cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    for (uint32_t i = 0; kind == EDGES && i < 2 * HALF; i++) {
        uint32_t object;
        if (cr_create_resource(space, &object) != CR_RESULT_OK) {
            cr_exit(2);
        }
    }
    while (made < info->args[1] && (result = make(made)) == CR_RESULT_OK) {
        made++;
    }
    cr_put_number(cr_put(&line, "made: "), made);
    cr_say(cr_put_number(cr_put(&line, ", then result "), result));
    cr_put_number(cr_put(&line, "one given back: "), give_back());
    if (kind == EDGES) {
        uint32_t number;
        /* Each of these needs two edges. */
        cr_put_number(cr_put(&line, ", a space: "), cr_create_space("FILL", "another", &number));
        cr_put_number(cr_put(&line, ", a resource: "), cr_create_resource(space, &number));
    }
    cr_put_number(cr_put(&line, ", one made: "), make(made));
    cr_say(cr_put_number(cr_put(&line, ", one more: "), make(made + 1)));
    while (cr_next_round()) {
    }
    cr_wait_for_work(work);
}
