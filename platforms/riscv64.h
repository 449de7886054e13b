/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What each machine of this architecture has. See platforms.h. */
#ifndef CELLREAP_PLATFORMS_RISCV64_H
#define CELLREAP_PLATFORMS_RISCV64_H

/* CR_VSPACE(capDL's word for an address space, seL4's object, log2 of its bytes)
 *
 * Sv39: three levels of translation, whose tables are all of one kind. */
#define CR_VSPACE_ROW CR_VSPACE("pgd", seL4_RISCV_PageTableObject, seL4_PageTableBits)

/* The tables below it, the one that spans most first. The numbers are log2 of bytes.
 * CR_TABLE_LEVEL(capDL's word, seL4's object, its size, what it spans) */
#define CR_TABLE_LEVELS                                                                            \
    CR_TABLE_LEVEL("pd", seL4_RISCV_PageTableObject, seL4_PageTableBits, 30)                       \
    CR_TABLE_LEVEL("pt", seL4_RISCV_PageTableObject, seL4_PageTableBits, 21)

/* Whether each access to the UART is a call of the kernel, which is dearer than to have the kernel
 * print. */
enum { CR_UART_NEEDS_CALLS = 0 };

/* Whether a kernel with MCS has a thread run at the time that it should. */
enum { CR_MCS_IS_EXACT = 1 };

/* The registers of a thread, in the order of seL4_UserContext: CR_REGISTER(its field) */
/* clang-format off */
#define CR_REGISTERS                                                                               \
    CR_REGISTER(pc) CR_REGISTER(ra) CR_REGISTER(sp) CR_REGISTER(gp) CR_REGISTER(s0)                \
    CR_REGISTER(s1) CR_REGISTER(s2) CR_REGISTER(s3) CR_REGISTER(s4) CR_REGISTER(s5)                \
    CR_REGISTER(s6) CR_REGISTER(s7) CR_REGISTER(s8) CR_REGISTER(s9) CR_REGISTER(s10)               \
    CR_REGISTER(s11) CR_REGISTER(a0) CR_REGISTER(a1) CR_REGISTER(a2) CR_REGISTER(a3)               \
    CR_REGISTER(a4) CR_REGISTER(a5) CR_REGISTER(a6) CR_REGISTER(a7) CR_REGISTER(t0)                \
    CR_REGISTER(t1) CR_REGISTER(t2) CR_REGISTER(t3) CR_REGISTER(t4) CR_REGISTER(t5)                \
    CR_REGISTER(t6) CR_REGISTER(tp)
/* clang-format on */

#endif
