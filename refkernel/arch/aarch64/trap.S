/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry from the loader, in EL1 with translation on, and entry to and exit from the kernel.
 * While a user runs, the stack pointer of EL1 points to the place where the user's registers are
 * saved, in the order of seL4_UserContext. */
    .section .text.entry, "ax", %progbits
    .globl kernel_entry
kernel_entry:
    msr daifset, #15
    msr spsel, #1
    adrp x9, kernel_stack_top
    add x9, x9, :lo12:kernel_stack_top
    mov sp, x9
    mov x29, xzr
    b kernel_main

    .macro save_registers
    stp x0, x1, [sp, #24]
    stp x2, x3, [sp, #40]
    stp x4, x5, [sp, #56]
    stp x6, x7, [sp, #72]
    stp x8, x16, [sp, #88]
    stp x17, x18, [sp, #104]
    stp x29, x30, [sp, #120]
    stp x9, x10, [sp, #136]
    stp x11, x12, [sp, #152]
    stp x13, x14, [sp, #168]
    stp x15, x19, [sp, #184]
    stp x20, x21, [sp, #200]
    stp x22, x23, [sp, #216]
    stp x24, x25, [sp, #232]
    stp x26, x27, [sp, #248]
    str x28, [sp, #264]
    mrs x0, elr_el1
    mrs x1, sp_el0
    mrs x2, spsr_el1
    stp x0, x1, [sp, #0]
    str x2, [sp, #16]
    .endm

    .section .text, "ax", %progbits
    .globl trap_return
trap_return: /* x0: the registers */
    mov sp, x0
    ldp x0, x1, [sp, #0]
    ldr x2, [sp, #16]
    msr elr_el1, x0
    msr sp_el0, x1
    msr spsr_el1, x2
    ldp x2, x3, [sp, #40]
    ldp x4, x5, [sp, #56]
    ldp x6, x7, [sp, #72]
    ldp x8, x16, [sp, #88]
    ldp x17, x18, [sp, #104]
    ldp x29, x30, [sp, #120]
    ldp x9, x10, [sp, #136]
    ldp x11, x12, [sp, #152]
    ldp x13, x14, [sp, #168]
    ldp x15, x19, [sp, #184]
    ldp x20, x21, [sp, #200]
    ldp x22, x23, [sp, #216]
    ldp x24, x25, [sp, #232]
    ldp x26, x27, [sp, #248]
    ldr x28, [sp, #264]
    ldp x0, x1, [sp, #24]
    eret

    .macro from_user kind
    save_registers
    mov x0, #\kind
    b enter_kernel
    .endm

    .macro from_kernel kind
    adrp x0, kernel_stack_top
    add x0, x0, :lo12:kernel_stack_top
    mov sp, x0
    mov x0, #\kind
    b trap_in_kernel
    .endm

enter_kernel:
    adrp x1, kernel_stack_top
    add x1, x1, :lo12:kernel_stack_top
    mov sp, x1
    bl trap_handle
    b trap_return

/* Four kinds of exception from four places: EL1 with the user's stack pointer, EL1, EL0, EL0 in
 * 32-bit mode. */
    .balign 2048
    .globl trap_vectors
trap_vectors:
    .rept 8
    .balign 128
    from_kernel 3
    .endr
    .balign 128
    from_user 0
    .balign 128
    from_user 1
    .balign 128
    from_user 2
    .balign 128
    from_user 2
    .rept 4
    .balign 128
    from_kernel 4
    .endr

    .section .bss, "aw", %nobits
    .balign 16
    .skip 16384
    .globl kernel_stack_top
kernel_stack_top:
    .section .note.GNU-stack, "", %progbits
