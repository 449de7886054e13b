/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Untyped memory: a buddy allocator over the untypeds that the kernel gave at boot. A block is an
 * untyped with its own capability. To split a block, the allocator retypes it into two halves. When
 * no free block fits, the allocator joins free halves: it revokes their parent.
 *
 * The allocator takes the smallest block that fits. Among blocks of one size it prefers a block
 * that was in use before, then the lowest address. A system that frees and takes blocks of the same
 * sizes therefore reuses the same memory. */
#ifndef CELLREAP_SEL4_UNTYPED_H
#define CELLREAP_SEL4_UNTYPED_H

#include "kernel.h"

enum {
    /* Enough for the untypeds of boot time, and to split some for the tables. */
    CR_FIRST_BLOCKS = 512,
    CR_BLOCK_NONE = 0xffffffff,
    CR_BLOCK_MIN_BITS = 12,
    CR_RESERVE_MIN_BITS = 16 /* of the blocks of cr_untyped_reserve */
};

cr_status cr_untyped_init(const seL4_BootInfo *info);
/* Makes the table of all blocks. Until then there are CR_FIRST_BLOCKS. */
void cr_untyped_tables(void);

/* The untyped from which the root task's own CSpace is made: the smallest at boot that has room,
 * because the kernel clears all of it. 0: none has room. */
seL4_CPtr cr_untyped_of_cspace(const seL4_BootInfo *info);

/* Takes a block of 2^bits bytes. A block has an owner, a number that its user chose, or 0. This
 * function takes a block that is set aside for `owner`. CR_ERR_MEMORY: no block fits.
 * CR_ERR_FULL_NODES: the owner may have no further block split, or no table entry is left. */
cr_status cr_untyped_take(uint32_t bits, uint32_t owner, uint32_t *block);

/* Takes the blocks of the bytes at an address, both multiples of a page. Each block is as large as
 * its address and what is left allow. CR_ERR_ABSENT: the kernel did not give all of it as memory,
 * or some of it is in use. CR_ERR_FULL_NODES. */
cr_status cr_untyped_take_at(uint64_t paddr, uint64_t bytes);

/* Sets a block that is in use aside: after cr_untyped_give it is free for this owner only. */
void cr_untyped_own(uint32_t block, uint32_t owner);

/* Sets about `bytes` of the memory of owner 0 aside for an owner, in blocks as large as possible.
 * Returns the bytes that were set aside, at most `bytes`. The largest block of boot time is not
 * used for this. */
uint64_t cr_untyped_reserve(uint32_t owner, uint64_t bytes);

/* How many blocks can be split beside those that were. An account is an owner below the number of
 * PDs: none of its blocks is split before this says how many may be at a time. */
uint32_t cr_untyped_splits_left(void);
void cr_untyped_let_split(uint32_t owner, uint32_t most);

/* The bytes in free blocks of owner 0. */
uint64_t cr_untyped_bytes_free(void);

/* Gives a block back. Everything made from the block must have been revoked with
 * cr_untyped_revoke. */
void cr_untyped_give(uint32_t block);

/* One kernel call. Destroys everything that was made from the block. */
seL4_Error cr_untyped_revoke(uint32_t block);

seL4_CPtr cr_untyped_cap(uint32_t block);
/* There is no block from here on. */
uint32_t cr_untyped_top(void);
/* The block in use in which an address is, or CR_BLOCK_NONE. */
uint32_t cr_untyped_at(uint64_t paddr);
/* The block of this capability, or CR_BLOCK_NONE. */
uint32_t cr_untyped_find(seL4_CPtr cap);
uint64_t cr_untyped_paddr(uint32_t block);
uint32_t cr_untyped_bits(uint32_t block);
uint64_t cr_untyped_bytes_used(void);
uint32_t cr_untyped_blocks_used(void);
typedef struct cr_untyped_sums {
    uint32_t blocks; /* free for this allocator */
    uint64_t bytes;  /* free in them, as the kernel says */
    uint32_t halves; /* blocks that were made by splitting others */
} cr_untyped_sums;

/* Asks the kernel how much is free in each free block, or only in those that were in use since they
 * were asked about. It changes nothing. A debug kernel prints a line for each question. */
cr_untyped_sums cr_untyped_ask(int anew);

#endif
