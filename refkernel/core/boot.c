/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The initial thread, in the environment that seL4's manual describes: a CNode with the capabilities of boot
 * time, an address space with the image, and behind it the IPC buffer and the boot information. */
#include "kernel.h"

enum { PAGE = 1 << seL4_PageBits, CNODE_BITS = CONFIG_ROOT_CNODE_SIZE_BITS, SEGMENTS = 64 };

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

/* What is being made. */
static struct region *memory;
static word n_memory;
static struct slot *cnode;
static word next_slot;
static seL4_BootInfo *info;

/* Zeroed memory, aligned to its size. */
static word take_memory(word bits)
{
    for (word i = 0; i < n_memory; i++) {
        word start = (memory[i].start + MASK(bits)) & ~MASK(bits);
        if (start < memory[i].end && memory[i].end - start >= BIT(bits)) {
            /* What alignment skips is little, and lost. */
            memory[i].start = start + BIT(bits);
            arch_clear((void *)start, BIT(bits));
            return start;
        }
    }
    panic("too little memory for the root task; wanted (log2 of bytes)", bits);
}

static struct slot *put(word number, struct slot cap)
{
    if (number >= BIT(CNODE_BITS)) {
        panic("the root task's CNode is too small for its image", number);
    }
    cap.rights |= RIGHTS_ALL;
    slot_create(&cnode[number], 0, cap);
    return &cnode[number];
}

static struct slot *put_object(word number, word type)
{
    struct slot cap = {.object = take_memory(arch_object_bits(type))};
    arch_make_object(type, &cap);
    return put(number, cap);
}

/* A new page at an address of the initial address space. Returns the kernel's address of it. */
static word put_page(word number, uint16_t asid, word vaddr)
{
    word left;
    struct slot *frame = put_object(number, arch_frame_type);
    if (arch_map_frame(frame, asid, vaddr, RIGHTS_ALL, 0, &left) != seL4_NoError) {
        panic("the root task's image cannot be mapped at", vaddr);
    }
    return frame->object;
}

static void put_tables(uint16_t asid, word start, word end)
{
    word left;
    for (int level = 0; level < ARCH_TABLE_LEVELS; level++) {
        word span = arch_table_span[level];
        for (word at = start >> span; at <= (end - 1) >> span; at++) {
            struct slot *table = put_object(next_slot++, arch_table_type[level]);
            if (arch_map_table(table, asid, at << span, &left) != seL4_NoError) {
                panic("no page table for", at << span);
            }
        }
    }
}

static const struct elf_segment *read_elf(const uint8_t *elf, word bytes, word *start, word *end)
{
    const struct elf_header *header = (const struct elf_header *)(const void *)elf;
    const struct elf_segment *segments = (const struct elf_segment *)(const void *)(elf + sizeof(*header));
    if (bytes < sizeof(*header) || header->ident[0] != 0x7f || header->ident[1] != 'E' || header->ident[4] != 2 ||
        header->phentsize != sizeof(*segments) || header->phnum > SEGMENTS || header->phoff > bytes ||
        (bytes - header->phoff) / sizeof(*segments) < header->phnum) {
        panic("the root task is no ELF64 file; its bytes:", bytes);
    }
    segments = (const struct elf_segment *)(const void *)(elf + header->phoff);
    *start = seL4_UserTop;
    *end = 0;
    for (int i = 0; i < header->phnum; i++) {
        const struct elf_segment *s = &segments[i];
        if (s->type != 1 || s->memsz == 0) {
            continue;
        }
        if (s->filesz > s->memsz || s->offset > bytes || s->filesz > bytes - s->offset || s->memsz > seL4_UserTop / 2 ||
            s->vaddr < PAGE || s->vaddr > seL4_UserTop / 2) {
            panic("a segment of the root task is cut, or lies where it cannot be:", s->vaddr);
        }
        *start = s->vaddr < *start ? s->vaddr : *start;
        *end = s->vaddr + s->memsz > *end ? s->vaddr + s->memsz : *end;
    }
    if (*end == 0) {
        panic("nothing to load in the root task", 0);
    }
    *start &= ~(word)(PAGE - 1);
    *end = (*end + PAGE - 1) & ~(word)(PAGE - 1);
    return segments;
}

/* Fills the page at `vaddr`. */
static void fill_page(const uint8_t *elf, const struct elf_segment *segments, word count, word vaddr, uint8_t *page)
{
    for (word i = 0; i < count; i++) {
        const struct elf_segment *s = &segments[i];
        word from = s->vaddr > vaddr ? s->vaddr : vaddr;
        word to = s->vaddr + s->filesz < vaddr + PAGE ? s->vaddr + s->filesz : vaddr + PAGE;
        for (word at = from; s->type == 1 && at < to; at++) {
            page[at - vaddr] = elf[s->offset + (at - s->vaddr)];
        }
    }
}

/* All memory that is left, in the largest aligned blocks there are. */
static void put_untypeds(void)
{
    info->untyped.start = next_slot;
    for (word i = 0; i < n_memory; i++) {
        word at = memory[i].start;
        while (memory[i].end - at >= PAGE && next_slot - info->untyped.start < CONFIG_MAX_NUM_BOOTINFO_UNTYPED_CAPS) {
            word bits = (word)__builtin_ctzl(at - ARCH_WINDOW);
            for (; BIT(bits) > memory[i].end - at; bits--) {
            }
            struct slot cap = {.type = CAP_UNTYPED, .object = at, .bits = (uint8_t)bits};
            info->untypedList[next_slot - info->untyped.start] =
                (seL4_UntypedDesc){.paddr = at - ARCH_WINDOW, .sizeBits = (seL4_Uint8)bits};
            put(next_slot++, cap);
            at += BIT(bits);
        }
    }
    info->untyped.end = next_slot;
}

static void start_thread(struct tcb *tcb, word entry, word buffer, word boot_info)
{
    static const char name[] = "rootserver";
    tcb_init(tcb);
    for (size_t i = 0; i < sizeof(name); i++) {
        tcb->name[i] = name[i];
    }
    slot_insert(&tcb->slots[TCB_CSPACE], &cnode[seL4_CapInitThreadCNode], cnode[seL4_CapInitThreadCNode]);
    slot_insert(&tcb->slots[TCB_VSPACE], &cnode[seL4_CapInitThreadVSpace], cnode[seL4_CapInitThreadVSpace]);
    slot_insert(&tcb->slots[TCB_BUFFER], &cnode[seL4_CapInitThreadIPCBuffer], cnode[seL4_CapInitThreadIPCBuffer]);
    /* The TCB's copy is mapped nowhere. */
    tcb->slots[TCB_BUFFER].asid = 0;
    tcb->buffer = buffer;
    tcb->mcp = seL4_MaxPrio;
    tcb->priority = seL4_MaxPrio;
    arch_start(&tcb->context, entry, boot_info);
    sched_wake(tcb);
}

void boot_start(const uint8_t *elf, word elf_bytes, struct region *free, word regions)
{
    word start;
    word end;
    memory = free;
    n_memory = regions;
    const struct elf_header *header = (const struct elf_header *)(const void *)elf;
    const struct elf_segment *segments = read_elf(elf, elf_bytes, &start, &end);
    word buffer = end;
    word boot_info = end + PAGE;

    cnode = (struct slot *)take_memory(CNODE_BITS + seL4_SlotBits);
    put(seL4_CapInitThreadCNode, (struct slot){.type = CAP_CNODE,
                                               .object = (word)cnode,
                                               .bits = CNODE_BITS,
                                               .guard = seL4_WordBits - CNODE_BITS});
    word tcb = take_memory(seL4_TCBBits);
    put(seL4_CapInitThreadTCB, (struct slot){.type = CAP_TCB, .object = tcb});
    uint16_t asid = arch_assign_asid(put_object(seL4_CapInitThreadVSpace, arch_vspace_type));
    put(seL4_CapIRQControl, (struct slot){.type = CAP_CONTROL});
    put(seL4_CapASIDControl, (struct slot){.type = CAP_CONTROL});
    put(seL4_CapInitThreadASIDPool, (struct slot){.type = CAP_ASID_POOL});
    put(seL4_CapIOPortControl, (struct slot){.type = CAP_CONTROL});
    put(seL4_CapDomain, (struct slot){.type = CAP_CONTROL});

    next_slot = seL4_NumInitialCaps;
    word first_table = next_slot;
    put_tables(asid, start, boot_info + PAGE);
    put_page(seL4_CapInitThreadIPCBuffer, asid, buffer);
    info = (seL4_BootInfo *)put_page(seL4_CapBootInfoFrame, asid, boot_info);
    info->userImagePaging = (seL4_SlotRegion){first_table, next_slot};
    info->userImageFrames.start = next_slot;
    for (word vaddr = start; vaddr < end; vaddr += PAGE) {
        fill_page(elf, segments, header->phnum, vaddr, (uint8_t *)put_page(next_slot++, asid, vaddr));
    }
    info->userImageFrames.end = next_slot;
    info->numNodes = 1;
    info->ipcBuffer = (seL4_IPCBuffer *)buffer;
    info->initThreadCNodeSizeBits = CNODE_BITS;
    put_untypeds();
    info->empty = (seL4_SlotRegion){next_slot, BIT(CNODE_BITS)};
    start_thread((struct tcb *)tcb, header->entry, buffer, boot_info);
}
