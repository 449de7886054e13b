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

/* Whether a kernel with MCS has a thread run at the time that it should. */
enum { CR_MCS_IS_EXACT = 1 };

#endif
