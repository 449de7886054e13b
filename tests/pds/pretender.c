/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A background computation whose registers are for ever those of a thread that calls the server. */
#include <cellreap/client.h>

static _Noreturn void pretend(uint64_t slot)
{
    const uint64_t call = (uint64_t)seL4_SysCall;
#ifdef __x86_64__
    __asm__ volatile("1: jmp 1b" : : "d"(call), "D"(slot));
#else
    register uint64_t x0 __asm__("x0") = slot;
    register uint64_t x7 __asm__("x7") = call;
    __asm__ volatile("1: b 1b" : : "r"(x0), "r"(x7));
#endif
    __builtin_unreachable();
}

void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    if (cr_connect(cr_info()->requests[0], 1, &slot, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    pretend(slot);
}
