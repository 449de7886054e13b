/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A ring in memory that two PDs share: one end sends entries, the other receives them. Either end
 * may die at any instruction. Its next instance goes on where the memory says that it was:
 *
 *   - An entry is sent when cr_ring_send returns CR_RING_OK, or not at all.
 *   - An entry is acknowledged by cr_ring_acknowledge. No other instance receives it again. Until
 *     then each instance receives it, so a receiver that died while it worked on an entry is
 *     followed by one that works on it again.
 *   - Entries are received in the order in which they were sent, and none is skipped.
 *
 * This holds if the memory is kept when only one end comes back (`after = "keep"`). If it is
 * cleared below an end that lives, that end is told CR_RING_NEW, and nothing that was sent before
 * is mistaken for an entry of the new content.
 *
 * Each end may write all of the memory, so it can make the other one receive anything. It cannot
 * make it access memory outside the ring. The library of the ring needs nothing of seL4. Which
 * notification is signalled, and when, is up to the PDs. tests/proof/ring.pml is a model of it. */
#ifndef CELLREAP_RING_H
#define CELLREAP_RING_H

#include <stddef.h>
#include <stdint.h>

/* How far an end is: its index in the low half, and in the high half of which content. */
typedef uint64_t cr_ring_place;

/* The shared memory of a ring. The lines keep what one end writes apart from what the other one
 * does. */
typedef struct cr_ring_memory {
    /* Incremented by the root task before the first instruction of a PD that comes back: the
     * `epoch` of the region. */
    _Alignas(64) uint64_t epoch;
    uint64_t content;                        /* a number of its own each time; 0: cleared */
    _Alignas(64) cr_ring_place sent;         /* written by the sender */
    _Alignas(64) cr_ring_place acknowledged; /* written by the receiver */
    _Alignas(64) uint64_t entries[];
} cr_ring_memory;

typedef enum cr_ring_end { CR_RING_SENDER, CR_RING_RECEIVER } cr_ring_end;

typedef enum cr_ring_status {
    CR_RING_OK,
    CR_RING_FULL,  /* the receiver has not acknowledged enough */
    CR_RING_EMPTY, /* nothing was sent that is not acknowledged */
    /* The memory was cleared since this end opened it. What was not acknowledged is lost, and
     * cr_ring_open begins anew. */
    CR_RING_NEW,
    CR_RING_BROKEN, /* the other end wrote what cannot be, or the memory is too small */
} cr_ring_status;

/* One end of a ring, in memory of its PD. */
typedef struct cr_ring {
    cr_ring_memory *memory;
    cr_ring_end end;
    uint32_t entries; /* a power of two */
    uint32_t words;   /* of an entry */
    uint32_t index;   /* of the next entry of this end */
    uint64_t content;
    uint64_t epoch;
} cr_ring;

/* Opens an end of the ring in `bytes` of memory, for entries of this many words of 8 bytes. Both
 * ends must say the same. The number of entries is the largest power of two that has room.
 * CR_RING_BROKEN: there is no room for one. */
cr_ring_status cr_ring_open(cr_ring *ring, void *memory, size_t bytes, uint32_t words,
                            cr_ring_end end);
/* CR_RING_FULL, CR_RING_NEW, CR_RING_BROKEN: nothing was sent. */
cr_ring_status cr_ring_send(cr_ring *ring, const uint64_t *entry);
/* Copies the oldest entry that is not acknowledged, the same until it is acknowledged.
 * CR_RING_EMPTY, CR_RING_NEW, CR_RING_BROKEN: nothing was copied. */
cr_ring_status cr_ring_receive(cr_ring *ring, uint64_t *entry);
/* Acknowledges the entry that was received last. Only after CR_RING_OK of cr_ring_receive. */
void cr_ring_acknowledge(cr_ring *ring);
/* How many entries are sent and not acknowledged, for either end.
 * CR_RING_NEW, CR_RING_BROKEN: *count is 0. */
cr_ring_status cr_ring_pending(const cr_ring *ring, uint32_t *count);
/* Whether the PD of an end came back since this end opened the ring or last asked. */
int cr_ring_peer_is_new(cr_ring *ring);

#endif
