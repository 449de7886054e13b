/* SPDX-License-Identifier: BSD-2-Clause
 *
 * rdx: system call; rdi: capability and badge; rsi: message info; r10, r8, r9, r15: message
 * words. The system call instruction overwrites rcx and r11. */
#ifndef REFKERNEL_SEL4_ARCH_SYSCALLS_H
#define REFKERNEL_SEL4_ARCH_SYSCALLS_H

LIBSEL4_INLINE_FUNC void refkernel_syscall(seL4_Syscall_ID call, struct refkernel_registers *r)
{
    register seL4_Word mr0 __asm__("r10") = r->mr[0];
    register seL4_Word mr1 __asm__("r8") = r->mr[1];
    register seL4_Word mr2 __asm__("r9") = r->mr[2];
    register seL4_Word mr3 __asm__("r15") = r->mr[3];
    __asm__ volatile("syscall"
                     : "+D"(r->cap), "+S"(r->info), "+r"(mr0), "+r"(mr1), "+r"(mr2), "+r"(mr3)
                     : "d"((seL4_Word)(long)call)
                     : "rcx", "r11", "memory");
    r->mr[0] = mr0;
    r->mr[1] = mr1;
    r->mr[2] = mr2;
    r->mr[3] = mr3;
}

#endif
