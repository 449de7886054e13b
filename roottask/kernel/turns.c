/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Turn threads. See turns.h. */
#include "turns.h"
#include "kernel/arch/arch.h"
#include "untyped.h"

enum { PRIORITIES = CR_PRIORITY_MAX + 1, STACK = 512 };

typedef struct turn_thread {
    seL4_CPtr ask; /* its notification; 0: there is no such turn thread */
    volatile uint64_t
        begun; /* how often it gave up the processor; written only by the turn thread */
    volatile uint64_t count; /* how often it came back; written only by the turn thread */
    uint64_t seen;           /* it has answered when it has counted further */
    int asked;
    volatile int tells; /* it signals the main thread when it counts */
} turn_thread;

static turn_thread threads[PRIORITIES];
static _Alignas(16) char stacks[PRIORITIES][STACK];
static seL4_CPtr to_main;

/* Uses no IPC buffer: see turns.h. */
_Noreturn void cr_turns_main(uint64_t index)
{
    for (;;) {
        cr_wait_for(threads[index].ask);
        /* Who is to be told from here on is told when the turn thread has yielded once more. */
        const int tells = threads[index].tells;
        threads[index].begun++;
        seL4_Yield();
        threads[index].count++;
        if (tells) {
            threads[index].tells = 0;
            seL4_Signal(to_main);
        }
    }
}

void cr_turns_init(const uint8_t *wanted, seL4_CPtr signal)
{
    seL4_CPtr tcbs[PRIORITIES];
    seL4_CPtr scs[PRIORITIES];
    uint64_t bytes = 0;
    uint32_t block;
    for (uint32_t i = 0; i < PRIORITIES; i++) {
        bytes += wanted[i] ? (1ull << seL4_TCBBits) + (1ull << seL4_NotificationBits) +
                                 ((uint64_t)CR_MCS << CR_SC_BITS)
                           : 0;
    }
    to_main = signal;
    if (bytes == 0) {
        return;
    }
    if (cr_untyped_take(cr_bits_for(bytes), 0, &block) != CR_OK) {
        cr_panic("no kernel memory for the turn threads", bytes);
    }
    /* The larger objects first: then all are aligned without gaps. */
    for (uint32_t i = 0; i < PRIORITIES; i++) {
        tcbs[i] = wanted[i] ? cr_pool_make(cr_untyped_cap(block), seL4_TCBObject,
                                           "no TCB for a turn thread")
                            : 0;
    }
    for (uint32_t i = 0; i < PRIORITIES; i++) {
        scs[i] = wanted[i] ? cr_make_sc(cr_untyped_cap(block)) : 0;
    }
    for (uint32_t i = 0; i < PRIORITIES; i++) {
        if (wanted[i]) {
            threads[i].ask = cr_pool_make(cr_untyped_cap(block), seL4_NotificationObject,
                                          "no notification for a turn thread");
            cr_start_thread(tcbs[i], scs[i], i, cr_turns_start, stacks[i] + STACK, i);
        }
    }
}

void cr_turns_ask(uint32_t priority)
{
    turn_thread *w = priority < PRIORITIES ? &threads[priority] : 0;
    if (w != 0 && w->ask != 0 && !w->asked) {
        w->seen = w->begun; /* One that has yielded already must yield once more. */
        w->asked = 1;
        cr_signal(w->ask);
    }
}

int cr_turns_answered(uint32_t priority)
{
    turn_thread *w = priority < PRIORITIES ? &threads[priority] : 0;
    if (w == 0 || !w->asked || w->count <= w->seen) {
        return 0;
    }
    w->asked = 0;
    return 1;
}

int cr_turns_tell(uint32_t priority)
{
    turn_thread *w = priority < PRIORITIES ? &threads[priority] : 0;
    if (w == 0 || w->ask == 0) {
        return 0;
    }
    w->tells = 1;
    seL4_Signal(w->ask);
    return 1;
}

int cr_turns_tells(uint32_t priority)
{
    return priority < PRIORITIES && threads[priority].tells;
}
