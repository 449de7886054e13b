/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry point of the root task. The kernel passes the address of the boot information in
 * a0. The code here must set the stack pointer before it calls C and must keep a0. */
    .section .text.start, "ax", %progbits
    .globl _start
    .type _start, %function
_start:
    la sp, cr_root_stack_top
    mv s0, zero
    mv ra, zero
    call cr_root_main
1:  j 1b
    .section .note.GNU-stack, "", %progbits
