/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Maps the memory of the tables. See tables.h. */
#include "tables.h"

#if CELLREAP_DOUBLINGS > 0

#include "arch/arch.h"
#include "untyped.h"

/* Of roottask.ld. Both are aligned to large pages. */
extern char cr_tables_begin[];
extern char cr_tables_end[];

enum { LARGE = CR_ARCH_LARGE_BITS };

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
    uintptr_t at = (uintptr_t)cr_tables_begin;
    const uintptr_t end = (uintptr_t)cr_tables_end;
    while (at < end) {
        uint32_t block;
        cr_status status = take_block(end - at, &block);
        if (status != CR_OK) {
            return status;
        }
        const uint32_t pages = 1u << (cr_untyped_bits(block) - LARGE);
        for (uint32_t i = 0; i < pages; i++, at += 1u << LARGE) {
            const seL4_CPtr page =
                cr_pool_make(cr_untyped_cap(block), cr_arch_large_type, "no page for tables");
            cr_must(cr_arch_map_frame(page, seL4_CapInitThreadVSpace, at, 1, 0),
                    "a page of the tables cannot be mapped");
        }
    }
    return CR_OK;
}

#else

cr_status cr_tables_init(void)
{
    return CR_OK; /* The kernel has mapped them with the image. */
}

#endif
