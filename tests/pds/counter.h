/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The counter of the CPU. Under -icount, it counts as instructions do, but on riscv64 in larger
 * steps. */
#ifndef COUNTER_H
#define COUNTER_H

#include <cellreap/client.h>

static inline uint64_t counter(void)
{
#ifdef __aarch64__
    uint64_t count;
    __asm__ volatile("isb\n\tmrs %0, cntpct_el0" : "=r"(count));
    return count;
#elif defined(__riscv)
    uint64_t count;
    __asm__ volatile("rdtime %0" : "=r"(count));
    return count;
#else
    return __builtin_ia32_rdtsc();
#endif
}

#endif
