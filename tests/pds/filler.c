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
 *   5  spaces, each of a type of its own
 *   6  tickets that are not over: it creates a PD, gives it its own request and terminates it, so
 *      that the server of its first request is owed a notice
 * Argument 1: how many it tries to make.
 * Argument 2: the first letter of the names of its spaces; 0: "s".
 * Argument 3: half the number of resources that it makes for edges between them; 0: 128. For
 *   subscriptions: with how many handlers it subscribes by turns; 0: with none. */
#include "storage.h"

enum { PDS = 0, SPACES = 1, RESOURCES = 2, SUBSCRIPTIONS = 3, EDGES = 4, TYPES = 5, TICKETS = 6 };

/* For EDGES: each of the first half of the resources is mapped to each of the second half. */
enum { HALF = 128 };

static uint32_t half;
static uint32_t handlers;
static uint32_t kind;
static uint32_t space;
static uint64_t last; /* PD: its slot; space: its number; resource: its object */

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

static cr_result spawn(uint32_t *slot)
{
    uint64_t program[CR_NAME_WORDS] = {0x72656c6469u}; /* "idler" */
    uint64_t results[2] = {0};
    cr_result result = cr_call_root(CR_OP_SPAWN, program, CR_NAME_WORDS, results, 2);
    *slot = (uint32_t)results[0];
    return result;
}

/* Makes a ticket that is not over. */
static cr_result make_ticket(void)
{
    static uint32_t request; /* slot of the request; 0: not connected */
    static uint32_t asked;   /* its space */
    cr_ticket_info info;
    uint32_t child;
    uint64_t shared[1];
    cr_result result = CR_RESULT_OK;
    if (request == 0) {
        result = cr_connect(cr_info()->requests[0], 1, &request, &asked);
    }
    if (result == CR_RESULT_OK) {
        result = spawn(&child);
    }
    if (result == CR_RESULT_OK) {
        result =
            cr_call_root_with_pd(CR_OP_SHARE_REQUEST, child, (uint64_t[]){asked}, 1, shared, 1);
    }
    if (result == CR_RESULT_OK) {
        result = cr_terminate(child, &info);
    }
    /* The child is gone for certain when the root task says so: its slot is empty then. */
    cr_poll_work(work);
    return result;
}

static cr_result make(uint32_t i)
{
    /* Names and types: a first letter and the number in three letters from 'a' or 'A' on. */
    const char letters[3] = {(char)(i / 676 % 26), (char)(i / 26 % 26), (char)(i % 26)};
    const char first = cr_info()->args[2] != 0 ? (char)cr_info()->args[2] : 's';
    const char name[6] = {first, (char)('a' + letters[0]), (char)('a' + letters[1]),
                          (char)('a' + letters[2])};
    const char type[6] = {(char)(first - 'a' + 'A'), (char)('A' + letters[0]),
                          (char)('A' + letters[1]), (char)('A' + letters[2])};
    uint32_t number = 0;
    cr_result result;
    if (kind == PDS) {
        result = spawn(&number);
    } else if (kind == TICKETS) {
        result = make_ticket();
    } else if (kind == SPACES || kind == TYPES) {
        result = cr_create_space(kind == TYPES ? type : "FILL", name, &number);
    } else if (kind == RESOURCES) {
        result = cr_create_resource(space, &number);
    } else if (kind == SUBSCRIPTIONS) {
        result = cr_subscribe_as(0, 0, handlers == 0 ? 0 : i % handlers);
    } else {
        result = cr_map(space, 1 + i / half, space, 1 + half + i % half);
        number = i;
    }
    last = result == CR_RESULT_OK ? number : last;
    return result;
}

static cr_result give_back(void)
{
    int made_space = kind == SPACES || kind == TYPES;
    uint64_t arguments[2] = {made_space ? last : space, last};
    uint64_t map[4] = {space, 1 + last / half, space, 1 + half + last % half};
    if (kind == PDS) {
        return cr_call_root_with_pd(CR_OP_TERMINATE, (uint32_t)last, 0, 0, 0, 0);
    }
    if (kind == SUBSCRIPTIONS) {
        return cr_unsubscribe(0, 0);
    }
    if (kind == EDGES) {
        return cr_call_root(CR_OP_UNMAP, map, 4, 0, 0);
    }
    return made_space ? cr_call_root(CR_OP_DELETE_SPACE, arguments, 1, 0, 0)
                      : cr_call_root(CR_OP_DELETE_RESOURCE, arguments, 2, 0, 0);
}

void cr_main(void)
{
    cr_line line = {0};
    uint32_t made = 0;
    cr_result result = CR_RESULT_OK;
    const cr_startup *info = cr_info();
    kind = info->args[0];
    half = info->args[3] != 0 ? (uint32_t)info->args[3] : HALF;
    handlers = (uint32_t)info->args[3];
    if (info->n_spaces > 0 &&
        cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    for (uint32_t i = 0; kind == EDGES && i < 2 * half; i++) {
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
    if (kind == TICKETS) { /* none can be given back */
        while (cr_next_round()) {
        }
        cr_wait_for_work(work);
    }
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
