/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry point of the boot loader, and the parts that cannot be written in C. See loader.h.
 * Until the MMU is on, the caches may be off, so the code must not rely on cached data. */

/* SCTLR_EL1: the bits that are one in Armv8.0, and the bits that turn on translation and caches. */
#define SCTLR_ONES 0x30d00800
#define SCTLR_MMU (1 << 0)
#define SCTLR_DATA_CACHE (1 << 2)
#define SCTLR_CODE_CACHE (1 << 12)
/* MAIR_EL1, by index: device nGnRnE, nGnRE, GRE; normal non-cacheable, write-back, write-through.
 * seL4 uses these indices and does not set the register. */
#define MAIR 0x0000aaff440c0400
/* TCR_EL1: 48-bit addresses and pages of 4 KiB in both halves; table walks through write-back
 * inner-shareable memory. The kernel does not change it. */
#define TCR_HALF(shift) \
    ((16 << (shift)) | (1 << (8 + (shift))) | (1 << (10 + (shift))) | (3 << (12 + (shift))))
#define TCR_LOW TCR_HALF(0)
#define TCR_HIGH (TCR_HALF(16) | (2 << 30))
#define TCR_ASID_16_BITS_SHIFT 36
#define TCR_PHYSICAL_SIZE_SHIFT 32
#define PHYSICAL_SIZE_48_BITS 5

    .macro address register, symbol
    adrp \register, \symbol
    add \register, \register, :lo12:\symbol
    .endm

    .section .text.start, "ax", %progbits
    .globl _start
    .type _start, %function
_start:
    msr daifset, #15
    mov x19, x0
    /* The code that started the loader may have left the loader's bytes in the data cache. The
     * cache may be off from now on, so the bytes are written back. */
    address x0, cr_loader_start
    address x1, cr_loader_end
    bl cr_loader_clean
    mrs x20, CurrentEL
    lsr x20, x20, #2
    cmp x20, #2
    b.lt in_el1
    b.gt 1f
    mrs x0, sctlr_el2
    bic x0, x0, #SCTLR_MMU
    bic x0, x0, #SCTLR_DATA_CACHE
    msr sctlr_el2, x0
    isb
    mov x0, #(1 << 31) /* EL1 is 64-bit and nothing in it is trapped */
    msr hcr_el2, x0
    mrs x0, cnthctl_el2
    orr x0, x0, #3 /* EL1 may use timer and counter */
    msr cnthctl_el2, x0
    msr cntvoff_el2, xzr
    mov x0, #0x33ff /* the bits that are one; EL1 may use floating point */
    msr cptr_el2, x0
    msr hstr_el2, xzr
    mrs x0, pmcr_el0 /* EL1 has all event counters */
    ubfx x0, x0, #11, #5
    msr mdcr_el2, x0
    msr vttbr_el2, xzr
    mrs x0, midr_el1
    msr vpidr_el2, x0
    mrs x0, mpidr_el1
    msr vmpidr_el2, x0
    mov x0, #0x3c5 /* EL1 with its own stack, interrupts off */
    msr spsr_el2, x0
    adr x0, in_el1
    msr elr_el2, x0
    ldr x0, =SCTLR_ONES
    msr sctlr_el1, x0
    isb
    eret
/* EL3 belongs to the firmware, which sets up the machine for the lower levels. */
1:  address x0, stack_top
    mov sp, x0
    mov x0, x20
    bl cr_loader_refuse

in_el1:
    ldr x0, =SCTLR_ONES
    msr sctlr_el1, x0
    isb
    address x0, vectors
    msr vbar_el1, x0
    msr spsel, #1
    address x0, stack_top
    mov sp, x0
    address x0, cr_loader_bss
    address x1, cr_loader_end
1:  stp xzr, xzr, [x0], #16
    cmp x0, x1
    b.lo 1b
    bl cr_loader_map

    ldr x0, =MAIR
    msr mair_el1, x0
    mrs x1, id_aa64mmfr0_el1
    and x2, x1, #15
    mov x3, #PHYSICAL_SIZE_48_BITS
    cmp x2, x3
    csel x2, x2, x3, lo
    ubfx x1, x1, #4, #4 /* 2: ASIDs have 16 bits */
    lsr x1, x1, #1
    ldr x0, =(TCR_LOW | TCR_HIGH)
    orr x0, x0, x2, lsl #TCR_PHYSICAL_SIZE_SHIFT
    orr x0, x0, x1, lsl #TCR_ASID_16_BITS_SHIFT
    msr tcr_el1, x0
    address x0, cr_tables_low
    msr ttbr0_el1, x0
    address x0, cr_tables_high
    msr ttbr1_el1, x0
    dsb sy
    isb
    tlbi vmalle1
    ic iallu
    dsb sy
    isb
    mrs x0, sctlr_el1
    ldr x1, =(SCTLR_MMU | SCTLR_DATA_CACHE | SCTLR_CODE_CACHE)
    orr x0, x0, x1
    msr sctlr_el1, x0
    isb
    mov x0, x19
    mov x1, x20
    bl cr_loader_main

    .section .text, "ax", %progbits
    .globl cr_loader_clean
    .type cr_loader_clean, %function
cr_loader_clean:
    mrs x2, ctr_el0
    ubfx x2, x2, #16, #4 /* log2 of the words of the smallest line */
    mov x3, #4
    lsl x3, x3, x2
    sub x2, x3, #1
    bic x0, x0, x2
1:  dc civac, x0
    add x0, x0, x3
    cmp x0, x1
    b.lo 1b
    dsb sy
    ret

    .globl cr_loader_enter
    .type cr_loader_enter, %function
cr_loader_enter:
    /* The data written so far becomes code. */
    ic iallu
    dsb sy
    isb
    br x6

fault:
    mrs x0, esr_el1
    mrs x1, elr_el1
    mrs x2, far_el1
    b cr_loader_fault

    .balign 2048
vectors:
    .rept 16
    .balign 128
    b fault
    .endr

    .section .bss.stack, "aw", %nobits
    .balign 16
    .skip 4096
stack_top:
    .section .note.GNU-stack, "", %progbits
