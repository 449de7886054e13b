/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry point of the root task. The kernel passes the address of the boot information in
 * x0. The code here must set the stack pointer before it calls C and must keep x0. */
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
    .section .note.GNU-stack, "", %progbits
