/* SPDX-License-Identifier: BSD-2-Clause */
#include <cellreap/trace.h>

uint32_t cr_crc32(uint32_t state, const void *bytes, size_t count)
{
    /* Four bits at a time, so that the table has only 16 entries. */
    static const uint32_t table[16] = {0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu,
                                       0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu,
                                       0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
                                       0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
    const uint8_t *at = bytes;
    uint32_t crc = ~state;
    for (size_t i = 0; i < count; i++) {
        crc ^= at[i];
        crc = (crc >> 4) ^ table[crc & 15u];
        crc = (crc >> 4) ^ table[crc & 15u];
    }
    return ~crc;
}
