/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The meaning of each register. */
#include "kernel.h"

enum { SYSCALL_BYTES = 2 }; /* length of the system call instruction */
/* FLAGS_USER: CF PF AF ZF SF TF DF OF AC */
enum { FLAG_ALWAYS = 0x2, FLAG_INTERRUPT = 0x200, FLAGS_USER = 0x40dd5 };

void arch_sanitise(struct context *context)
{
    seL4_UserContext *user = &context->user;
    user->rflags = (user->rflags & FLAGS_USER) | FLAG_ALWAYS | FLAG_INTERRUPT;
    /* A non-canonical address would fault inside the kernel on the return to the user. */
    word *const addresses[] = {&user->rip, &user->fs_base, &user->gs_base};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        if (*addresses[i] > seL4_UserTop) {
            *addresses[i] = 0;
        }
    }
}

void arch_advance(struct context *context)
{
    context->user.rip += SYSCALL_BYTES;
}

word *arch_instruction(struct context *context)
{
    return &context->user.rip;
}

word *arch_cap_register(struct context *context)
{
    return &context->user.rdi;
}

word *arch_info_register(struct context *context)
{
    return &context->user.rsi;
}

word *arch_message_register(struct context *context, word i)
{
    seL4_UserContext *user = &context->user;
    word *const registers[] = {&user->r10, &user->r8, &user->r9, &user->r15};
    return registers[i];
}

word *arch_fault_register(struct context *context, word label, word i)
{
    seL4_UserContext *u = &context->user;
    word *const call[] = {&u->rax, &u->rbx, &u->rcx, &u->rdx, &u->rsi, &u->rdi,
                          &u->rbp, &u->r8,  &u->r9,  &u->r10, &u->r11, &u->r12,
                          &u->r13, &u->r14, &u->r15, &u->rip, &u->rsp, &u->rflags};
    word *const exception[] = {&u->rip, &u->rsp, &u->rflags};
    if (label == seL4_Fault_UnknownSyscall) {
        return i < sizeof(call) / sizeof(call[0]) ? call[i] : 0;
    }
    return i < sizeof(exception) / sizeof(exception[0]) ? exception[i] : 0;
}

word arch_unknown_syscall(struct context *context, word *words)
{
    for (word i = 0; i < seL4_UnknownSyscall_Syscall; i++) {
        words[i] = *arch_fault_register(context, seL4_Fault_UnknownSyscall, i);
    }
    words[seL4_UnknownSyscall_Syscall] = context->user.rdx;
    return seL4_UnknownSyscall_Length;
}

void arch_start(struct context *context, word entry, word argument)
{
    context->user.rip = entry;
    context->user.rdi = argument;
}
