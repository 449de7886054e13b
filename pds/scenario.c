/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a scenario asks of a PD: to tell how far its work is, and to crash at that point. Each
 * way to crash causes a real fault of a different kind, or another real failure. */
#include <cellreap/client.h>
#include <cellreap/image.h>

void cr_illegal_instruction(void);
void cr_unknown_syscall(uint64_t number);

void cr_crash(uint32_t how)
{
    seL4_Word badge;
    switch ((cr_crash_how)how) {
    case CR_CRASH_PAGE_FAULT:
        *(volatile uint64_t *)CR_STAGED_ADDRESS = 1;
        break;
    case CR_CRASH_CAP_FAULT:
        /* Receiving needs a capability with the right to receive. This slot is beyond the
         * CSpace. */
        (void)cr_recv((seL4_CPtr)1 << CR_STAGED_SLOT_BIT, &badge, CR_SLOT_REPLY);
        break;
    case CR_CRASH_ILLEGAL_INSTRUCTION:
        cr_illegal_instruction();
        break;
    case CR_CRASH_UNKNOWN_SYSCALL:
        cr_unknown_syscall(-(uint64_t)CR_STAGED_SYSCALL);
        break;
    case CR_CRASH_EXIT:
        cr_exit(CR_STAGED_CODE);
    case CR_CRASH_HANG:
        for (;;) {
        }
    case CR_CRASH_BLOCK:
        /* The PD throws signals away. Calls of clients do not arrive at this notification. */
        for (;;) {
            (void)seL4_Wait(CR_SLOT_NOTIFICATION, &badge);
        }
    case CR_CRASH_TERMINATE:
    case CR_CRASH_KILL:
    case CR_CRASH_FREEZE:
    case CR_CRASH_COUNT:
        break;
    }
}

static void obey(uint64_t order, uint64_t slot)
{
    if (order == CR_ORDER_TERMINATE) {
        (void)cr_call_root_with_pd(CR_OP_TERMINATE, (uint32_t)slot, 0, 0, 0, 0);
    } else if (order >= CR_ORDER_CRASH) {
        cr_crash((uint32_t)(order - CR_ORDER_CRASH));
    }
}

void cr_checkpoint(void)
{
    uint64_t argument = 0;
    uint64_t results[2];
    if (cr_call_root(CR_OP_CHECKPOINT, &argument, 1, results, 2) == CR_RESULT_OK) {
        obey(results[0], results[1]);
    }
}

int cr_next_round(void)
{
    uint64_t argument = 1;
    uint64_t results[2];
    if (cr_call_root(CR_OP_CHECKPOINT, &argument, 1, results, 2) != CR_RESULT_OK) {
        return 0;
    }
    obey(results[0], results[1]);
    return results[0] != CR_ORDER_STOP;
}
