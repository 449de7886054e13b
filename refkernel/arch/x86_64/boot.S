/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry from a Multiboot 1 loader, in 32-bit mode with paging off. The first page tables map
 * the first GiB one to one. In the kernel's half they map the first 4 GiB at the window, and the
 * first GiB again at the address where the kernel runs. */
    .set KERNEL_BASE, 0xffffffff80000000
    .set MAGIC, 0x1badb002

    .section .boot, "awx", @progbits
    .balign 4
    .long MAGIC, 3, -(MAGIC + 3) /* modules on page boundaries, memory information */

    .code32
    .globl boot_entry
boot_entry:
    cli
    movl %eax, %edi
    movl %ebx, %esi
    movl $boot_pml4, %eax
    movl %eax, %cr3
    movl $0xa0, %eax /* PAE, PGE */
    movl %eax, %cr4
    movl $0xc0000080, %ecx
    rdmsr
    orl $0x101, %eax /* long mode, SYSCALL */
    wrmsr
    movl $0x80010033, %eax /* paging, write protection, native FPU errors, protected mode */
    movl %eax, %cr0
    lgdt boot_gdt_pointer
    ljmp $8, $boot_long

    .code64
boot_long:
    movl $16, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    xorl %eax, %eax
    movl %eax, %fs
    movl %eax, %gs
    movabsq $kernel_stack_top, %rsp
    xorl %ebp, %ebp
    movabsq $kernel_main, %rax
    callq *%rax
1:  hlt
    jmp 1b

    .balign 8
boot_gdt:
    .quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff
boot_gdt_pointer:
    .word . - boot_gdt - 1
    .long boot_gdt

    .balign 4096
    .globl boot_pml4
boot_pml4:
    .quad boot_low + 3
    .fill 510, 8, 0
    .quad boot_high + 3
boot_low:
    .quad boot_directories + 3
    .fill 511, 8, 0
boot_high:
    .quad boot_directories + 0x0003, boot_directories + 0x1003, \
          boot_directories + 0x2003, boot_directories + 0x3003
    .fill 506, 8, 0
    .quad boot_directories + 3, 0
boot_directories:
    .set at, 0
    .rept 2048
    .quad at + 0x83 /* 2 MiB, writable */
    .set at, at + 0x200000
    .endr

    .section .bss
    .balign 16
    .globl kernel_stack_top
    .fill 16384, 1, 0
kernel_stack_top:
    .section .note.GNU-stack, "", @progbits
