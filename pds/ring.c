/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rings in shared memory. See cellreap/ring.h.
 *
 * Each end writes one word of its own, its place, and the sender writes entries that the receiver
 * does not look at yet. So whatever instruction an end dies at, the memory says what it had done.
 * A place names the content that it belongs to: a store that was under way when the memory was
 * cleared must not be taken for one of the new content. */
#include <cellreap/ring.h>

/* tests/host/pds/ring_ends.c lets an end die here, or the other end act. */
#ifndef CR_RING_INSTANT
#define CR_RING_INSTANT()
#endif

static uint64_t load(const uint64_t *word)
{
    CR_RING_INSTANT();
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(uint64_t *word, uint64_t value)
{
    CR_RING_INSTANT();
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static uint64_t content_of(cr_ring_place place)
{
    return place >> 32;
}

static uint64_t *own_place(const cr_ring *ring)
{
    return ring->end == CR_RING_SENDER ? &ring->memory->sent : &ring->memory->acknowledged;
}

static const uint64_t *other_place(const cr_ring *ring)
{
    return ring->end == CR_RING_SENDER ? &ring->memory->acknowledged : &ring->memory->sent;
}

/* The index of a place. An end that has not opened this content will begin at 0. */
static uint32_t index_of(const cr_ring *ring, cr_ring_place place)
{
    return content_of(place) == ring->content ? (uint32_t)place : 0;
}

static void store_place(const cr_ring *ring)
{
    store(own_place(ring), ring->content << 32 | ring->index);
}

static uint64_t *entry_of(const cr_ring *ring)
{
    return &ring->memory->entries[(size_t)(ring->index & (ring->entries - 1)) * ring->words];
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The number of the content. Who finds none begins one. Its number is larger than that of any place
 * of earlier content: of those that are there, and, by the epoch, of one that the other end is
 * about to store. */
static uint64_t find_content(const cr_ring *ring, cr_ring_place own)
{
    uint64_t content = load(&ring->memory->content);
    if (content == 0) {
        const uint64_t places = larger(content_of(own), content_of(load(other_place(ring))));
        const uint64_t begun = larger(ring->epoch, places + 1) & UINT32_MAX;
        CR_RING_INSTANT();
        if (__atomic_compare_exchange_n(&ring->memory->content, &content, begun, 0,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            content = begun;
        }
    }
    return content;
}

cr_ring_status cr_ring_open(cr_ring *ring, void *memory, size_t bytes, uint32_t words,
                            cr_ring_end end)
{
    const size_t room = bytes < sizeof(cr_ring_memory) ? 0 : bytes - sizeof(cr_ring_memory);
    if (words == 0 || room / sizeof(uint64_t) < words) {
        return CR_RING_BROKEN;
    }
    const size_t most = room / sizeof(uint64_t) / words;
    *ring = (cr_ring){.memory = memory, .end = end, .entries = 1, .words = words};
    for (uint32_t bit = 1; bit < 32 && most >> bit != 0; bit++) {
        ring->entries = 1u << bit;
    }
    ring->epoch = load(&ring->memory->epoch);
    const cr_ring_place own = load(own_place(ring));
    ring->content = find_content(ring, own);
    ring->index = index_of(ring, own);
    store_place(ring);
    return CR_RING_OK;
}

cr_ring_status cr_ring_pending(const cr_ring *ring, uint32_t *count)
{
    const uint32_t other = index_of(ring, load(other_place(ring)));
    *count = 0;
    if (load(&ring->memory->content) != ring->content) {
        return CR_RING_NEW;
    }
    const uint32_t pending =
        ring->end == CR_RING_SENDER ? ring->index - other : other - ring->index;
    if (pending > ring->entries) {
        return CR_RING_BROKEN;
    }
    *count = pending;
    return CR_RING_OK;
}

cr_ring_status cr_ring_send(cr_ring *ring, const uint64_t *entry)
{
    uint32_t pending;
    cr_ring_status status = cr_ring_pending(ring, &pending);
    if (status == CR_RING_OK && pending == ring->entries) {
        status = CR_RING_FULL;
    }
    if (status != CR_RING_OK) {
        return status;
    }
    for (uint32_t i = 0; i < ring->words; i++) {
        store(&entry_of(ring)[i], entry[i]);
    }
    ring->index++;
    store_place(ring);
    return CR_RING_OK;
}

cr_ring_status cr_ring_receive(cr_ring *ring, uint64_t *entry)
{
    uint32_t pending;
    cr_ring_status status = cr_ring_pending(ring, &pending);
    if (status == CR_RING_OK && pending == 0) {
        status = CR_RING_EMPTY;
    }
    for (uint32_t i = 0; status == CR_RING_OK && i < ring->words; i++) {
        entry[i] = load(&entry_of(ring)[i]);
    }
    /* The memory may have been cleared meanwhile. */
    return status == CR_RING_OK ? cr_ring_pending(ring, &pending) : status;
}

void cr_ring_acknowledge(cr_ring *ring)
{
    ring->index++;
    store_place(ring);
}

int cr_ring_peer_is_new(cr_ring *ring)
{
    const uint64_t epoch = load(&ring->memory->epoch);
    const int is_new = epoch != ring->epoch;
    ring->epoch = epoch;
    return is_new;
}
