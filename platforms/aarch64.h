/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What each machine of this architecture has. See platforms.h. */
#ifndef CELLREAP_PLATFORMS_AARCH64_H
#define CELLREAP_PLATFORMS_AARCH64_H

/* CR_VSPACE(capDL's word for an address space, seL4's object, log2 of its bytes)
 *
 * User addresses have 48 bits and four levels of translation. A kernel in EL2 translates them as
 * those of a guest: with physical addresses of 40 bits there are three levels, and the first is
 * twice as large. gen_config.json does not say so. */
#if defined(CONFIG_ARM_HYPERVISOR_SUPPORT) && defined(CONFIG_ARM_PA_SIZE_BITS_40)
#define CR_VSPACE_ROW CR_VSPACE("pud", seL4_ARM_VSpaceObject, seL4_VSpaceBits)
#define CR_TABLE_LEVELS CR_LOWER_LEVELS
#else
#define CR_VSPACE_ROW CR_VSPACE("pgd", seL4_ARM_VSpaceObject, seL4_VSpaceBits)
#define CR_TABLE_LEVELS                                                                            \
    CR_TABLE_LEVEL("pud", seL4_ARM_PageTableObject, seL4_PageTableBits, 39)                        \
    CR_LOWER_LEVELS
#endif

/* The tables below it, the one that spans most first. The numbers are log2 of bytes.
 * CR_TABLE_LEVEL(capDL's word, seL4's object, its size, what it spans) */
#define CR_LOWER_LEVELS                                                                            \
    CR_TABLE_LEVEL("pd", seL4_ARM_PageTableObject, seL4_PageTableBits, 30)                         \
    CR_TABLE_LEVEL("pt", seL4_ARM_PageTableObject, seL4_PageTableBits, 21)

/* The interrupts of the generic timer, as the architecture recommends them. The platforms follow.
 * The kernel uses the virtual timer, user level the physical one. */
enum { CR_TIMER_VIRTUAL = 27, CR_TIMER_PHYSICAL = 30 };

/* Whether each access to the UART is a call of the kernel, which is dearer than to have the kernel
 * print. */
enum { CR_UART_NEEDS_CALLS = 0 };

/* Whether a kernel with MCS has a thread run at the time that it should. */
enum { CR_MCS_IS_EXACT = 1 };

/* The registers of a thread, in the order of seL4_UserContext: CR_REGISTER(its field) */
/* clang-format off */
#define CR_REGISTERS                                                                               \
    CR_REGISTER(pc) CR_REGISTER(sp) CR_REGISTER(spsr) CR_REGISTER(x0) CR_REGISTER(x1)              \
    CR_REGISTER(x2) CR_REGISTER(x3) CR_REGISTER(x4) CR_REGISTER(x5) CR_REGISTER(x6)                \
    CR_REGISTER(x7) CR_REGISTER(x8) CR_REGISTER(x16) CR_REGISTER(x17) CR_REGISTER(x18)             \
    CR_REGISTER(x29) CR_REGISTER(x30) CR_REGISTER(x9) CR_REGISTER(x10) CR_REGISTER(x11)            \
    CR_REGISTER(x12) CR_REGISTER(x13) CR_REGISTER(x14) CR_REGISTER(x15) CR_REGISTER(x19)           \
    CR_REGISTER(x20) CR_REGISTER(x21) CR_REGISTER(x22) CR_REGISTER(x23) CR_REGISTER(x24)           \
    CR_REGISTER(x25) CR_REGISTER(x26) CR_REGISTER(x27) CR_REGISTER(x28) CR_REGISTER(tpidr_el0)     \
    CR_REGISTER(tpidrro_el0)
/* clang-format on */

#endif
