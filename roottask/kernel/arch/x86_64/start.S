/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry point of the root task. The kernel passes the address of the boot information in
 * rdi. The code here must set the stack pointer before it calls C and must keep rdi. */
    .section .text.start, "ax", @progbits
    .globl _start
    .type _start, @function
_start:
    leaq cr_root_stack_top(%rip), %rsp
    xorl %ebp, %ebp
    call cr_root_main
1:  jmp 1b
    .section .note.GNU-stack, "", @progbits
