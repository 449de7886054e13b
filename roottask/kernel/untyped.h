/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Kernel memory: a buddy allocator over the untypeds that the kernel gave. A block is an untyped capability of
 * its own; splitting one retypes it into two halves; when nothing fits any more, free halves are joined by
 * revoking their parent. The smallest block that fits is taken, the lowest address among equals, so that what is freed
 * and asked for again in the same sizes comes to lie where it lay. */
#ifndef CELLREAP_SEL4_UNTYPED_H
#define CELLREAP_SEL4_UNTYPED_H

#include "kernel.h"

enum { CR_BLOCKS = 2048, CR_BLOCK_NONE = 0xffffffff, CR_BLOCK_MIN_BITS = 12 };

cr_status cr_untyped_init(const seL4_BootInfo *info);

/* The block used to build the root task's own CSpace: the largest at boot. */
seL4_CPtr cr_untyped_largest_at_boot(const seL4_BootInfo *info);

/* A block of 2^bits bytes. CR_ERR_MEMORY: none; CR_ERR_FULL_NODES: no table entry for splitting. */
cr_status cr_untyped_take(uint32_t bits, uint32_t *block);

/* Everything made of it must have been revoked: cr_untyped_revoke. */
void cr_untyped_give(uint32_t block);

/* One kernel call: destroys everything that was made of the block. */
seL4_Error cr_untyped_revoke(uint32_t block);

seL4_CPtr cr_untyped_cap(uint32_t block);
uint64_t cr_untyped_paddr(uint32_t block);
uint32_t cr_untyped_bits(uint32_t block);
uint64_t cr_untyped_bytes_used(void);
/* Pairs of pool slots that the allocator keeps for halves of blocks, in use or not. */
uint32_t cr_untyped_pairs(void);

#endif
