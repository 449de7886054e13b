/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The sleeper. See sleeper.h. The time begins when the thread is restarted: with the sporadic flag,
 * the kernel counts the period from there, and not from when the thread runs. So nothing is lost
 * while the main thread goes on. The budget is as long as the period allows: the kernel enters no
 * system call on the last 20 us of it, so a thread with less would never come to yield. */
#include "sleeper.h"
#include "arch/arch.h"
#include "untyped.h"

#define NS_PER_S 1000000000ull

enum {
    STACK = 512,
    BLOCK_BITS = CR_BLOCK_MIN_BITS,     /* for the thread and its time */
    SHORTEST_US = 5 * CR_BUDGET_MIN_US, /* time enough to yield in */
    NS_PER_US = 1000,
    PC_AND_SP = 2 /* of the registers, the first ones */
};
_Static_assert((1 << seL4_TCBBits) + (1 << CR_SC_BITS) <= 1 << BLOCK_BITS, "both fit");

static _Alignas(16) char stack[STACK];

static struct {
    seL4_CPtr tcb;
    seL4_CPtr sc;
    seL4_CPtr signal;
    uint64_t set;     /* ns */
    uint64_t started; /* of the counter */
    volatile int over;
} sleeper;

/* Uses no IPC buffer. The kernel begins it anew for each time that is set. */
_Noreturn void cr_sleeper_main(void)
{
    seL4_Yield();
    sleeper.over = 1;
    seL4_Signal(sleeper.signal);
    for (;;) {
        (void)seL4_TCB_Suspend(sleeper.tcb);
    }
}

cr_status cr_sleeper_init(seL4_CPtr notification, seL4_Word badge)
{
    uint32_t block;
    if (cr_untyped_take(BLOCK_BITS, 0, &block) != CR_OK) {
        return CR_ERR_MEMORY;
    }
    sleeper.tcb = cr_pool_make(cr_untyped_cap(block), seL4_TCBObject, "no TCB for the sleeper");
    sleeper.sc = cr_make_sc(cr_untyped_cap(block));
    sleeper.signal = cr_pool_cap();
    cr_must(cr_mint(cr_slot_at(sleeper.signal), cr_slot_at(notification), seL4_CanWrite, badge),
            "the sleeper has no signal");
    cr_start_thread(sleeper.tcb, sleeper.sc, seL4_MaxPrio, cr_sleeper_begin, stack + STACK, 0);
    cr_must(seL4_TCB_Suspend(sleeper.tcb), "the sleeper does not stop");
    return CR_OK;
}

uint64_t cr_sleeper_start(uint64_t ns)
{
    const uint64_t us = (ns + NS_PER_US - 1) / NS_PER_US;
    const uint32_t period = us > SHORTEST_US ? (uint32_t)us : SHORTEST_US;
    seL4_UserContext registers;
    cr_arch_start_registers(&registers, (seL4_Word)cr_sleeper_begin, (seL4_Word)stack + STACK);
    for (int calls = 0; calls < 3; calls++) {
        cr_count_call(CR_CALL_TIMER);
    }
    /* While it can run, the kernel would keep the end of its earlier period. */
    cr_must(seL4_TCB_Suspend(sleeper.tcb), "the sleeper does not stop");
    cr_must(cr_give_sporadic_time(sleeper.sc, period), "the sleeper gets no time");
    sleeper.over = 0;
    sleeper.set = (uint64_t)period * NS_PER_US;
    sleeper.started = cr_arch_boot_counter();
    cr_must(seL4_TCB_WriteRegisters(sleeper.tcb, 1, 0, PC_AND_SP, &registers),
            "the sleeper does not start");
    return sleeper.set;
}

uint64_t cr_sleeper_elapsed(void)
{
    const uint64_t hz = cr_arch_counter_hz();
    if (sleeper.over || hz == 0) {
        return sleeper.over ? sleeper.set : 0;
    }
    const uint64_t whole = (sleeper.set * hz + NS_PER_S - 1) / NS_PER_S;
    const uint64_t ticks = cr_arch_boot_counter() - sleeper.started;
    return ticks < whole ? ticks * NS_PER_S / hz : sleeper.set;
}
