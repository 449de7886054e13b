/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry point of the boot loader, and the parts that cannot be written in C. See loader.h. */

#define SATP_SV39 8
#define COUNTERS 7 /* cycles, time, instructions */

    .option norelax
    .section .text.start, "ax", %progbits
    .globl _start
    .type _start, %function
_start:
    csrw sie, zero
    csrw satp, zero
    mv s0, a1
    la t0, fault
    csrw stvec, t0
    la sp, stack_top
    la t0, cr_loader_bss
    la t1, cr_loader_end
1:  sd zero, 0(t0)
    addi t0, t0, 8
    bltu t0, t1, 1b
    call cr_loader_map
    la t0, cr_tables
    srli t0, t0, 12
    li t1, SATP_SV39 << 60
    or t0, t0, t1
    sfence.vma
    csrw satp, t0
    sfence.vma
    li t0, COUNTERS /* user level may read them: the kernel leaves that to who starts it */
    csrw scounteren, t0
    mv a0, s0
    li a1, 0
    call cr_loader_main

    .section .text, "ax", %progbits
/* Caches are coherent. */
    .globl cr_loader_clean
    .type cr_loader_clean, %function
cr_loader_clean:
    fence rw, rw
    ret

    .globl cr_loader_enter
    .type cr_loader_enter, %function
cr_loader_enter:
    mv t0, a6
    mv a6, zero /* the hart, and the number of the core: of kernels for several cores */
    mv a7, zero
    fence rw, rw
    fence.i
    jr t0

    .balign 4
fault:
    csrr a0, scause
    csrr a1, sepc
    csrr a2, stval
    call cr_loader_fault

    .section .bss.stack, "aw", %nobits
    .balign 16
    .skip 4096
stack_top:
    .section .note.GNU-stack, "", %progbits
