/* SPDX-License-Identifier: BSD-2-Clause
 *
 * RFC 7693, section 3. The names of variables are those of the RFC. */
#include <cellreap/blake2s.h>

enum { ROUNDS = 10, WORDS = 16 };

static const uint32_t iv[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                               0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};

static const uint8_t sigma[ROUNDS][WORDS] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static uint32_t rotated(uint32_t word, uint32_t bits)
{
    return (word >> bits) | (word << (32u - bits));
}

static inline void mix(uint32_t *v, int a, int b, int c, int d, uint32_t x, uint32_t y)
{
    v[a] += v[b] + x;
    v[d] = rotated(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotated(v[b] ^ v[c], 12);
    v[a] += v[b] + y;
    v[d] = rotated(v[d] ^ v[a], 8);
    v[c] += v[d];
    v[b] = rotated(v[b] ^ v[c], 7);
}

static void compress(cr_blake2s *state, int last)
{
    uint32_t v[16];
    uint32_t m[WORDS];
    for (int i = 0; i < WORDS; i++) {
        const uint8_t *at = state->block + (size_t)i * 4;
        m[i] =
            (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    }
    for (int i = 0; i < 8; i++) {
        v[i] = state->h[i];
        v[i + 8] = iv[i];
    }
    v[12] ^= (uint32_t)state->count;
    v[13] ^= (uint32_t)(state->count >> 32);
    if (last) {
        v[14] = ~v[14];
    }
    for (int round = 0; round < ROUNDS; round++) {
        const uint8_t *s = sigma[round];
        mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++) {
        state->h[i] ^= v[i] ^ v[i + 8];
    }
}

void cr_blake2s_init(cr_blake2s *state, const uint8_t *key, size_t key_bytes, size_t digest_bytes)
{
    *state = (cr_blake2s){.digest = (uint32_t)digest_bytes};
    for (int i = 0; i < 8; i++) {
        state->h[i] = iv[i];
    }
    state->h[0] ^= 0x01010000u ^ (uint32_t)key_bytes << 8 ^ state->digest;
    for (size_t i = 0; i < key_bytes; i++) {
        state->block[i] = key[i];
    }
    /* The key is a block of its own. It stays here until something follows it, because the last
     * block is compressed differently. */
    state->used = CR_BLAKE2S_BLOCK;
}

/* The last block is compressed when the hash ends, so a full one waits for what follows it. */
static void make_room(cr_blake2s *state)
{
    if (state->used == CR_BLAKE2S_BLOCK) {
        state->count += CR_BLAKE2S_BLOCK;
        compress(state, 0);
        state->used = 0;
    }
}

void cr_blake2s_add(cr_blake2s *state, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < count; i++) {
        make_room(state);
        state->block[state->used++] = at[i];
    }
}

void cr_blake2s_end(cr_blake2s *state, uint8_t *out)
{
    state->count += state->used;
    for (uint32_t i = state->used; i < CR_BLAKE2S_BLOCK; i++) {
        state->block[i] = 0;
    }
    compress(state, 1);
    for (uint32_t i = 0; i < state->digest; i++) {
        out[i] = (uint8_t)(state->h[i / 4] >> (8u * (i % 4u)));
    }
}
