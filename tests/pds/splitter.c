/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Argument 0: 1: it allocates as many small memory objects as it may, lets all of them go, and does
 * the same with larger ones, and larger ones. 0: it allocates one memory object, and lets it go,
 * when the other one has done all that. It says what it was refused. */
#include <cellreap/client.h>

enum { OBJECTS = 1024, SIZES = 5 };

static uint32_t space, objects[OBJECTS];

static cr_result allocate_all(uint32_t pages, uint32_t *count)
{
    cr_result result = CR_RESULT_OK;
    for (*count = 0; *count < OBJECTS && result == CR_RESULT_OK; *count += 1) {
        uint32_t its_space;
        result = cr_allocate(pages, 0, &its_space, &objects[*count]);
        if (result != CR_RESULT_OK) {
            break;
        }
        space = its_space;
    }
    return result;
}

static void release_all(uint32_t count)
{
    uint32_t left;
    for (uint32_t i = 0; i < count; i++) {
        if (cr_release(space, objects[i], &left) != CR_RESULT_OK) {
            cr_say_text("BROKEN: release");
        }
    }
}

static void split(void)
{
    uint32_t count;
    for (uint32_t i = 0, pages = 1; i < SIZES; i++, pages = 2 * pages + 1) {
        cr_line line = {0};
        const cr_result result = allocate_all(pages, &count);
        cr_put_number(cr_put(&line, "pages "), pages);
        cr_put_number(cr_put(&line, " objects "), count);
        cr_say(cr_put_number(cr_put(&line, " then "), result));
        release_all(count);
    }
}

void cr_main(void)
{
    uint32_t object, left;
    if (cr_info()->args[0] != 0) {
        split();
    }
    (void)cr_next_round();
    if (cr_info()->args[0] == 0) {
        cr_say_check("allocate", cr_allocate(1, 0, &space, &object), CR_RESULT_OK);
        cr_say_check("release", cr_release(space, object, &left), CR_RESULT_OK);
    }
    while (cr_next_round()) {
    }
    cr_wait_for_work(0);
}
