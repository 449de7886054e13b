/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry of a PD, on the stack that the root task gave it, and instructions that make it
 * fault. */
    .section .text.start, "ax", %progbits
    .globl _start
    .type _start, %function
_start:
    mov x29, xzr
    bl cr_pd_begin
1:  b 1b

    .section .text, "ax", %progbits
/* An instruction that no aarch64 CPU has. */
    .globl cr_illegal_instruction
    .type cr_illegal_instruction, %function
cr_illegal_instruction:
    udf #0
    ret

/* A system call that no seL4 kernel has. */
    .globl cr_unknown_syscall
    .type cr_unknown_syscall, %function
cr_unknown_syscall:
    mov x7, x0
    svc #0
    ret
    .section .note.GNU-stack, "", %progbits
