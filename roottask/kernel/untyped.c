/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The buddy allocator for untyped memory. See untyped.h. The allocator must never hand out a block
 * that still has kernel objects: its user revokes the block before giving it back. */
#include "untyped.h"
#include "objects.h"

typedef enum block_state { BLOCK_ABSENT = 0, BLOCK_FREE, BLOCK_USED, BLOCK_SPLIT } block_state;

typedef struct block {
    seL4_CPtr cap;
    uint64_t paddr;
    uint32_t bits;
    /* the first of its two halves (the second follows it), or CR_BLOCK_NONE; of a pair that is not
     * in use: the next such pair */
    uint32_t half;
    block_state state;
    int given_back; /* the block was in use before */
    uint32_t owner; /* only for this owner; 0: not set aside */
    int asked;      /* the kernel said what is left of it, and nobody used it since */
    uint64_t left;
} block;

/* The owner of the block that is used last. */
static const uint32_t OWNER_LAST = 0xffffffff;

_Static_assert((int)CR_FIRST_BLOCKS > (int)CONFIG_MAX_NUM_BOOTINFO_UNTYPED_CAPS,
               "an entry for each at boot");

/* The half at entry i has its capability in slot i of the CNode of untypeds. */
static block first_blocks[CR_FIRST_BLOCKS];
static block *blocks = first_blocks;
static uint32_t max_blocks = CR_FIRST_BLOCKS;
static uint32_t n_boot;
/* Table entries above those of boot time are allocated in pairs, for the two halves of a block. */
static uint32_t n_blocks;
static uint32_t free_pair = CR_BLOCK_NONE;
static uint32_t free_pairs; /* their number */
static uint64_t bytes_used;
static uint32_t blocks_used;

/* By account: how many of its blocks are split, and how many may be. */
typedef struct splits {
    uint32_t used;
    uint32_t most;
} splits;

static splits *splits_of;

/* Keeps an entry's number inside the table, whatever it was read from (docs/proof.md). */
static block *at(uint32_t entry)
{
    return &blocks[entry & (max_blocks - 1)];
}

/* 0: the owner is no account, and may have any number of blocks split. */
static splits *account_of(uint32_t owner)
{
    return owner != 0 && owner < cr_most.pds ? &splits_of[owner] : 0;
}

static uint64_t bytes_of(uint32_t bits)
{
    return 1ull << (bits & 63u);
}

/* How many untypeds there are at boot. */
static uint32_t given_by(const seL4_BootInfo *info)
{
    const seL4_Word count = info->untyped.end - info->untyped.start;
    return count < CONFIG_MAX_NUM_BOOTINFO_UNTYPED_CAPS
               ? (uint32_t)count
               : (uint32_t)CONFIG_MAX_NUM_BOOTINFO_UNTYPED_CAPS;
}

seL4_CPtr cr_untyped_of_cspace(const seL4_BootInfo *info)
{
    seL4_CPtr smallest = 0;
    uint8_t bits = 0;
    for (uint32_t i = 0; i < given_by(info); i++) {
        const seL4_UntypedDesc *desc = &info->untypedList[i];
        if (!desc->isDevice && desc->sizeBits >= cr_cspace_bits() &&
            (smallest == 0 || desc->sizeBits < bits)) {
            bits = desc->sizeBits;
            smallest = info->untyped.start + i;
        }
    }
    return smallest;
}

/* The kernel clears a whole untyped of boot time when it is first used. The largest one is
 * therefore set aside until nothing else is left. */
static void set_largest_aside(void)
{
    uint32_t largest = 0;
    for (uint32_t i = 1; i < n_boot; i++) {
        if (at(i)->bits > at(largest)->bits) {
            largest = i;
        }
    }
    if (n_boot > 1) {
        at(largest)->owner = OWNER_LAST;
    }
}

/* Returns whether there was a block that was set aside. */
static int use_largest(void)
{
    for (uint32_t i = 0; i < n_boot; i++) {
        if (at(i)->owner == OWNER_LAST) {
            at(i)->owner = 0;
            return 1;
        }
    }
    return 0;
}

cr_status cr_untyped_init(const seL4_BootInfo *info)
{
    /* The rest of the untyped of the CSpace is not given to PDs. */
    seL4_CPtr taken = cr_untyped_of_cspace(info);
    for (uint32_t i = 0; i < given_by(info); i++) {
        const seL4_UntypedDesc *desc = &info->untypedList[i];
        if (desc->isDevice || desc->sizeBits < CR_BLOCK_MIN_BITS ||
            info->untyped.start + i == taken) {
            continue;
        }
        *at(n_blocks++) = (block){.cap = info->untyped.start + i,
                                  .paddr = desc->paddr,
                                  .bits = desc->sizeBits,
                                  .half = CR_BLOCK_NONE,
                                  .state = BLOCK_FREE};
    }
    n_boot = n_blocks;
    set_largest_aside();
    return n_blocks > 0 ? CR_OK : CR_ERR_MEMORY;
}

void cr_untyped_tables(void)
{
    CR_TABLE_MAKE(blocks, cr_most.blocks);
    CR_TABLE_MAKE(splits_of, cr_most.pds);
    max_blocks = cr_most.blocks;
    for (uint32_t i = 0; i < n_blocks && i < CR_FIRST_BLOCKS; i++) {
        *at(i) = first_blocks[i];
    }
}

static uint32_t take_pair(void)
{
    uint32_t pair = free_pair;
    if (pair != CR_BLOCK_NONE) {
        free_pair = at(pair)->half;
        free_pairs--;
    } else {
        pair = n_blocks;
        at(pair)->cap = cr_cptr(CR_L1_UNTYPEDS, pair);
        at(pair + 1)->cap = cr_cptr(CR_L1_UNTYPEDS, pair + 1);
        n_blocks += 2;
    }
    return pair;
}

static void give_pair(uint32_t pair)
{
    at(pair)->state = BLOCK_ABSENT;
    at(pair + 1)->state = BLOCK_ABSENT;
    at(pair)->half = free_pair;
    free_pair = pair;
    free_pairs++;
}

/* Whether blocks of the owner's can be split so often. */
static int may_split(uint32_t owner, uint32_t times)
{
    const splits *account = account_of(owner);
    return times <= free_pairs + cr_untyped_splits_left() &&
           (account == 0 || account->used + times <= account->most);
}

static void destroy_halves(uint32_t parent, uint32_t pair)
{
    if (cr_revoke(cr_slot_at(at(parent)->cap))) {
        cr_panic("a split block is not revoked", at(parent)->paddr);
    }
    give_pair(pair);
}

static cr_status split(uint32_t parent)
{
    splits *account = account_of(at(parent)->owner);
    const uint32_t pair = take_pair();
    at(parent)->asked = 0;
    for (uint32_t i = 0; i < 2; i++) {
        block *half = at(pair + i);
        const uint32_t bits = at(parent)->bits - 1;
        *half = (block){.cap = half->cap,
                        .paddr = at(parent)->paddr + (i * bytes_of(bits)),
                        .bits = bits,
                        .half = CR_BLOCK_NONE,
                        .state = BLOCK_FREE,
                        .owner = at(parent)->owner};
        /* The kernel allocates from the start of the untyped, so the first retype gives the lower
         * half. */
        if (cr_retype(at(parent)->cap, seL4_UntypedObject, half->bits, CR_L1_UNTYPEDS,
                      (uint32_t)half->cap, 1)) {
            destroy_halves(parent, pair); /* One alone would take half of the parent. */
            return CR_ERR_MEMORY;
        }
    }
    at(parent)->half = pair;
    at(parent)->state = BLOCK_SPLIT;
    if (account != 0) {
        account->used++;
    }
    return CR_OK;
}

/* Joins free halves of the owner's, and returns how many pairs were joined. It runs only when no
 * free block fits, or none can be split. When a joined block is split again, the kernel clears the
 * whole block, and the cost grows with the size of the block. */
static uint32_t join(uint32_t owner)
{
    uint32_t joined = 0;
    for (uint32_t i = 0; i < n_blocks; i++) {
        uint32_t pair = at(i)->half;
        if (at(i)->state != BLOCK_SPLIT || at(i)->owner != owner || at(pair)->state != BLOCK_FREE ||
            at(pair + 1)->state != BLOCK_FREE || at(pair)->owner != owner ||
            at(pair + 1)->owner != owner) {
            continue;
        }
        destroy_halves(i, pair);
        joined++;
        at(i)->half = CR_BLOCK_NONE;
        at(i)->state = BLOCK_FREE;
    }
    if (account_of(owner) != 0) {
        account_of(owner)->used -= joined;
    }
    return joined;
}

/* Prefers the smallest block. Among blocks of one size it prefers a block that was in use before,
 * so a system that repeatedly creates and destroys PDs touches no more memory than it used at one
 * time. After that it prefers the lowest address. */
static int is_better(const block *a, const block *b)
{
    if (a->bits != b->bits) {
        return a->bits < b->bits;
    }
    return a->given_back != b->given_back ? a->given_back : a->paddr < b->paddr;
}

static uint32_t best_fit(uint32_t bits, uint32_t owner)
{
    uint32_t best = CR_BLOCK_NONE;
    for (uint32_t i = 0; i < n_blocks; i++) {
        if (at(i)->state == BLOCK_FREE && at(i)->owner == owner && at(i)->bits >= bits &&
            (best == CR_BLOCK_NONE || is_better(at(i), at(best)))) {
            best = i;
        }
    }
    return best;
}

static void use(uint32_t entry)
{
    at(entry)->state = BLOCK_USED;
    at(entry)->asked = 0;
    bytes_used += bytes_of(at(entry)->bits);
    blocks_used++;
}

/* Splits a block until its part at an address, or else its first part, has this size. Begins only
 * what it can end: what is split and joined again, the kernel clears. */
static cr_status cut(uint32_t *entry, uint32_t bits, uint64_t paddr)
{
    cr_status status = CR_OK;
    if (!may_split(at(*entry)->owner, at(*entry)->bits - bits)) {
        return CR_ERR_FULL_NODES;
    }
    while (at(*entry)->bits > bits && (status = split(*entry)) == CR_OK) {
        *entry = at(*entry)->half;
        *entry += paddr >= at(*entry + 1)->paddr ? 1u : 0u;
    }
    return status;
}

static cr_status take(uint32_t bits, uint32_t owner, int may_use_largest, uint32_t *out)
{
    if (bits < CR_BLOCK_MIN_BITS) {
        bits = CR_BLOCK_MIN_BITS;
    }
    uint32_t best = CR_BLOCK_NONE;
    cr_status status = CR_ERR_MEMORY;
    /* Each round joins at least one level of halves, or comes to the largest block. */
    for (uint32_t round = 0; round <= 64; round++) {
        best = best_fit(bits, owner);
        const int none = best == CR_BLOCK_NONE;
        status = none ? CR_ERR_MEMORY : cut(&best, bits, 0);
        if (status == CR_OK ||
            (join(owner) == 0 && !(none && owner == 0 && may_use_largest && use_largest()))) {
            break;
        }
    }
    if (status == CR_OK) {
        use(best);
        *out = best;
    }
    return status;
}

cr_status cr_untyped_take(uint32_t bits, uint32_t owner, uint32_t *out)
{
    return take(bits, owner, 1, out);
}

static uint32_t find_at(uint64_t paddr, uint32_t bits, block_state state)
{
    for (uint32_t i = 0; i < n_blocks; i++) {
        if (at(i)->state == state && at(i)->bits >= bits && at(i)->paddr <= paddr &&
            paddr - at(i)->paddr < bytes_of(at(i)->bits)) {
            return i;
        }
    }
    return CR_BLOCK_NONE;
}

/* The kernel clears the largest block of boot time now, so there is nothing left to set it aside
 * for. */
static cr_status take_at(uint64_t paddr, uint32_t bits)
{
    uint32_t entry = find_at(paddr, bits, BLOCK_FREE);
    if (entry == CR_BLOCK_NONE) {
        return CR_ERR_ABSENT;
    }
    at(entry)->owner = 0;
    const cr_status status = cut(&entry, bits, paddr);
    if (status == CR_OK) {
        use(entry);
    }
    return status;
}

cr_status cr_untyped_take_at(uint64_t paddr, uint64_t bytes)
{
    cr_status status = CR_OK;
    for (uint64_t done = 0, size; status == CR_OK && done < bytes; done += size) {
        uint32_t bits = CR_BLOCK_MIN_BITS;
        while (bits < 63 && ((paddr + done) >> bits & 1) == 0 && bytes - done >= 2ull << bits) {
            bits++;
        }
        size = bytes_of(bits);
        status = take_at(paddr + done, bits);
    }
    return status;
}

uint32_t cr_untyped_at(uint64_t paddr)
{
    return find_at(paddr, CR_BLOCK_MIN_BITS, BLOCK_USED);
}

void cr_untyped_own(uint32_t entry, uint32_t owner)
{
    at(entry)->owner = owner;
}

uint32_t cr_untyped_splits_left(void)
{
    return (max_blocks - n_blocks) / 2;
}

void cr_untyped_let_split(uint32_t owner, uint32_t most)
{
    splits *account = account_of(owner);
    if (account != 0) {
        account->most = most;
    }
}

uint64_t cr_untyped_bytes_free(void)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n_blocks; i++) {
        if (at(i)->state == BLOCK_FREE && at(i)->owner == 0) {
            bytes += bytes_of(at(i)->bits);
        }
    }
    return bytes;
}

uint64_t cr_untyped_reserve(uint32_t owner, uint64_t bytes)
{
    uint64_t left = bytes;
    for (uint32_t bits = 63; bits >= CR_RESERVE_MIN_BITS; bits--) {
        uint32_t block = CR_BLOCK_NONE;
        while (left >= bytes_of(bits) && take(bits, 0, 0, &block) == CR_OK) {
            cr_untyped_own(block, owner);
            cr_untyped_give(block);
            at(block)->given_back = 0;
            left -= bytes_of(bits);
        }
    }
    return bytes - left;
}

seL4_Error cr_untyped_revoke(uint32_t entry)
{
    seL4_Error error = cr_revoke(cr_slot_at(at(entry)->cap));
    if (!error) {
        cr_objects_revoked(entry);
    }
    return error;
}

uint32_t cr_untyped_find(seL4_CPtr cap)
{
    if (cap >> CR_SUBSPACE_BITS == CR_L1_UNTYPEDS) {
        return (uint32_t)cap;
    }
    for (uint32_t i = 0; i < n_boot; i++) {
        if (at(i)->cap == cap) {
            return i;
        }
    }
    return CR_BLOCK_NONE;
}

void cr_untyped_give(uint32_t entry)
{
    if (at(entry)->state != BLOCK_USED) {
        cr_panic("a block that is not in use is given back", entry);
    }
    at(entry)->state = BLOCK_FREE;
    at(entry)->given_back = 1;
    bytes_used -= bytes_of(at(entry)->bits);
    blocks_used--;
}

seL4_CPtr cr_untyped_cap(uint32_t entry)
{
    return at(entry)->cap;
}

uint64_t cr_untyped_paddr(uint32_t entry)
{
    return at(entry)->paddr;
}

uint32_t cr_untyped_bits(uint32_t entry)
{
    return at(entry)->bits;
}

uint32_t cr_untyped_blocks_used(void)
{
    return blocks_used;
}

uint64_t cr_untyped_bytes_used(void)
{
    return bytes_used;
}

/* The kernel refuses an object that is larger than any untyped, and says in the first message
 * register how many bytes are left. */
static uint64_t bytes_left(seL4_CPtr untyped)
{
    if (seL4_Untyped_Retype(untyped, seL4_UntypedObject, seL4_MaxUntypedBits, cr_l1_cnode(),
                            CR_L1_POOL, cr_bits_for(cr_most.bodies), CR_POOL_SPARE,
                            1) != seL4_NotEnoughMemory) {
        cr_panic("an untyped has room for more than there is", (uint64_t)untyped);
    }
    return seL4_GetMR(0);
}

uint32_t cr_untyped_top(void)
{
    return n_blocks;
}

cr_untyped_sums cr_untyped_ask(int anew)
{
    cr_untyped_sums sums = {0};
    for (uint32_t i = 0; i < n_blocks; i++) {
        if (at(i)->state == BLOCK_FREE) {
            if (anew || !at(i)->asked) {
                at(i)->left = bytes_left(at(i)->cap);
                at(i)->asked = 1;
            }
            sums.blocks++;
            sums.bytes += at(i)->left;
        }
        sums.halves += i >= n_boot && at(i)->state != BLOCK_ABSENT ? 1u : 0u;
    }
    return sums;
}
