/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Keyed BLAKE2s (RFC 7693), by which the lines of a trace are signed. The same function as Python's
 * hashlib.blake2s with a key and a digest size. */
#ifndef CELLREAP_BLAKE2S_H
#define CELLREAP_BLAKE2S_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CR_BLAKE2S_BLOCK = 64 };

/* A hash in progress. */
typedef struct cr_blake2s {
    uint32_t h[8];
    uint64_t count;  /* bytes hashed so far, without those in `block` */
    uint32_t used;   /* bytes in `block` */
    uint32_t digest; /* bytes of the digest */
    uint8_t block[CR_BLAKE2S_BLOCK];
} cr_blake2s;

/* key_bytes: 1 .. 32. digest_bytes: 1 .. 32. */
void cr_blake2s_init(cr_blake2s *state, const uint8_t *key, size_t key_bytes, size_t digest_bytes);
void cr_blake2s_add(cr_blake2s *state, const void *bytes, size_t count);
/* Writes the digest to `out`. The state must not be used afterwards. */
void cr_blake2s_end(cr_blake2s *state, uint8_t *out);

#ifdef __cplusplus
}
#endif

#endif
