/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Numbers of address spaces (ASIDs). The kernel gives the root task one pool of them. Each address
 * space has a number until it is destroyed. For more PDs than the pool has numbers, the root task
 * makes further pools when it starts. */
#ifndef CELLREAP_KERNEL_ASIDS_H
#define CELLREAP_KERNEL_ASIDS_H

#include "kernel.h"

enum {
    /* Besides the PDs, the root task and the probes of snapshots each have an address space. The
     * number 0 is nobody's. A pool has 2^CR_ASID_POOL_BITS numbers. */
    CR_ASID_POOL_BITS = 9,
    CR_MORE_ASIDS = 2,
    CR_ASID_POOLS_MAX = 1 + ((CR_MAX_PDS + CR_MORE_ASIDS - 1) >> CR_ASID_POOL_BITS)
};

/* Makes the further pools. Must be called before the first cr_asid_assign. */
cr_status cr_asids_init(void);
/* Gives an address space a number. One kernel call for each pool that is tried. */
seL4_Error cr_asid_assign(seL4_CPtr vspace);

#endif
