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

#define CR_IMAGE_TABLE(function, row, table)                                                       \
    static inline const row *function(const cr_image_header *image)                                \
    {                                                                                              \
        return (const row *)cr_image_at(image, image->table.offset);                               \
    }

CR_IMAGE_TABLE(cr_image_rsi_mins, cr_image_rsi_min, rsi_mins)
CR_IMAGE_TABLE(cr_image_programs, cr_image_program, programs)
CR_IMAGE_TABLE(cr_image_pds, cr_image_pd, pds)
CR_IMAGE_TABLE(cr_image_spaces, cr_image_space, spaces)
CR_IMAGE_TABLE(cr_image_requests, cr_image_request, requests)
CR_IMAGE_TABLE(cr_image_holds, cr_image_pd_hold, holds)
CR_IMAGE_TABLE(cr_image_spawns, cr_image_spawn, spawns)
CR_IMAGE_TABLE(cr_image_links, cr_image_link, links)
CR_IMAGE_TABLE(cr_image_trusts, cr_image_trust, trusts)
CR_IMAGE_TABLE(cr_image_regions, cr_image_region, regions)
CR_IMAGE_TABLE(cr_image_maps, cr_image_map, maps)
CR_IMAGE_TABLE(cr_image_ends, cr_image_channel_end, ends)
CR_IMAGE_TABLE(cr_image_quiets, cr_image_quiet, quiets)
CR_IMAGE_TABLE(cr_image_lines, cr_image_line, lines)
CR_IMAGE_TABLE(cr_image_crashes, cr_image_crash, crashes)
CR_IMAGE_TABLE(cr_image_injections, cr_image_injection, injections)
CR_IMAGE_TABLE(cr_image_saved_nodes, cr_image_saved_node, saved_nodes)
CR_IMAGE_TABLE(cr_image_saved_edges, cr_image_saved_edge, saved_edges)

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
