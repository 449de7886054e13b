/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Watches memory for some seconds of the clock at 1 GiB, and says whether anybody has written
 * there: that at 3 GiB, and the buffers. Argument 0: the offset of a word of the buffers that need
 * not be 0. Argument 1: where they are, in GiB. */
#include <cellreap/client.h>

enum { SECONDS = 3, WORDS = 2048 };

static uint32_t count_written(uint32_t gib, uint64_t but)
{
    const volatile uint64_t *const words =
        (const volatile uint64_t *)((uintptr_t)gib << CR_REGION_SPAN_BITS);
    uint32_t count = 0;
    for (uint32_t i = 0; i < WORDS; i++) {
        count += words[i] != 0 && i * sizeof(words[0]) != but ? 1u : 0u;
    }
    return count;
}

static uint32_t count_buffers(void)
{
    return count_written(cr_info()->args[1], cr_info()->args[0]);
}

void cr_main(void)
{
    const volatile uint32_t *const clock =
        (const volatile uint32_t *)((uintptr_t)1 << CR_REGION_SPAN_BITS);
    cr_say_check("new memory", count_buffers() + count_written(3, ~0ull), 0);
    for (const uint32_t begin = *clock; *clock - begin < SECONDS;) {
    }
    cr_line line = {0};
    cr_say(cr_put(&line, count_buffers() == 0 ? "buffers clean" : "buffers written"));
    cr_say_check("letters", count_written(3, ~0ull), 0);
    while (cr_next_round()) {
    }
    cr_wait_for_work(0);
}
