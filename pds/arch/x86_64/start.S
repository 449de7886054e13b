/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry of a PD, on the stack that the root task gave it, and instructions that make it
 * fault. */
    .section .text.start, "ax", @progbits
    .globl _start
    .type _start, @function
_start:
    xorl %ebp, %ebp
    call cr_pd_begin
1:  jmp 1b

    .section .text
/* An instruction that no x86_64 CPU has. */
    .globl cr_illegal_instruction
    .type cr_illegal_instruction, @function
cr_illegal_instruction:
    ud2
    ret

/* A system call that no seL4 kernel has. */
    .globl cr_unknown_syscall
    .type cr_unknown_syscall, @function
cr_unknown_syscall:
    pushq %rbx
    movq %rsp, %rbx
    movq %rdi, %rdx
    syscall
    movq %rbx, %rsp
    popq %rbx
    ret
    .section .note.GNU-stack, "", @progbits
