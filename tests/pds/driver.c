/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Drives a clock that the machine has. In its registers, at 1 GiB, it finds a word as the instance
 * before it left it, and says so: no register is ever cleared. aarch64: a PL031. x86_64: a HPET. */
#include <cellreap/client.h>

#ifdef __aarch64__
enum { WORD = 0x4 / 4, ID = 0xfe0 / 4, ID_IS = 0x31, ID_MASK = 0xff };
#else
enum { WORD = 0x108 / 4, ID = 0x4 / 4, ID_IS = 0, ID_MASK = 0 };
#endif

static volatile uint32_t *const registers =
    (volatile uint32_t *)((uintptr_t)1 << CR_REGION_SPAN_BITS);

void cr_main(void)
{
    cr_line line = {0};
    cr_say_check("device", registers[ID] & ID_MASK, ID_IS);
    cr_say(cr_put_number(cr_put(&line, "found "), registers[WORD]));
    registers[WORD]++;
    while (cr_next_round()) {
        cr_checkpoint();
    }
    cr_wait_for_work(0);
}
