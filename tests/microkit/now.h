/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The counter that all PDs can read. */
#ifndef NOW_H
#define NOW_H

static unsigned long now(void)
{
    unsigned long at;
#ifdef __riscv
    __asm__ volatile("rdtime %0" : "=r"(at));
#else
    __asm__ volatile("isb; mrs %0, cntpct_el0" : "=r"(at));
#endif
    return at;
}

#endif
