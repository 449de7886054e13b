/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that makes a thing and deletes it, again and again, until an operation is refused. It prints
 * how often this succeeded, and the last result.
 *
 * Argument 0: what it makes:
 *   0  PDs
 *   1  spaces
 *   2  resources
 * Argument 1: how often at most. */
#include "storage.h"

enum { PDS = 0, SPACES = 1 };

static uint32_t space;

static cr_result make(uint64_t *made)
{
    uint64_t program[CR_NAME_WORDS] = {0x72656c6469u}; /* "idler" */
    uint64_t results[2] = {0};
    uint32_t number = 0;
    cr_result result;
    if (cr_info()->args[0] == PDS) {
        result = cr_call_root(CR_OP_SPAWN, program, CR_NAME_WORDS, results, 2);
        number = (uint32_t)results[0];
    } else if (cr_info()->args[0] == SPACES) {
        result = cr_create_space("CYCLE", "cycled", &number);
    } else {
        result = cr_create_resource(space, &number);
    }
    *made = number;
    return result;
}

static cr_result delete(uint64_t made)
{
    uint64_t arguments[2] = {cr_info()->args[0] == SPACES ? made : space, made};
    if (cr_info()->args[0] == PDS) {
        return cr_call_root_with_pd(CR_OP_TERMINATE, (uint32_t)made, 0, 0, 0, 0);
    }
    return cr_info()->args[0] == SPACES ? cr_call_root(CR_OP_DELETE_SPACE, arguments, 1, 0, 0)
                                        : cr_call_root(CR_OP_DELETE_RESOURCE, arguments, 2, 0, 0);
}

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    cr_line line = {0};
    uint32_t count = 0;
    cr_result result = CR_RESULT_OK;
    if (info->n_spaces > 0 &&
        cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    while (count < info->args[1]) {
        uint64_t made;
        result = make(&made);
        if (result == CR_RESULT_OK) {
            result = delete (made);
        }
        if (result != CR_RESULT_OK) {
            break;
        }
        count++;
        cr_poll_work(work);
    }
    cr_say(cr_put_number(cr_put(cr_put_number(cr_put(&line, "made: "), count), ", then result "),
                         result));
    while (cr_next_round()) {
        cr_poll_work(work);
    }
    cr_wait_for_work(work);
}
