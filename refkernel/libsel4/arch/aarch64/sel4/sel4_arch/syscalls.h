/* SPDX-License-Identifier: BSD-2-Clause
 *
 * x7: system call; x0: capability and badge; x1: message info; x2 to x5: message words. */
#ifndef REFKERNEL_SEL4_ARCH_SYSCALLS_H
#define REFKERNEL_SEL4_ARCH_SYSCALLS_H

LIBSEL4_INLINE_FUNC void refkernel_syscall(seL4_Syscall_ID call, struct refkernel_registers *r)
{
    register seL4_Word cap __asm__("x0") = r->cap;
    register seL4_Word info __asm__("x1") = r->info;
    register seL4_Word mr0 __asm__("x2") = r->mr[0];
    register seL4_Word mr1 __asm__("x3") = r->mr[1];
    register seL4_Word mr2 __asm__("x4") = r->mr[2];
    register seL4_Word mr3 __asm__("x5") = r->mr[3];
    register seL4_Word number __asm__("x7") = (seL4_Word)(long)call;
    __asm__ volatile("svc #0"
                     : "+r"(cap), "+r"(info), "+r"(mr0), "+r"(mr1), "+r"(mr2), "+r"(mr3)
                     : "r"(number)
                     : "memory");
    r->cap = cap;
    r->info = info;
    r->mr[0] = mr0;
    r->mr[1] = mr1;
    r->mr[2] = mr2;
    r->mr[3] = mr3;
}

#endif
