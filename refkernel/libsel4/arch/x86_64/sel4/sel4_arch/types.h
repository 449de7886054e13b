/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REFKERNEL_SEL4_ARCH_TYPES_H
#define REFKERNEL_SEL4_ARCH_TYPES_H

typedef seL4_CPtr seL4_X64_PML4, seL4_X86_PDPT, seL4_X86_PageDirectory, seL4_X86_PageTable,
    seL4_X86_Page, seL4_X86_ASIDPool, seL4_X86_ASIDControl, seL4_X86_IOPortControl, seL4_X86_IOPort;

typedef enum {
    seL4_X86_Default_VMAttributes = 0,
    seL4_X86_WriteBack = 0,
    seL4_X86_WriteThrough = 1,
    seL4_X86_CacheDisabled = 2,
    seL4_X86_Uncacheable = 3
} seL4_X86_VMAttributes;

typedef struct seL4_UserContext_ {
    seL4_Word rip, rsp, rflags, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14,
        r15;
    seL4_Word fs_base, gs_base;
} seL4_UserContext;

#endif
