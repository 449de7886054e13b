/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry points of the root task's further threads. A thread begins with its stack and, in x0,
 * the argument of its C function. */
    .section .text, "ax", %progbits
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

    .weak cr_writer_main
    .globl cr_writer_start
    .type cr_writer_start, %function
cr_writer_start:
    mov x29, xzr
    bl cr_writer_main
1:  b 1b

    .weak cr_pump_main
    .globl cr_pump_start
    .type cr_pump_start, %function
cr_pump_start:
    mov x29, xzr
    bl cr_pump_main
1:  b 1b

    .weak cr_worker_main
    .globl cr_worker_begin
    .type cr_worker_begin, %function
cr_worker_begin:
    mov x29, xzr
    bl cr_worker_main
1:  b 1b
    .section .note.GNU-stack, "", %progbits
