/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The memory of the tables. See tables.h. */
#include "tables.h"
#include "arch/arch.h"
#include "objects.h"
#include "untyped.h"

enum { LARGE = CR_LARGE_PAGE_BITS, ALIGN = 64 };

_Static_assert((CR_TABLES_BYTES
#define CR_TABLE_LIMIT(enumerator, most, word, bytes, ...) +(uint64_t)(most) * (bytes)
                    CR_TABLE_LIMITS
#undef CR_TABLE_LIMIT
                ) <= (uint64_t)CR_TABLES_PAGES_MAX << LARGE,
               "slots for all pages");

cr_image_tables cr_most;
static uint64_t taken;

/* Whether this is the size of a CNode with room for so many. */
static int is_cnode(uint32_t slots, uint32_t needed)
{
    return slots >= needed && (slots & (slots - 1)) == 0;
}

/* Whether there is what the root task cannot do without. */
static int are_enough(const cr_image_tables *t)
{
    return t->pds >= 2 && t->nodes >= t->pds + 3 && t->edges >= 1 && t->spaces >= 2 &&
           t->types >= 2 && t->requests >= 1 && t->tickets >= 1 && t->maps >= 1 &&
           t->tombstones >= t->pds * CR_TOMBSTONES_EACH && t->pairs == t->pds * t->pds &&
           t->slots >= t->pds << CR_CSPACE_BITS_MIN &&
           is_cnode(t->bodies, t->pds + CR_L1_BODIES + 1) && is_cnode(t->blocks, CR_FIRST_BLOCKS) &&
           is_cnode(t->pool, t->nodes + t->pds + CR_POOL_OWN_MAX) && t->pool >= t->bodies &&
           t->pool >= t->blocks;
}

cr_status cr_tables_size(const cr_image_tables *tables)
{
    if (
#define CR_TABLE_LIMIT(enumerator, most, word, ...) tables->word > most ||
        CR_TABLE_LIMITS
#undef CR_TABLE_LIMIT
        !are_enough(tables)) {
        return CR_ERR_ARG;
    }
    cr_most = *tables;
    return CR_OK;
}

uint64_t cr_tables_bytes(void)
{
    return CR_TABLES_BYTES
#define CR_TABLE_LIMIT(enumerator, most, word, bytes, ...) +(uint64_t)cr_most.word *(bytes)
        CR_TABLE_LIMITS
#undef CR_TABLE_LIMIT
        ;
}

/* The largest block that is not larger than what is left: then no block has a part that nobody
 * uses. A smaller one if there is none of that size. */
static cr_status take_block(uint64_t left, uint32_t *block)
{
    uint32_t bits = LARGE;
    cr_status status = CR_ERR_MEMORY;
    while (2ull << bits <= left) {
        bits++;
    }
    for (; status == CR_ERR_MEMORY && bits >= LARGE; bits--) {
        status = cr_untyped_take(bits, 0, block);
    }
    return status;
}

cr_status cr_tables_init(void)
{
    uint64_t at = CR_TABLES_BEGIN;
    const uint64_t end = at + cr_tables_bytes();
    while (at < end) {
        uint32_t block;
        cr_status status = take_block(end - at, &block);
        if (status != CR_OK) {
            return status;
        }
        const uint32_t pages = 1u << (cr_untyped_bits(block) - LARGE);
        for (uint32_t i = 0; i < pages; i++, at += 1u << LARGE) {
            const uint32_t slot = cr_boot_take();
            cr_must(cr_retype(cr_untyped_cap(block), cr_arch_large_type, 0, CR_L1_BOOT, slot, 1),
                    "no page for tables");
            cr_must(
                cr_arch_map_frame(cr_cptr(CR_L1_BOOT, slot), seL4_CapInitThreadVSpace, at, 1, 0),
                "a page of the tables cannot be mapped");
        }
    }
    cr_pool_tables();
    cr_untyped_tables();
    cr_objects_tables();
    return CR_OK;
}

void *cr_table_take(uint64_t count, size_t row)
{
    void *table = (void *)(uintptr_t)(CR_TABLES_BEGIN + taken);
    taken += (count * row + ALIGN - 1) / ALIGN * ALIGN;
    if (taken > cr_tables_bytes()) {
        cr_panic("the tables need more than the limits say", taken);
    }
    return table;
}
