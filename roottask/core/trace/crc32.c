/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Eight bytes at a time: a byte's table for each of the eight places. The tables follow from the
 * polynomial, and are made when they are first needed. */
#include <cellreap/trace.h>

enum { PLACES = 8, BYTES = 256 };

static uint32_t tables[PLACES][BYTES];
static int made;

/* Whoever makes the tables writes the same values, so it does no harm if two do. */
static void make_tables(void)
{
    for (uint32_t i = 0; i < BYTES; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
        }
        tables[0][i] = crc;
    }
    for (int place = 1; place < PLACES; place++) {
        for (uint32_t i = 0; i < BYTES; i++) {
            const uint32_t crc = tables[place - 1][i];
            tables[place][i] = (crc >> 8) ^ tables[0][crc & 255u];
        }
    }
    __atomic_store_n(&made, 1, __ATOMIC_RELEASE);
}

static uint32_t of_byte(uint32_t crc, uint8_t byte)
{
    return (crc >> 8) ^ tables[0][(crc ^ byte) & 255u];
}

static uint32_t little_endian(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t of_eight(uint32_t crc, const uint8_t *at)
{
    const uint32_t low = crc ^ little_endian(at);
    const uint32_t high = little_endian(at + 4);
    return tables[7][low & 255u] ^ tables[6][(low >> 8) & 255u] ^ tables[5][(low >> 16) & 255u] ^
           tables[4][low >> 24] ^ tables[3][high & 255u] ^ tables[2][(high >> 8) & 255u] ^
           tables[1][(high >> 16) & 255u] ^ tables[0][high >> 24];
}

uint32_t cr_crc32(uint32_t state, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    uint32_t crc = ~state;
    if (!__atomic_load_n(&made, __ATOMIC_ACQUIRE)) {
        make_tables();
    }
    for (; count >= PLACES; count -= PLACES, at += PLACES) {
        crc = of_eight(crc, at);
    }
    for (; count > 0; count--, at++) {
        crc = of_byte(crc, *at);
    }
    return ~crc;
}
