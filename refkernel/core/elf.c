/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads ELF64 files, for boot loaders that hand over such a file. */
#include "kernel.h"

struct elf_header {
    uint8_t ident[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, phoff, shoff;
    uint32_t flags;
    uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct elf_segment {
    uint32_t type, flags;
    uint64_t offset, vaddr, paddr, filesz, memsz, align;
};

void elf_read(const uint8_t *elf, word bytes, struct image *out)
{
    const struct elf_header *header = (const struct elf_header *)(const void *)elf;
    if (bytes < sizeof(*header) || header->ident[0] != 0x7f || header->ident[1] != 'E' ||
        header->ident[4] != 2 || header->phentsize != sizeof(struct elf_segment) ||
        header->phoff > bytes ||
        (bytes - header->phoff) / sizeof(struct elf_segment) < header->phnum) {
        panic("the root task is no ELF64 file; its bytes:", bytes);
    }
    const struct elf_segment *segments =
        (const struct elf_segment *)(const void *)(elf + header->phoff);
    out->entry = header->entry;
    out->count = 0;
    for (int i = 0; i < header->phnum; i++) {
        const struct elf_segment *s = &segments[i];
        if (s->type != 1 || s->memsz == 0) {
            continue;
        }
        if (s->filesz > s->memsz || s->offset > bytes || s->filesz > bytes - s->offset ||
            out->count == IMAGE_SEGMENTS) {
            panic("the root task's file is cut, or of too many segments; at", s->vaddr);
        }
        out->segments[out->count++] =
            (struct image_segment){s->vaddr, s->memsz, elf + s->offset, s->filesz};
    }
}
