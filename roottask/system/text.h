/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Text in arrays of fixed size, and the tables of the image. The tables may be used only after
 * cr_image_valid has accepted the image. */
#ifndef CELLREAP_SEL4_TEXT_H
#define CELLREAP_SEL4_TEXT_H

#include <cellreap/image.h>
#include <stddef.h>

/* Copies up to the NUL or `bytes` - 1 characters and fills the rest with NULs. */
static inline void cr_text_copy(char *out, const char *text, size_t bytes)
{
    size_t i = 0;
    for (; i + 1 < bytes && text[i] != '\0'; i++) {
        out[i] = text[i];
    }
    for (; i < bytes; i++) {
        out[i] = '\0';
    }
}

static inline int cr_text_same(const char *a, const char *b)
{
    size_t i = 0;
    for (; i < 4096 && a[i] == b[i] && a[i] != '\0'; i++) {
    }
    return a[i] == b[i];
}

/* What is at an offset from the header. Another root task's tables can be before it. */
static inline const void *cr_image_at(const cr_image_header *image, uint32_t offset)
{
    return (const void *)((uintptr_t)image + (uintptr_t)(intptr_t)(int32_t)offset);
}

/* CR_IMAGE_TABLE(table, type of its rows) */
/* clang-format off */
#define CR_IMAGE_TABLES                                                                            \
    CR_IMAGE_TABLE(rsi_mins, cr_image_rsi_min)                                                     \
    CR_IMAGE_TABLE(programs, cr_image_program)                                                     \
    CR_IMAGE_TABLE(pds, cr_image_pd)                                                               \
    CR_IMAGE_TABLE(spaces, cr_image_space)                                                         \
    CR_IMAGE_TABLE(requests, cr_image_request)                                                     \
    CR_IMAGE_TABLE(holds, cr_image_pd_hold)                                                        \
    CR_IMAGE_TABLE(spawns, cr_image_spawn)                                                         \
    CR_IMAGE_TABLE(links, cr_image_link)                                                           \
    CR_IMAGE_TABLE(trusts, cr_image_trust)                                                         \
    CR_IMAGE_TABLE(regions, cr_image_region)                                                       \
    CR_IMAGE_TABLE(maps, cr_image_map)                                                             \
    CR_IMAGE_TABLE(ends, cr_image_channel_end)                                                     \
    CR_IMAGE_TABLE(quiets, cr_image_quiet)                                                         \
    CR_IMAGE_TABLE(lines, cr_image_line)                                                           \
    CR_IMAGE_TABLE(crashes, cr_image_crash)                                                        \
    CR_IMAGE_TABLE(injections, cr_image_injection)                                                 \
    CR_IMAGE_TABLE(saved_nodes, cr_image_saved_node)                                               \
    CR_IMAGE_TABLE(saved_edges, cr_image_saved_edge)
/* clang-format on */

#define CR_IMAGE_TABLE(table, row)                                                                 \
    static inline const row *cr_image_##table(const cr_image_header *image)                        \
    {                                                                                              \
        return (const row *)cr_image_at(image, image->table.offset);                               \
    }
CR_IMAGE_TABLES
#undef CR_IMAGE_TABLE

/* The ELF file of a program. */
static inline const uint8_t *cr_image_elf(const cr_image_header *image,
                                          const cr_image_program *program)
{
    return (const uint8_t *)cr_image_at(image, program->offset);
}

/* Checks that every name ends, that every number is in its range, and that every index lies within
 * its table. */
int cr_image_rows_valid(const cr_image_header *image);
/* Checks magic, version and checksum, that every table and every program lies within the image,
 * and the rows. */
int cr_image_valid(const cr_image_header *image, size_t bytes);

#endif
