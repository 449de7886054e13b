/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The pools of ASIDs. See asids.h. The pool that had a number last is tried first: a search through
 * all pools would make each further PD dearer. */
#include "asids.h"
#include "arch/arch.h"
#include "untyped.h"

_Static_assert((int)CR_ASID_POOL_BITS == seL4_ASIDPoolIndexBits, "as the kernel has it");

static seL4_CPtr pools[CR_ASID_POOLS_MAX] = {seL4_CapInitThreadASIDPool};
static uint32_t n_pools = 1;
static uint32_t latest;

cr_status cr_asids_init(void)
{
    n_pools += (cr_most.pds + CR_MORE_ASIDS - 1) >> CR_ASID_POOL_BITS;
    for (uint32_t i = 1; i < n_pools; i++) {
        uint32_t block;
        cr_status status = cr_untyped_take(seL4_ASIDPoolBits, 0, &block);
        if (status != CR_OK) {
            return status;
        }
        pools[i] = cr_pool_cap();
        cr_must(cr_arch_make_asid_pool(cr_untyped_cap(block), cr_slot_at(pools[i])),
                "a pool of ASIDs cannot be made");
    }
    return CR_OK;
}

seL4_Error cr_asid_assign(seL4_CPtr vspace)
{
    seL4_Error error = seL4_DeleteFirst;
    for (uint32_t i = 0; i < n_pools && error == seL4_DeleteFirst; i++) {
        const uint32_t at = (latest + i) % n_pools;
        error = cr_arch_assign_asid(pools[at], vspace);
        if (!error) {
            latest = at;
        }
    }
    return error;
}
