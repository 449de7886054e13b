/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The levels of page tables of platforms/, as arch.h declares them: for arch.c of each
 * architecture. */
#ifndef CELLREAP_SEL4_LEVELS_H
#define CELLREAP_SEL4_LEVELS_H

#include "kernel/arch/arch.h"

#define CR_TABLE_LEVEL(word, object, bits, span) object,
const seL4_Word cr_arch_table_type[CR_ARCH_TABLE_LEVELS] = {CR_TABLE_LEVELS};
#undef CR_TABLE_LEVEL
#define CR_TABLE_LEVEL(word, object, bits, span) span,
const uint32_t cr_arch_table_span[CR_ARCH_TABLE_LEVELS] = {CR_TABLE_LEVELS};
#undef CR_TABLE_LEVEL
#define CR_TABLE_LEVEL(word, object, bits, span) bits,
const uint32_t cr_arch_table_bits[CR_ARCH_TABLE_LEVELS] = {CR_TABLE_LEVELS};
#undef CR_TABLE_LEVEL
#define CR_VSPACE(word, object, bits)                                                              \
    const seL4_Word cr_arch_vspace_type = object;                                                  \
    const uint32_t cr_arch_vspace_bits = bits;
CR_VSPACE_ROW
#undef CR_VSPACE

#endif
