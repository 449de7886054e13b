/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Creates the initial thread in the environment that seL4's manual describes: a CNode with the
 * initial capabilities, and an address space with the image, followed by the IPC buffer and the
 * boot information. */
#include "kernel.h"

enum { PAGE = 1 << seL4_PageBits, CNODE_BITS = CONFIG_ROOT_CNODE_SIZE_BITS };

/* The objects that are being created. */
static struct region *memory;
static word n_memory;
static struct slot *cnode;
static word next_slot;
static seL4_BootInfo *info;

/* Returns zeroed memory, aligned to its size. */
static word take_memory(word bits)
{
    for (word i = 0; i < n_memory; i++) {
        word start = (memory[i].start + MASK(bits)) & ~MASK(bits);
        if (start < memory[i].end && memory[i].end - start >= BIT(bits)) {
            /* Memory skipped by alignment is lost; it is little. */
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

/* Maps a new page at an address of the initial address space. Returns its kernel address. */
static word put_page(word number, uint16_t asid, word vaddr)
{
    word left;
    struct slot *frame = put_object(number, arch_frame_type);
    if (vspace_map_frame(frame, asid, vaddr, RIGHTS_ALL, 0, &left) != seL4_NoError) {
        panic("the root task's image cannot be mapped at", vaddr);
    }
    return frame->object;
}

static void put_tables(uint16_t asid, word start, word end)
{
    word left;
    for (uint8_t level = 0; level < ARCH_TABLE_LEVELS; level++) {
        word span = vspace_span(level);
        for (word at = start >> span; at <= (end - 1) >> span; at++) {
            struct slot *table = put_object(next_slot++, arch_table_type[level]);
            if (vspace_map_table(table, asid, at << span, &left) != seL4_NoError) {
                panic("no page table for", at << span);
            }
        }
    }
}

/* Finds the pages that the image needs. */
static void find_bounds(const struct image *image, word *start, word *end)
{
    *start = seL4_UserVSpaceTop;
    *end = 0;
    for (word i = 0; i < image->count; i++) {
        const struct image_segment *s = &image->segments[i];
        if (s->vaddr < PAGE || s->vaddr > seL4_UserVSpaceTop / 2 ||
            s->bytes > seL4_UserVSpaceTop / 4) {
            panic("a segment of the root task lies where it cannot be:", s->vaddr);
        }
        *start = s->vaddr < *start ? s->vaddr : *start;
        *end = s->vaddr + s->bytes > *end ? s->vaddr + s->bytes : *end;
    }
    if (*end == 0) {
        panic("nothing to load in the root task", 0);
    }
    *start &= ~(word)(PAGE - 1);
    *end = (*end + PAGE - 1) & ~(word)(PAGE - 1);
}

/* Fills the page at `vaddr` from the image. */
static void fill_page(const struct image *image, word vaddr, uint8_t *page)
{
    for (word i = 0; i < image->count; i++) {
        const struct image_segment *s = &image->segments[i];
        word from = s->vaddr > vaddr ? s->vaddr : vaddr;
        word end = s->vaddr + s->content_bytes;
        word to = end < vaddr + PAGE ? end : vaddr + PAGE;
        for (word at = from; at < to; at++) {
            page[at - vaddr] = s->content[at - s->vaddr];
        }
    }
}

/* Makes untypeds in the largest aligned blocks possible. */
static void put_untypeds_of(const struct region *region, bool device)
{
    word at = region->start;
    while (region->end - at >= PAGE &&
           next_slot - info->untyped.start < CONFIG_MAX_NUM_BOOTINFO_UNTYPED_CAPS) {
        word bits = (word)__builtin_ctzl(at - ARCH_WINDOW);
        for (; BIT(bits) > region->end - at; bits--) {
        }
        struct slot cap = {
            .type = CAP_UNTYPED, .object = at, .bits = (uint8_t)bits, .guard = device};
        info->untypedList[next_slot - info->untyped.start] = (seL4_UntypedDesc){
            .paddr = at - ARCH_WINDOW, .sizeBits = (seL4_Uint8)bits, .isDevice = device};
        put(next_slot++, cap);
        at += BIT(bits);
    }
}

/* Devices, and all remaining memory. */
static void put_untypeds(void)
{
    info->untyped.start = next_slot;
    put_untypeds_of(&arch_devices, true);
    for (word i = 0; i < n_memory; i++) {
        put_untypeds_of(&memory[i], false);
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
    slot_insert(&tcb->slots[TCB_CSPACE], &cnode[seL4_CapInitThreadCNode],
                cnode[seL4_CapInitThreadCNode]);
    slot_insert(&tcb->slots[TCB_VSPACE], &cnode[seL4_CapInitThreadVSpace],
                cnode[seL4_CapInitThreadVSpace]);
    slot_insert(&tcb->slots[TCB_BUFFER], &cnode[seL4_CapInitThreadIPCBuffer],
                cnode[seL4_CapInitThreadIPCBuffer]);
    /* The TCB's copy of the capability is not mapped. */
    tcb->slots[TCB_BUFFER].asid = 0;
    tcb->buffer = buffer;
    tcb->mcp = seL4_MaxPrio;
    tcb->priority = seL4_MaxPrio;
    arch_start(&tcb->context, entry, boot_info);
    sched_wake(tcb);
}

void boot_start(const struct image *image, struct region *free, word regions)
{
    word start;
    word end;
    memory = free;
    n_memory = regions;
    find_bounds(image, &start, &end);
    word buffer = end;
    word boot_info = end + PAGE;

    cnode = (struct slot *)take_memory(CNODE_BITS + seL4_SlotBits);
    put(seL4_CapInitThreadCNode, (struct slot){.type = CAP_CNODE,
                                               .object = (word)cnode,
                                               .bits = CNODE_BITS,
                                               .guard = seL4_WordBits - CNODE_BITS});
    word tcb = take_memory(seL4_TCBBits);
    put(seL4_CapInitThreadTCB, (struct slot){.type = CAP_TCB, .object = tcb});
    uint16_t asid = vspace_assign(put_object(seL4_CapInitThreadVSpace, arch_vspace_type), 0);
    put(seL4_CapIRQControl, (struct slot){.type = CAP_INTERRUPT_CONTROL});
    interrupt_init((struct slot *)take_memory(ARCH_INTERRUPT_BITS + seL4_SlotBits));
    put(seL4_CapASIDControl, (struct slot){.type = CAP_ASID_CONTROL});
    put(seL4_CapInitThreadASIDPool, (struct slot){.type = CAP_ASID_POOL});
    put(seL4_CapIOPortControl, (struct slot){.type = CAP_PORT_CONTROL});
    put(seL4_CapDomain, (struct slot){.type = CAP_CONTROL});

    next_slot = seL4_NumInitialCaps;
    word first_table = next_slot;
    put_tables(asid, start, boot_info + PAGE);
    put_page(seL4_CapInitThreadIPCBuffer, asid, buffer);
    info = (seL4_BootInfo *)put_page(seL4_CapBootInfoFrame, asid, boot_info);
    info->userImagePaging = (seL4_SlotRegion){first_table, next_slot};
    info->userImageFrames.start = next_slot;
    for (word vaddr = start; vaddr < end; vaddr += PAGE) {
        fill_page(image, vaddr, (uint8_t *)put_page(next_slot++, asid, vaddr));
    }
    info->userImageFrames.end = next_slot;
    info->numNodes = 1;
    info->ipcBuffer = (seL4_IPCBuffer *)buffer;
    info->initThreadCNodeSizeBits = CNODE_BITS;
    put_untypeds();
    info->empty = (seL4_SlotRegion){next_slot, BIT(CNODE_BITS)};
    start_thread((struct tcb *)tcb, image->entry, buffer, boot_info);
}
