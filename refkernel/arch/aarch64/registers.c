/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The meaning of each register. */
#include "kernel.h"

enum { SYSCALL_BYTES = 4 }; /* length of the system call instruction */

#define FLAGS_USER 0xf0000000ul /* N Z C V; the rest 0: EL0, 64-bit, no exception masked */

void arch_sanitise(struct context *context)
{
    context->user.spsr &= FLAGS_USER;
}

void arch_advance(struct context *context)
{
    context->user.pc += SYSCALL_BYTES;
}

word *arch_instruction(struct context *context)
{
    return &context->user.pc;
}

word *arch_cap_register(struct context *context)
{
    return &context->user.x0;
}

word *arch_info_register(struct context *context)
{
    return &context->user.x1;
}

word *arch_message_register(struct context *context, word i)
{
    return &context->user.x2 + i;
}

word *arch_fault_register(struct context *context, word label, word i)
{
    seL4_UserContext *u = &context->user;
    word *const call[] = {&u->x0, &u->x1, &u->x2, &u->x3, &u->x4,  &u->x5,
                          &u->x6, &u->x7, &u->pc, &u->sp, &u->x30, &u->spsr};
    word *const exception[] = {&u->pc, &u->sp, &u->spsr};
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
    words[seL4_UnknownSyscall_Syscall] = context->user.x7;
    return seL4_UnknownSyscall_Length;
}

void arch_start(struct context *context, word entry, word argument)
{
    context->user.pc = entry;
    context->user.x0 = argument;
}
