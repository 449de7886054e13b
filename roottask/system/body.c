/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes and destroys the bodies of PDs. See body.h.
 *
 * lay_out computes the complete body before anything is made, so the size of the untyped is known
 * in advance. make_objects must retype the objects in the order in which lay_out adds up their
 * sizes. A step that fails may leave something behind that the revocation of the untyped removes.
 * The ELF file comes from the configuration: read_elf must check every field before it uses
 * the field. */
#include "body.h"
#include "kernel/arch/arch.h"
#include "kernel/asids.h"
#include "kernel/debug.h"
#include "kernel/objects.h"
#include "kernel/tables.h"
#include "kernel/untyped.h"
#include <cellreap/image.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count); /* string.c */

enum { PAGE_BITS = CR_PAGE_BITS, PAGE = 1 << PAGE_BITS };

_Static_assert((CR_VADDR_STARTUP & ((1 << CR_THREAD_SPAN_BITS) - 1)) == 0, "at the span's start");
_Static_assert(CR_VADDR_STACK - CR_VADDR_STARTUP + CR_STACK_PAGES_MAX * PAGE <=
                   1 << CR_THREAD_SPAN_BITS,
               "the pages of a thread are in its span");

/* The parts of an ELF64 file that are needed to load it. */
typedef struct elf_header {
    uint8_t ident[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, phoff, shoff;
    uint32_t flags;
    uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
} elf_header;

typedef struct elf_segment {
    uint32_t type, flags;
    uint64_t offset, vaddr, paddr, filesz, memsz, align;
} elf_segment;

_Static_assert(sizeof(elf_header) == 64 && sizeof(elf_segment) == 56,
               "as the ELF64 format has them");

enum { ELF_EXEC = 2, ELF_LOAD = 1, ELF_X = 1, ELF_W = 2 };

/* A range of pages of a new address space and its contents. */
typedef struct stretch {
    uint64_t vaddr;       /* page-aligned */
    uint32_t pages;       /* of 4 KiB, also where they are large */
    uint32_t page_bits;   /* 0: those of the body */
    int is_region;        /* the frames are not of the body */
    uint32_t first_frame; /* its place among the frames of the body */
    int writable;
    int executable;
    const uint8_t *bytes; /* the contents from address `start` on */
    uint64_t start;
    uint64_t count;
} stretch;

enum { STRETCHES = CR_PROGRAM_SEGMENTS_MAX + 3 + CR_IMAGE_MAX_MAPS };

typedef struct layout {
    stretch stretches[STRETCHES];
    uint32_t n_stretches;
    uint32_t frames;
    uint32_t tables[CR_ARCH_TABLE_LEVELS];
    uint64_t table_vaddr[CR_ARCH_TABLE_LEVELS][CR_BODY_TABLES_MAX];
    uint64_t entry;
    uint32_t thread;
    uint32_t body_bits; /* of the body's CNode */
    uint32_t parents;
    uint32_t peers;
    uint32_t bits; /* of the untyped */
} layout;

/* One page of the root task's own image. At boot it is unmapped and never mapped again. Frames of
 * PDs are mapped at its address while the root task fills them. The page tables for this address
 * already exist. */
static _Alignas(4096) uint8_t window[PAGE];

/* Too large for the stack. Only one body is made at a time. */
static layout plan;

/* The small objects of a body, the larger ones first. The root task needs no capability to the
 * object that keeps the PD's callers. */
enum { IN_ITS_CSPACE = UINT32_MAX, LAST_OBJECTS = 3 + 2 * CR_MCS };

typedef struct small_object {
    seL4_Word type;
    uint32_t bits;
    uint32_t slot; /* of the body's CNode */
} small_object;

static const small_object last_objects[] = {
    {seL4_TCBObject, seL4_TCBBits, CR_BODY_TCB},
    CR_WITH_MCS({CR_SC_OBJECT, CR_SC_BITS, CR_BODY_SC}, ){
        seL4_NotificationObject, seL4_NotificationBits, CR_BODY_NOTIFICATION},
    CR_WITH_MCS({CR_REPLY_OBJECT, CR_REPLY_BITS, IN_ITS_CSPACE}, ){
        seL4_EndpointObject, seL4_EndpointBits, CR_BODY_ENDPOINT},
};

_Static_assert(sizeof(last_objects) / sizeof(last_objects[0]) == LAST_OBJECTS,
               "as many as are counted");

cr_status cr_body_init(const seL4_BootInfo *info, uintptr_t image_start)
{
    const seL4_CPtr frame = cr_image_frame(info, image_start, window);
    return frame == 0 || cr_arch_unmap_frame(frame) ? CR_ERR_MEMORY : CR_OK;
}

/* The frame that may be mapped there, or 0. */
static seL4_CPtr opened;

seL4_Error cr_window_close(void)
{
    const seL4_Error error = opened != 0 ? cr_arch_unmap_frame(opened) : seL4_NoError;
    opened = error ? opened : 0;
    return error;
}

seL4_Error cr_window_open(seL4_CPtr frame, uint32_t page_bits, int uncached, uint8_t **out)
{
    const uintptr_t at = page_bits == PAGE_BITS ? (uintptr_t)window : (uintptr_t)CR_LARGE_WINDOW;
    seL4_Error error = cr_window_close();
    *out = (uint8_t *)at;
    if (!error) {
        opened = frame;
        error = uncached ? cr_arch_map_device(frame, seL4_CapInitThreadVSpace, at, 1)
                         : cr_arch_map_frame(frame, seL4_CapInitThreadVSpace, at, 1, 0);
        opened = error ? 0 : frame;
    }
    return error;
}

/* Whether a CNode may be visible in the spare slot: who made it so may have died since. */
static int shown;

seL4_Error cr_cnode_show(cr_slot cnode, uint32_t bits)
{
    seL4_Error error = shown ? cr_cnode_hide() : seL4_NoError;
    if (!error) {
        shown = 1;
        error = cr_mint(cr_slot_l1(cr_l1_spare()), cnode, seL4_AllRights,
                        cr_cnode_data(CR_SUBSPACE_BITS - bits));
    }
    return error;
}

/* A frame may be open that is visible only there. */
seL4_Error cr_cnode_hide(void)
{
    seL4_Error error = cr_window_close();
    if (!error) {
        error = cr_delete(cr_slot_l1(cr_l1_spare()));
        shown = error != seL4_NoError;
    }
    return error;
}

static uint32_t count_tables(void)
{
    uint32_t count = 0;
    for (uint32_t level = 0; level < CR_ARCH_TABLE_LEVELS; level++) {
        count += plan.tables[level];
    }
    return count;
}

/* Whether a table of this level is the process's: it has what no thread's own span has. */
static int is_of_process(uint32_t level)
{
    return plan.thread != 0 && cr_arch_table_span[level] > CR_THREAD_SPAN_BITS;
}

/* Records that tables of every level are needed for these pages. Large pages are where a table of
 * the last level could be. */
static cr_status need_tables(const stretch *s)
{
    for (uint32_t level = 0; level < CR_ARCH_TABLE_LEVELS; level++) {
        uint32_t span = cr_arch_table_span[level];
        if (is_of_process(level) || span <= s->page_bits) {
            continue;
        }
        uint64_t first = s->vaddr >> span;
        uint64_t last = (s->vaddr + (uint64_t)s->pages * PAGE - 1) >> span;
        for (uint64_t at = first; at <= last; at++) {
            int known = 0;
            for (uint32_t i = 0; i < plan.tables[level]; i++) {
                known |= plan.table_vaddr[level][i] == at << span;
            }
            if (known) {
                continue;
            }
            if (count_tables() == CR_BODY_TABLES_MAX) {
                return CR_ERR_ARG;
            }
            plan.table_vaddr[level][plan.tables[level]++] = at << span;
        }
    }
    return CR_OK;
}

static cr_status add_stretch(stretch s)
{
    const uint32_t frames = s.is_region ? 0 : s.pages;
    if (plan.n_stretches == STRETCHES || s.pages == 0 ||
        frames > CR_PROGRAM_PAGES_MAX - plan.frames) {
        return CR_ERR_ARG;
    }
    for (uint32_t i = 0; i < plan.n_stretches; i++) {
        const stretch *other = &plan.stretches[i];
        if (s.vaddr < other->vaddr + (uint64_t)other->pages * PAGE &&
            other->vaddr < s.vaddr + (uint64_t)s.pages * PAGE) {
            return CR_ERR_ARG;
        }
    }
    s.first_frame = plan.frames;
    plan.frames += frames;
    plan.stretches[plan.n_stretches++] = s;
    return need_tables(&plan.stretches[plan.n_stretches - 1]);
}

static cr_status read_elf(const uint8_t *elf, uint64_t bytes)
{
    const elf_header *header = (const elf_header *)(const void *)elf;
    if (bytes < sizeof(*header) || header->ident[0] != 0x7f || header->ident[1] != 'E' ||
        header->ident[2] != 'L' || header->ident[3] != 'F' || header->ident[4] != 2 ||
        header->ident[5] != 1 || header->type != ELF_EXEC ||
        header->machine != cr_arch_elf_machine || header->phentsize != sizeof(elf_segment) ||
        header->phoff % 8 != 0 || header->phoff > bytes ||
        (bytes - header->phoff) / sizeof(elf_segment) < header->phnum) {
        return CR_ERR_ARG;
    }
    plan.entry = header->entry;
    const elf_segment *segments = (const elf_segment *)(const void *)(elf + header->phoff);
    for (uint32_t i = 0; plan.thread == 0 && i < header->phnum; i++) {
        const elf_segment *s = &segments[i];
        if (s->type != ELF_LOAD || s->memsz == 0) {
            continue;
        }
        if (s->offset > bytes || s->filesz > bytes - s->offset || s->filesz > s->memsz ||
            s->vaddr < PAGE || s->vaddr >= CR_VADDR_STARTUP ||
            s->memsz > CR_VADDR_STARTUP - s->vaddr) {
            return CR_ERR_ARG;
        }
        uint64_t base = s->vaddr & ~(uint64_t)(PAGE - 1);
        uint64_t pages = (s->vaddr + s->memsz - base + PAGE - 1) / PAGE;
        cr_status status = add_stretch((stretch){.vaddr = base,
                                                 .pages = (uint32_t)pages,
                                                 .writable = (s->flags & ELF_W) != 0,
                                                 .executable = (s->flags & ELF_X) != 0,
                                                 .bytes = elf + s->offset,
                                                 .start = s->vaddr,
                                                 .count = s->filesz});
        if (status != CR_OK) {
            return status;
        }
    }
    return plan.thread != 0 || plan.n_stretches > 0 ? CR_OK : CR_ERR_ARG;
}

/* The file was read by read_elf when the body was made. */
const uint8_t *cr_body_code(const uint8_t *elf, uint64_t vaddr, uint64_t bytes)
{
    const elf_header *header = (const elf_header *)(const void *)elf;
    const elf_segment *segments = (const elf_segment *)(const void *)(elf + header->phoff);
    for (uint32_t i = 0; i < header->phnum; i++) {
        const elf_segment *s = &segments[i];
        if (s->type == ELF_LOAD && (s->flags & (ELF_X | ELF_W)) == ELF_X && vaddr >= s->vaddr &&
            bytes <= s->filesz && vaddr - s->vaddr <= s->filesz - bytes) {
            return elf + s->offset + (vaddr - s->vaddr);
        }
    }
    return 0;
}

/* The slot of the body's CNode with the first frame: behind the last table. */
static uint32_t first_frame(void)
{
    return CR_BODY_TABLES + count_tables();
}

cr_status cr_body_lay_out(const cr_body_params *params)
{
    plan = (layout){.thread = params->thread};
    cr_status status = read_elf(params->elf, params->elf_bytes);
    if (status != CR_OK) {
        return status;
    }
    stretch startup = {.vaddr = cr_vaddr_of(CR_VADDR_STARTUP, plan.thread),
                       .pages = 1,
                       .bytes = (const uint8_t *)params->startup,
                       .start = cr_vaddr_of(CR_VADDR_STARTUP, plan.thread),
                       .count = sizeof(*params->startup)};
    stretch buffer = {
        .vaddr = cr_vaddr_of(CR_VADDR_IPC_BUFFER, plan.thread), .pages = 1, .writable = 1};
    stretch stack = {.vaddr = cr_vaddr_of(CR_VADDR_STACK, plan.thread),
                     .pages = params->stack_pages,
                     .writable = 1};
    if ((status = add_stretch(startup)) != CR_OK || (status = add_stretch(buffer)) != CR_OK ||
        (status = add_stretch(stack)) != CR_OK) {
        return status;
    }
    for (uint32_t i = 0; i < params->n_ranges; i++) {
        const cr_body_range *range = &params->ranges[i];
        status = add_stretch((stretch){.vaddr = range->vaddr,
                                       .pages = (uint32_t)(cr_bytes_of(range->pages) / PAGE),
                                       .page_bits = range->pages.bits,
                                       .is_region = 1});
        if (status != CR_OK) {
            return status;
        }
    }
    plan.peers = params->n_peers;
    plan.parents = first_frame() + plan.frames;
    plan.body_bits = cr_bits_for(plan.parents + (1u << params->cspace_bits));
    /* The order is the order in which the objects are made. Object sizes decrease wherever
     * alignment matters, so no memory is lost to alignment. */
    uint64_t bytes = (1ull << (plan.body_bits + seL4_SlotBits)) +
                     (1ull << (params->cspace_bits + seL4_SlotBits));
    bytes = (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    for (uint32_t level = 0; level < CR_ARCH_TABLE_LEVELS; level++) {
        bytes += (uint64_t)plan.tables[level] << cr_arch_table_bits[level];
    }
    bytes += (uint64_t)plan.frames * PAGE;
    if (plan.thread == 0) {
        const uint64_t vspace = 1ull << cr_arch_vspace_bits; /* not less than a page */
        bytes = ((bytes + vspace - 1) & ~(vspace - 1)) + vspace;
    }
    for (uint32_t i = 0; i < LAST_OBJECTS; i++) {
        bytes += 1ull << last_objects[i].bits;
    }
    plan.bits = cr_bits_for(bytes);
    return CR_OK;
}

/* The kernel makes the CNode without a guard. The CNode needs a guard for its L1 slot, and only a
 * capability that is moved can receive a guard. If the move fails, the slot is empty again when the
 * untyped is revoked, which happens before another slot is taken. */
static seL4_Error make_cnode(seL4_CPtr untyped, uint32_t l1)
{
    uint32_t temporary = cr_pool_take(CR_POOL_OWN);
    if (temporary == 0) {
        return seL4_NotEnoughMemory;
    }
    seL4_Error error =
        cr_retype(untyped, seL4_CapTableObject, plan.body_bits, CR_L1_POOL, temporary, 1);
    if (!error) {
        error = cr_mutate(cr_slot_l1(l1), cr_pool_slot(temporary),
                          cr_cnode_data(CR_SUBSPACE_BITS - plan.body_bits));
    }
    cr_pool_give(temporary);
    return error;
}

static uint32_t frame_batches(void)
{
    return (plan.frames + CONFIG_RETYPE_FAN_OUT_LIMIT - 1) / CONFIG_RETYPE_FAN_OUT_LIMIT;
}

/* What is retyped from the untyped of a body, in the order in which lay_out added up the sizes: the
 * body's CNode and its CSpace, the tables of each level, frames as many as one call makes, the
 * address space, and the thread with its notification and endpoint. A revoke destroys what was made
 * last first. When the address space is gone, the kernel need not unmap its tables and frames. */
enum { FIRST_TABLES = 2, FIRST_FRAMES = FIRST_TABLES + CR_ARCH_TABLE_LEVELS };

/* The place of the address space. */
static uint32_t vspace_at(void)
{
    return FIRST_FRAMES + frame_batches();
}

static uint32_t count_objects(void)
{
    return vspace_at() + 1 + LAST_OBJECTS;
}

/* A notification that outlives its PDs has no bit of the last one. */
static seL4_Error take_bell(seL4_CPtr bell, cr_slot to)
{
    seL4_Word badge;
    cr_count_call(CR_CALL_CONFIGURE);
    (void)seL4_Poll(bell, &badge);
    return cr_copy(to, cr_slot_at(bell), seL4_AllRights);
}

static seL4_Error make_objects(const cr_body_params *params, const cr_body *body, uint32_t at)
{
    const seL4_CPtr untyped = cr_untyped_cap(body->block);
    const uint32_t l1 = body->l1;
    if (at == 0) {
        return make_cnode(untyped, l1);
    }
    if (at == 1) {
        return cr_retype(untyped, seL4_CapTableObject, params->cspace_bits, l1, CR_BODY_CSPACE, 1);
    }
    if (at == vspace_at()) {
        return plan.thread == 0 ? cr_retype_vspace(untyped, l1, CR_BODY_VSPACE)
                                : cr_copy(cr_slot_at(cr_body_cap(body, CR_BODY_VSPACE)),
                                          cr_slot_at(params->vspace), seL4_AllRights);
    }
    if (at < FIRST_FRAMES) {
        const uint32_t level = at - FIRST_TABLES;
        uint32_t slot = CR_BODY_TABLES;
        for (uint32_t i = 0; i < level; i++) {
            slot += plan.tables[i];
        }
        return plan.tables[level] == 0
                   ? seL4_NoError
                   : cr_retype(untyped, cr_arch_table_type[level], cr_arch_table_bits[level], l1,
                               slot, plan.tables[level]);
    }
    if (at < vspace_at()) {
        const uint32_t made = (at - FIRST_FRAMES) * CONFIG_RETYPE_FAN_OUT_LIMIT;
        const uint32_t left = plan.frames - made;
        return cr_retype(untyped, cr_arch_frame_type, PAGE_BITS, l1, first_frame() + made,
                         left < CONFIG_RETYPE_FAN_OUT_LIMIT ? left : CONFIG_RETYPE_FAN_OUT_LIMIT);
    }
    const small_object *object = &last_objects[at - vspace_at() - 1];
    if (object->slot == CR_BODY_NOTIFICATION && params->bell != 0) {
        return take_bell(params->bell, cr_slot_at(cr_body_cap(body, CR_BODY_NOTIFICATION)));
    }
    if (object->slot == CR_BODY_ENDPOINT && params->door != 0) {
        return cr_copy(cr_slot_at(cr_body_cap(body, CR_BODY_ENDPOINT)), cr_slot_at(params->door),
                       seL4_AllRights);
    }
    return object->slot != IN_ITS_CSPACE
               ? cr_retype(untyped, object->type, object->bits, l1, object->slot, 1)
               : cr_retype_into(untyped, object->type, object->bits,
                                cr_slot_at(cr_body_cap(body, CR_BODY_CSPACE)),
                                params->microkit ? CR_MICROKIT_SLOT_REPLY : CR_SLOT_REPLY, 1);
}

/* Fills a page through the window and maps it at its address in the PD. If this fails, the frame
 * may still be in the window until the untyped is revoked. */
static seL4_Error load_page(const cr_body *body, const stretch *s, uint32_t page)
{
    seL4_CPtr frame = cr_body_cap(body, first_frame() + s->first_frame + page);
    uint64_t vaddr = s->vaddr + (uint64_t)page * PAGE;
    seL4_Error error;
    uint64_t from = s->start > vaddr ? s->start : vaddr;
    uint64_t to = s->start + s->count < vaddr + PAGE ? s->start + s->count : vaddr + PAGE;
    /* The kernel zeroes new frames. */
    if (s->count > 0 && from < to) {
        uint8_t *filled;
        error = cr_window_open(frame, PAGE_BITS, 0, &filled);
        if (error) {
            return error;
        }
        (void)memcpy(&filled[from - vaddr], &s->bytes[from - s->start], to - from);
        error = s->executable ? cr_arch_sync_code(frame) : seL4_NoError;
        if (cr_window_close() || error) {
            return seL4_IllegalOperation;
        }
    }
    return cr_arch_map_frame(frame, cr_body_cap(body, CR_BODY_VSPACE), vaddr, s->writable,
                             s->executable);
}

static seL4_Error load_pages(const cr_body_params *params, const cr_body *body, uint32_t at)
{
    (void)params;
    uint32_t page = at;
    for (uint32_t i = 0; i < plan.n_stretches; i++) {
        if (page < plan.stretches[i].pages) {
            return load_page(body, &plan.stretches[i], page);
        }
        page -= plan.stretches[i].pages;
    }
    return seL4_RangeError;
}

static seL4_Error assign_asid(const cr_body_params *params, const cr_body *body, uint32_t at)
{
    (void)params;
    (void)at;
    seL4_Error error = cr_asid_assign(cr_body_cap(body, CR_BODY_VSPACE));
    if (!error) {
        cr_objects_add(body->block, CR_OBJECT_ASID);
    }
    return error;
}

static seL4_Error map_table(const cr_body_params *params, const cr_body *body, uint32_t at)
{
    (void)params;
    uint32_t i = at;
    for (uint32_t level = 0; level < CR_ARCH_TABLE_LEVELS; level++) {
        if (i < plan.tables[level]) {
            return cr_arch_map_table(level, cr_body_cap(body, CR_BODY_TABLES + at),
                                     cr_body_cap(body, CR_BODY_VSPACE), plan.table_vaddr[level][i]);
        }
        i -= plan.tables[level];
    }
    return seL4_RangeError;
}

static cr_slot slot_of(const cr_body *body, uint32_t slot)
{
    return cr_slot_in(cr_body_cap(body, CR_BODY_CSPACE), slot, body->cspace_bits);
}

enum { INITIAL_CAPS = 5 };

static seL4_Error give_initial_cap(const cr_body_params *params, const cr_body *body, uint32_t at)
{
    const cr_slot notification = cr_slot_at(cr_body_cap(body, CR_BODY_NOTIFICATION));
    const cr_slot endpoint = cr_slot_at(cr_body_cap(body, CR_BODY_ENDPOINT));
    const cr_peer_cap *peer;
    switch (at) {
    case 0:
        /* Grant right on the capability to the root task: an operation that names a PD transfers a
         * PD capability. */
        return params->microkit
                   ? seL4_NoError
                   : cr_mint(slot_of(body, CR_SLOT_ROOT), cr_slot_at(params->root_endpoint),
                             seL4_CapRights_new(1, 1, 0, 1), params->request_badge);
    case 1:
        return cr_mint(slot_of(body, params->microkit ? CR_MICROKIT_SLOT_FAULT : CR_SLOT_FAULT),
                       cr_slot_at(params->fault_endpoint), seL4_CapRights_new(1, 0, 0, 1),
                       params->fault_badge);
    case 2:
        return params->microkit ? seL4_NoError
                                : cr_copy(slot_of(body, CR_SLOT_ENDPOINT), endpoint, seL4_CanRead);
    case 3:
        return cr_copy(
            slot_of(body, params->microkit ? CR_MICROKIT_SLOT_INPUT : CR_SLOT_NOTIFICATION),
            params->door != 0 ? endpoint : notification, seL4_CanRead);
    case 4:
        return cr_mint(cr_slot_at(cr_body_cap(body, CR_BODY_SIGNAL)), notification, seL4_CanWrite,
                       params->microkit ? 0 : cr_badge(CR_BADGE_SIGNAL, 0, 0));
    default:
        peer = &params->peers[at - INITIAL_CAPS];
        return cr_mint(slot_of(body, peer->slot), cr_slot_at(peer->to),
                       peer->calls ? CR_CLIENT_RIGHTS : seL4_CanWrite, peer->badge);
    }
}

/* The slot of the body's frame at this address. 0: nothing of it is mapped there. */
static uint32_t find_frame(uint64_t vaddr)
{
    for (uint32_t i = 0; i < plan.n_stretches; i++) {
        const stretch *s = &plan.stretches[i];
        if (!s->is_region && vaddr >= s->vaddr && (vaddr - s->vaddr) / PAGE < s->pages) {
            return first_frame() + s->first_frame + (uint32_t)((vaddr - s->vaddr) / PAGE);
        }
    }
    return 0;
}

static seL4_Error set_spaces(const cr_body_params *params, const cr_body *body)
{
    const uint64_t vaddr = cr_vaddr_of(CR_VADDR_IPC_BUFFER, plan.thread);
    return cr_set_spaces(
        cr_body_cap(body, CR_BODY_TCB), params->microkit ? CR_MICROKIT_SLOT_FAULT : CR_SLOT_FAULT,
        cr_body_cap(body, CR_BODY_CSPACE), cr_cnode_data(seL4_WordBits - params->cspace_bits),
        cr_body_cap(body, CR_BODY_VSPACE), vaddr, cr_body_cap(body, find_frame(vaddr)));
}

/* With MCS, the kernel takes the fault endpoint from the root task's CSpace, where it is for this
 * call only. */
static seL4_Error set_priority(const cr_body_params *params, const cr_body *body)
{
    const seL4_CPtr tcb = cr_body_cap(body, CR_BODY_TCB);
    if (!CR_MCS) {
        return cr_set_priority(tcb, params->priority, 0, 0);
    }
    const uint32_t temporary = cr_pool_take(CR_POOL_OWN);
    if (temporary == 0) {
        return seL4_NotEnoughMemory;
    }
    const seL4_CPtr fault = cr_cptr(CR_L1_POOL, temporary);
    const seL4_CPtr sc = cr_body_cap(body, CR_BODY_SC);
    seL4_Error error = cr_mint(cr_slot_at(fault), cr_slot_at(params->fault_endpoint),
                               seL4_CapRights_new(1, 0, 0, 1), params->fault_badge);
    if (!error) {
        cr_count_call(CR_CALL_CONFIGURE);
        error = cr_give_time(sc, params->time, params->number);
        error = error ? error : cr_set_priority(tcb, params->priority, sc, fault);
        if (!error && cr_time_faults(params->time)) {
            cr_count_call(CR_CALL_CONFIGURE);
            error = cr_set_timeout(tcb, fault);
        }
        error = cr_delete(cr_slot_at(fault)) ? seL4_IllegalOperation : error;
    }
    cr_pool_give(temporary);
    return error;
}

enum { CONFIGURATIONS = 4 };

static seL4_Error configure_thread(const cr_body_params *params, const cr_body *body, uint32_t at)
{
    const seL4_CPtr tcb = cr_body_cap(body, CR_BODY_TCB);
    seL4_UserContext registers;
    seL4_Error error;
    switch (at) {
    case 0:
        cr_count_call(CR_CALL_CONFIGURE);
        return set_spaces(params, body);
    case 1:
        cr_count_call(CR_CALL_CONFIGURE);
        return set_priority(params, body);
    case 2:
        cr_debug_name(tcb, params->name);
        cr_count_call(CR_CALL_CONFIGURE);
        error = seL4_TCB_BindNotification(tcb, cr_body_cap(body, CR_BODY_NOTIFICATION));
        return error || !params->passive ? error
                                         : cr_make_passive(cr_body_cap(body, CR_BODY_SC),
                                                           cr_body_cap(body, CR_BODY_NOTIFICATION));
    default:
        cr_arch_start_registers(&registers, plan.entry,
                                cr_vaddr_of(CR_VADDR_STACK, plan.thread) +
                                    (seL4_Word)params->stack_pages * PAGE);
        return cr_write_registers(tcb, 0, &registers);
    }
}

cr_status cr_body_take_block(uint32_t bits, uint32_t owner, uint32_t *block)
{
    cr_status status = cr_untyped_take(bits, owner, block);
    if (status == CR_ERR_MEMORY && owner >= CR_OWNER_BODY) {
        status = cr_untyped_take(bits, 0, block);
        if (status == CR_OK) {
            cr_untyped_own(*block, owner);
        }
    }
    return status;
}

cr_status cr_body_give_block(uint32_t *block)
{
    if (*block == CR_BLOCK_NONE) {
        return CR_OK;
    }
    if (cr_untyped_revoke(*block)) {
        return CR_ERR_KERNEL;
    }
    cr_untyped_give(*block);
    *block = CR_BLOCK_NONE;
    return CR_OK;
}

cr_status cr_body_reserve(const cr_body_params *params)
{
    uint32_t block;
    cr_status status = cr_body_lay_out(params);
    if (status == CR_OK) {
        status = cr_body_take_block(plan.bits, params->owner, &block);
    }
    if (status == CR_OK) {
        cr_untyped_give(block);
    }
    return status;
}

cr_status cr_body_take(const cr_body_params *params, cr_body *out)
{
    *out = (cr_body){CR_BLOCK_NONE, params->l1, params->cspace_bits, plan.parents};
    return cr_body_take_block(plan.bits, params->owner, &out->block);
}

static uint32_t count_address_spaces(void)
{
    return plan.thread == 0;
}

static uint32_t count_pages(void)
{
    return plan.frames;
}

static uint32_t count_caps(void)
{
    return INITIAL_CAPS + plan.peers;
}

static uint32_t count_configurations(void)
{
    return CONFIGURATIONS;
}

/* The steps after the untyped was taken, in order. */
static const struct {
    cr_make_kind kind;
    uint32_t (*count)(void);
    seL4_Error (*apply)(const cr_body_params *params, const cr_body *body, uint32_t at);
} parts[] = {
    {CR_MAKE_OBJECTS, count_objects, make_objects},
    {CR_MAKE_ASID, count_address_spaces, assign_asid},
    {CR_MAKE_TABLE, count_tables, map_table},
    {CR_MAKE_PAGE, count_pages, load_pages},
    {CR_MAKE_CAP, count_caps, give_initial_cap},
    {CR_MAKE_THREAD, count_configurations, configure_thread},
};

enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

uint32_t cr_body_steps(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < PARTS; i++) {
        count += parts[i].count();
    }
    return count;
}

int cr_body_step(uint32_t at, cr_make_step *out)
{
    uint32_t what = at;
    for (uint32_t i = 0; i < PARTS; i++) {
        const uint32_t count = parts[i].count();
        if (what < count) {
            *out = (cr_make_step){parts[i].kind, what};
            return 1;
        }
        what -= count;
    }
    return 0;
}

cr_status cr_body_apply(const cr_body_params *params, const cr_body *body, const cr_make_step *step)
{
    for (uint32_t i = 0; i < PARTS; i++) {
        if (parts[i].kind == step->kind) {
            return parts[i].apply(params, body, step->what) ? CR_ERR_MEMORY : CR_OK;
        }
    }
    return CR_ERR_ARG;
}

/* -- reading */

/* The frame is mapped in the PD. A copy of its capability is mapped in the window. */
static int copy_words(seL4_CPtr frame, uint64_t vaddr, uint64_t *out, uint32_t count)
{
    const uint32_t temporary = cr_pool_take(CR_POOL_OWN);
    if (temporary == 0) {
        return 0;
    }
    const seL4_CPtr copy = cr_cptr(CR_L1_POOL, temporary);
    uint8_t *bytes;
    int copied = 0;
    if (!cr_copy(cr_slot_at(copy), cr_slot_at(frame), seL4_AllRights)) {
        if (!cr_window_open(copy, PAGE_BITS, 0, &bytes)) {
            const volatile uint64_t *from =
                (const volatile uint64_t *)(const volatile void *)&bytes[vaddr % PAGE];
            for (uint32_t i = 0; i < count; i++) {
                out[i] = from[i];
            }
            copied = !cr_window_close();
        }
        copied &= !cr_delete(cr_slot_at(copy));
    }
    cr_pool_give(temporary);
    return copied;
}

uint32_t cr_body_read(const cr_body_params *params, const cr_body *body, uint64_t vaddr,
                      uint64_t *out, uint32_t max)
{
    const uint64_t left = (PAGE - vaddr % PAGE) / sizeof(uint64_t);
    const uint32_t count = left < max ? (uint32_t)left : max;
    if (vaddr % sizeof(uint64_t) != 0 || cr_body_lay_out(params) != CR_OK) {
        return 0;
    }
    const uint32_t frame = find_frame(vaddr);
    if (frame == 0) {
        return 0;
    }
    return out == 0 || copy_words(cr_body_cap(body, frame), vaddr, out, count) ? count : 0;
}
