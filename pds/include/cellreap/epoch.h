/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The epoch of memory that PDs share: the word at `epoch` of its region, which is one larger each
 * time a PD that has the memory comes back. This header needs no library, and serves PDs for
 * Microkit, too (docs/microkit.md). */
#ifndef CELLREAP_EPOCH_H
#define CELLREAP_EPOCH_H

#include <stdint.h>

/* Whether a PD came back since the last call, or since *known was read from the epoch. */
static inline int cr_epoch_is_new(const volatile uint64_t *epoch, uint64_t *known)
{
    const uint64_t now = *epoch;
    const int is_new = now != *known;
    *known = now;
    return is_new;
}

#endif
