/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry points of the root task's threads. The kernel passes the address of the boot
 * information in x0. The code here must set the stack pointer before it calls C and must keep
 * x0. */
    .section .text.start, "ax", %progbits
    .globl _start
    .type _start, %function
_start:
    adrp x1, cr_root_stack_top
    add x1, x1, :lo12:cr_root_stack_top
    mov sp, x1
    mov x29, xzr
    bl cr_root_main
1:  b 1b

    .weak cr_idle_main
    .globl cr_idle_start
    .type cr_idle_start, %function
cr_idle_start:
    mov x29, xzr
    bl cr_idle_main
1:  b 1b

    .weak cr_witness_main
    .globl cr_witness_start
    .type cr_witness_start, %function
cr_witness_start:
    mov x29, xzr
    bl cr_witness_main
1:  b 1b
    .section .note.GNU-stack, "", %progbits
