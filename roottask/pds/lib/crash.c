/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Real ways to fail, one a kind of fault that the kernel reports. */
#include "client.h"
#include <cellreap/image.h>

void cr_illegal_instruction(void);
void cr_unknown_syscall(void);

/* Nothing is mapped there. */
#define NOWHERE ((volatile uint64_t *)0xdead000)

void cr_crash(uint32_t how)
{
    seL4_Word badge;
    switch ((cr_crash_how)how) {
    case CR_CRASH_PAGE_FAULT:
        *NOWHERE = 1;
        break;
    case CR_CRASH_CAP_FAULT:
        /* Receiving needs a capability that one can receive from; this slot is beyond the CSpace. */
        (void)seL4_Recv((seL4_CPtr)1 << 40, &badge);
        break;
    case CR_CRASH_ILLEGAL_INSTRUCTION:
        cr_illegal_instruction();
        break;
    case CR_CRASH_UNKNOWN_SYSCALL:
        cr_unknown_syscall();
        break;
    case CR_CRASH_EXIT:
        cr_exit(42);
    case CR_CRASH_TERMINATE:
    case CR_CRASH_COUNT:
        break;
    }
}
