/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry of a PD, on the stack that the root task gave it, and instructions that make it
 * fault. */
    .section .text.start, "ax", %progbits
    .globl _start
    .type _start, %function
_start:
    mv s0, zero
    call cr_pd_begin
1:  j 1b

    .section .text, "ax", %progbits
/* An instruction that is illegal on every RISC-V CPU. */
    .globl cr_illegal_instruction
    .type cr_illegal_instruction, %function
cr_illegal_instruction:
    unimp
    ret

/* A system call that no seL4 kernel has. */
    .globl cr_unknown_syscall
    .type cr_unknown_syscall, %function
cr_unknown_syscall:
    mv a7, a0
    ecall
    ret
    .section .note.GNU-stack, "", %progbits
