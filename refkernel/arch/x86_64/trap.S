/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entry to and exit from the kernel. The user's registers are saved in *trap_context, in the
 * order of seL4_UserContext. */
    .set SEL_USER_DATA, 0x23
    .set SEL_USER_CODE, 0x2b
    .set TRAP_SYSCALL, 256
    .set TRAP_TIMER, 32
    .set TRAP_VECTORS, 64

/* Saves all registers except rip, rsp, rflags and rdi, relative to rdi. */
    .macro save_registers
    movq %rax, 24(%rdi)
    movq %rbx, 32(%rdi)
    movq %rcx, 40(%rdi)
    movq %rdx, 48(%rdi)
    movq %rsi, 56(%rdi)
    movq %rbp, 72(%rdi)
    movq %r8, 80(%rdi)
    movq %r9, 88(%rdi)
    movq %r10, 96(%rdi)
    movq %r11, 104(%rdi)
    movq %r12, 112(%rdi)
    movq %r13, 120(%rdi)
    movq %r14, 128(%rdi)
    movq %r15, 136(%rdi)
    .endm

    .section .text
    .globl trap_syscall
trap_syscall: /* rcx: the address after the instruction; r11: flags */
    movq %rsp, saved_rsp(%rip)
    movq %rdi, saved_rdi(%rip)
    movq trap_context(%rip), %rdi
    save_registers
    leaq -2(%rcx), %rax
    movq %rax, 0(%rdi)
    movq saved_rsp(%rip), %rax
    movq %rax, 8(%rdi)
    movq %r11, 16(%rdi)
    movq saved_rdi(%rip), %rax
    movq %rax, 64(%rdi)
    leaq kernel_stack_top(%rip), %rsp
    movl $TRAP_SYSCALL, %edi
    xorl %esi, %esi
    cld
    call trap_handle
    jmp trap_return

/* On the stack: vector, code, rip, cs, rflags, rsp, ss. */
trap_common:
    testb $3, 24(%rsp)
    jz in_kernel
    pushq %rdi
    movq trap_context(%rip), %rdi
    save_registers
    popq %rax
    movq %rax, 64(%rdi)
    movq 16(%rsp), %rax
    movq %rax, 0(%rdi)
    movq 40(%rsp), %rax
    movq %rax, 8(%rdi)
    movq 32(%rsp), %rax
    movq %rax, 16(%rdi)
    movq 0(%rsp), %rdi
    movq 8(%rsp), %rsi
    leaq kernel_stack_top(%rip), %rsp
    cld
    call trap_handle

    .globl trap_return
trap_return:
    leaq kernel_stack_top(%rip), %rsp
    movq trap_context(%rip), %rdi
    pushq $SEL_USER_DATA
    pushq 8(%rdi)
    pushq 16(%rdi)
    pushq $SEL_USER_CODE
    pushq 0(%rdi)
    movq 24(%rdi), %rax
    movq 32(%rdi), %rbx
    movq 40(%rdi), %rcx
    movq 48(%rdi), %rdx
    movq 56(%rdi), %rsi
    movq 72(%rdi), %rbp
    movq 80(%rdi), %r8
    movq 88(%rdi), %r9
    movq 96(%rdi), %r10
    movq 104(%rdi), %r11
    movq 112(%rdi), %r12
    movq 120(%rdi), %r13
    movq 128(%rdi), %r14
    movq 136(%rdi), %r15
    movq 64(%rdi), %rdi
    iretq

in_kernel: /* Interrupts come here only while no thread can run. */
    movq 0(%rsp), %rdi
    cmpq $TRAP_TIMER, %rdi
    jae in_idle
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    leaq kernel_stack_top(%rip), %rsp
    call trap_in_kernel

in_idle:
    leaq kernel_stack_top(%rip), %rsp
    xorl %esi, %esi
    cld
    call trap_handle
    jmp trap_return

/* One entry for each vector. Exceptions 8, 10 to 14, 17, 21, 29 and 30 push an error code of
 * their own. */
    .set HAVE_CODE, 1 << 8 | 0x1f << 10 | 1 << 17 | 1 << 21 | 3 << 29
    .altmacro
    .macro entry vector
    .balign 16
entry_\vector:
    .if (HAVE_CODE >> \vector) & 1 == 0
    pushq $0
    .endif
    pushq $\vector
    jmp trap_common
    .endm
    .macro address vector
    .quad entry_\vector
    .endm

    .set vector, 0
    .rept TRAP_VECTORS
    entry %vector
    .set vector, vector + 1
    .endr

    .section .rodata
    .balign 8
    .globl trap_entries
trap_entries:
    .set vector, 0
    .rept TRAP_VECTORS
    address %vector
    .set vector, vector + 1
    .endr

    .section .bss
    .balign 8
saved_rsp: .quad 0
saved_rdi: .quad 0
    .section .note.GNU-stack, "", @progbits
