/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Has regions of the configuration, the first at 1 GiB and perhaps a second at 2 GiB, or at the
 * pages of arguments 2 and 3. It counts in word 0 of both how often it, or who shares them, was
 * made, and says what it finds: the count, and the epoch in word 1. Argument 0: 2 if it must not
 * write into the second one; 3 if it has none. Argument 1: the number of another word of both,
 * which it says and sets to 0. */
#include <cellreap/client.h>

enum { COUNT = 0, EPOCH = 1, READS = 2, ALONE = 3 };

static void look(const char *name, uint32_t number, int writes)
{
    const uint64_t page = cr_info()->args[1 + number];
    volatile uint64_t *words =
        (volatile uint64_t *)(page != 0 ? (uintptr_t)page << CR_PAGE_BITS
                                        : (uintptr_t)number << CR_REGION_SPAN_BITS);
    const uint64_t count = words[COUNT];
    cr_line line = {0};
    if (writes) {
        words[COUNT] = count + 1;
    }
    const uint64_t more = cr_info()->args[1];
    cr_put_number(cr_put(&line, name), count);
    if (more != 0) {
        cr_put_number(cr_put(&line, ", more "), words[more]);
        words[more] = 0;
    }
    cr_say(cr_put_number(cr_put(&line, ", epoch "), words[EPOCH]));
}

void cr_main(void)
{
    const uint64_t role = cr_info()->args[0];
    look("first ", 1, 1);
    if (role != ALONE) {
        look("second ", 2, role != READS);
    }
    while (cr_next_round()) {
        cr_checkpoint();
    }
    cr_wait_for_work(0);
}
