/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry points of the root task's further threads. A thread begins with its stack and, in rdi,
 * the argument of its C function. */

    /* A thread that enters at `start` runs `main`, if the root task has that function. */
    .macro entry start, main
    .section .text.\start, "ax", @progbits
    .weak \main
    .globl \start
    .type \start, @function
\start:
    xorl %ebp, %ebp
    call \main
1:  jmp 1b
    .endm

    entry cr_idle_start, cr_idle_main
    entry cr_turns_start, cr_turns_main
    entry cr_writer_start, cr_writer_main
    entry cr_pump_start, cr_pump_main
    entry cr_worker_begin, cr_worker_main
    entry cr_sleeper_begin, cr_sleeper_main
    .section .note.GNU-stack, "", @progbits
