/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry point of the boot loader, and the parts that cannot be written in C. See loader.h.
 * Until the MMU is on, the caches may be off, so the code must not rely on cached data. */

/* SCTLR: the bits that are one in Armv8.0, and the bits that turn on translation and caches. */
#define SCTLR_ONE_ONES 0x30d00800
#define SCTLR_TWO_ONES 0x30c50830
#define SCTLR_MMU (1 << 0)
#define SCTLR_DATA_CACHE (1 << 2)
#define SCTLR_CODE_CACHE (1 << 12)
/* MAIR, by index: device nGnRnE, nGnRE, GRE; normal non-cacheable, write-back, write-through.
 * seL4 uses these indices and does not set the register. */
#define MAIR 0x0000aaff440c0400
/* TCR: 48-bit addresses and pages of 4 KiB; table walks through write-back inner-shareable memory.
 * The kernel does not change it. In EL1 there are two halves. In EL2 there is one, and two more
 * bits are one. A kernel in EL2 compares all of it, and halts without a word if it differs. */
#define TCR_HALF(shift) \
    ((16 << (shift)) | (1 << (8 + (shift))) | (1 << (10 + (shift))) | (3 << (12 + (shift))))
#define TCR_ONE (TCR_HALF(0) | TCR_HALF(16) | (2 << 30))
#define TCR_ONE_ASID_16_BITS_SHIFT 36
#define TCR_ONE_PHYSICAL_SIZE_SHIFT 32
#define TCR_TWO (TCR_HALF(0) | (1 << 23) | (1 << 31))
#define TCR_TWO_PHYSICAL_SIZE_SHIFT 16
#define PHYSICAL_SIZE_48_BITS 5

/* Lower levels are not secure and 64-bit. They may not call EL3, where nothing is. EL2 exists. */
#define SCR_EL3_BITS 0x5b1

    .macro address register, symbol
    adrp \register, \symbol
    add \register, \register, :lo12:\symbol
    .endm

    /* x21 is the level in which the kernel is to run, and the loader from `in_place` on. */
    .macro to register, value
    tbnz x21, #1, .Ltwo\@
    msr \register\()_el1, \value
    b .Ldone\@
.Ltwo\@:
    msr \register\()_el2, \value
.Ldone\@:
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
    address x0, cr_fact_kernel_level
    ldr x21, [x0]
    mrs x20, CurrentEL
    lsr x20, x20, #2
    cmp x20, #3
    b.ne at_level
    address x0, cr_fact_gic_distributor
    ldr x0, [x0]
    cbz x0, refuse
    address x0, stack_top
    mov sp, x0
    bl cr_loader_hand_over
    mov x0, #SCR_EL3_BITS
    msr scr_el3, x0
    msr cptr_el3, xzr
    mov x0, #0x3c9 /* EL2 with its own stack, interrupts off */
    msr spsr_el3, x0
    adr x0, at_two
    msr elr_el3, x0
    ldr x0, =SCTLR_TWO_ONES
    msr sctlr_el2, x0
    isb
    eret
at_level:
    cmp x20, x21
    b.eq in_place
    b.lt refuse
    b 1f
at_two:
    cmp x21, #2
    b.eq in_place
1:
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
    adr x0, in_place
    msr elr_el2, x0
    ldr x0, =SCTLR_ONE_ONES
    msr sctlr_el1, x0
    isb
    eret
/* EL3 belongs to the firmware, which sets up the machine for the lower levels. */
refuse:
    address x0, stack_top
    mov sp, x0
    mov x0, x20
    mov x1, #2
    bl cr_loader_refuse

in_place:
    ldr x0, =SCTLR_ONE_ONES
    ldr x1, =SCTLR_TWO_ONES
    tst x21, #2
    csel x0, x0, x1, eq
    to sctlr, x0
    isb
    address x0, vectors
    to vbar, x0
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
    to mair, x0
    tbnz x21, #1, in_two
    mrs x1, id_aa64mmfr0_el1
    and x2, x1, #15
    mov x3, #PHYSICAL_SIZE_48_BITS
    cmp x2, x3
    csel x2, x2, x3, lo
    ubfx x1, x1, #4, #4 /* 2: ASIDs have 16 bits */
    lsr x1, x1, #1
    ldr x0, =TCR_ONE
    orr x0, x0, x2, lsl #TCR_ONE_PHYSICAL_SIZE_SHIFT
    orr x0, x0, x1, lsl #TCR_ONE_ASID_16_BITS_SHIFT
    msr tcr_el1, x0
    address x0, cr_tables
    msr ttbr0_el1, x0
    msr ttbr1_el1, x0
    dsb sy
    isb
    tlbi vmalle1
    b 1f
in_two:
    address x0, cr_fact_physical_size
    ldr x1, [x0]
    ldr x0, =TCR_TWO
    orr x0, x0, x1, lsl #TCR_TWO_PHYSICAL_SIZE_SHIFT
    msr tcr_el2, x0
    address x0, cr_tables
    msr ttbr0_el2, x0
    msr cntvoff_el2, xzr
    dsb sy
    isb
    tlbi alle2
1:  ic iallu
    dsb sy
    isb
    ldr x0, =(SCTLR_ONE_ONES | SCTLR_MMU | SCTLR_DATA_CACHE | SCTLR_CODE_CACHE)
    ldr x1, =(SCTLR_TWO_ONES | SCTLR_MMU | SCTLR_DATA_CACHE | SCTLR_CODE_CACHE)
    tst x21, #2
    csel x0, x0, x1, eq
    to sctlr, x0
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
    /* Microkit's kernel takes two more arguments: a part of memory that the root task is to have as
     * a device. There is none. */
    mov x16, x6
    mov x6, xzr
    mov x7, xzr
    /* The data written so far becomes code. */
    ic iallu
    dsb sy
    isb
    br x16

fault:
    mrs x0, CurrentEL
    tbnz x0, #3, 1f
    mrs x0, esr_el1
    mrs x1, elr_el1
    mrs x2, far_el1
    b cr_loader_fault
1:  mrs x0, esr_el2
    mrs x1, elr_el2
    mrs x2, far_el2
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
