/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The checksum of trace lines: keys and digests of every permitted length, and any bytes. */
#include "any.h"
#include <cellreap/blake2s.h>

enum { MOST = 32, BYTES = 4096 };

void main(void)
{
    static uint8_t bytes[BYTES];
    static uint8_t key[MOST];
    static uint8_t out[MOST];
    cr_blake2s state;
    /*@ widen_hints global:"all", 63, 64; */ /* the bytes of a block */
    MAKE_ANY(&bytes);
    MAKE_ANY(&key);
    cr_blake2s_init(&state, key, at_most(MOST), at_most(MOST));
    while (any() != 0) {
        cr_blake2s_add(&state, bytes, at_most(BYTES));
    }
    cr_blake2s_end(&state, out);
}
