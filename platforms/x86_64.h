/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What each machine of this architecture has. See platforms.h. */
#ifndef CELLREAP_PLATFORMS_X86_64_H
#define CELLREAP_PLATFORMS_X86_64_H

/* CR_VSPACE(capDL's word for an address space, seL4's object, log2 of its bytes) */
#define CR_VSPACE_ROW CR_VSPACE("pml4", seL4_X64_PML4Object, seL4_PML4Bits)

/* The tables below it, the one that spans most first. The numbers are log2 of bytes.
 * CR_TABLE_LEVEL(capDL's word, seL4's object, its size, what it spans) */
#define CR_TABLE_LEVELS                                                                            \
    CR_TABLE_LEVEL("pdpt", seL4_X86_PDPTObject, seL4_PDPTBits, 39)                                 \
    CR_TABLE_LEVEL("pd", seL4_X86_PageDirectoryObject, seL4_PageDirBits, 30)                       \
    CR_TABLE_LEVEL("pt", seL4_X86_PageTableObject, seL4_PageTableBits, 21)

/* The PIT, and its interrupt: at the I/O APIC, where PCs have it at pin 2, and at the PIC. */
enum {
    CR_PIT_PORT = 0x40, /* channel 0 */
    CR_PIT_COMMAND = 0x43,
    CR_PIT_HZ = 1193182,
    CR_PIT_PIN = 2,
    CR_PIT_LINE = 0
};

/* Whether each access to the UART is a call of the kernel, which is dearer than to have the kernel
 * print. */
enum { CR_UART_NEEDS_CALLS = 1 };

/* Whether a kernel with MCS has a thread run at the time that it should. On a CPU without a TSC
 * deadline, seL4 divides the frequencies of TSC and local APIC as whole numbers. With those that
 * QEMU emulates, all times are longer by as much as a half. With -icount, when the TSC is the
 * slower one by a hair, the kernel takes the CPU for one with a deadline, and no time ever ends. */
enum { CR_MCS_IS_EXACT = 0 };

enum { CR_PIC_FIRST = 0x20, CR_PIC_SECOND = 0xa0 };

/* The registers of a thread, in the order of seL4_UserContext: CR_REGISTER(its field) */
/* clang-format off */
#define CR_REGISTERS                                                                               \
    CR_REGISTER(rip) CR_REGISTER(rsp) CR_REGISTER(rflags) CR_REGISTER(rax) CR_REGISTER(rbx)        \
    CR_REGISTER(rcx) CR_REGISTER(rdx) CR_REGISTER(rsi) CR_REGISTER(rdi) CR_REGISTER(rbp)           \
    CR_REGISTER(r8) CR_REGISTER(r9) CR_REGISTER(r10) CR_REGISTER(r11) CR_REGISTER(r12)             \
    CR_REGISTER(r13) CR_REGISTER(r14) CR_REGISTER(r15) CR_REGISTER(fs_base) CR_REGISTER(gs_base)
/* clang-format on */

#endif
