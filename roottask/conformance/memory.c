/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Untypeds and the objects created from them, frames and address spaces, and what the kernel
 * provides at boot. */
#include "conformance.h"
#include "kernel/uart.h"

enum {
    VSPACES = 640, /* more than one ASID pool can hold */
    PATTERN = 0x5a5a5a5a
};

/* An address without tables: far from all mappings, and in user space on every architecture. */
#define FAR_AWAY ((seL4_UserTop >> 1) & ~(((seL4_Word)1 << 30) - 1))

static volatile seL4_Word *window(void)
{
    return (volatile seL4_Word *)(void *)cf_window;
}

static seL4_Error map_at_window(seL4_CPtr frame, int writable)
{
    return cr_arch_map_frame(frame, seL4_CapInitThreadVSpace, (seL4_Word)cf_window, writable, 0);
}

static seL4_CPtr untyped_of(uint32_t bits)
{
    return cf_make(seL4_UntypedObject, bits, 1);
}

/* -- retype */

static void retype_count(void)
{
    seL4_CPtr first = cf_slots(CONFIG_RETYPE_FAN_OUT_LIMIT + 1);
    cf_is(cf_retype(cf_untyped, seL4_EndpointObject, 0, first, 0), seL4_RangeError);
    cf_is(cf_retype(cf_untyped, seL4_EndpointObject, 0, first, CONFIG_RETYPE_FAN_OUT_LIMIT + 1),
          seL4_RangeError);
    cf_is((uint64_t)cf_empty(first), 1);
    cf_is(cf_retype(cf_untyped, seL4_EndpointObject, 0, first, CONFIG_RETYPE_FAN_OUT_LIMIT),
          seL4_NoError);
    cf_is((uint64_t)cf_empty(first), 0);
    cf_is((uint64_t)cf_empty(first + CONFIG_RETYPE_FAN_OUT_LIMIT - 1), 0);
    cf_is((uint64_t)cf_empty(first + CONFIG_RETYPE_FAN_OUT_LIMIT), 1);
}

static void retype_slots_beyond_cnode(void)
{
    uint32_t end = cr_most.pool;
    cf_is(cr_retype(cf_untyped, seL4_EndpointObject, 0, CR_L1_POOL, end, 1), seL4_RangeError);
    cf_is(cr_retype(cf_untyped, seL4_EndpointObject, 0, CR_L1_POOL, end + 7, 1), seL4_RangeError);
    cf_is(cr_retype(cf_untyped, seL4_EndpointObject, 0, CR_L1_POOL, end - 1, 2), seL4_RangeError);
}

static void retype_to_occupied_slot(void)
{
    seL4_CPtr first = cf_slots(3);
    cf_is(cf_retype(cf_untyped, seL4_EndpointObject, 0, first + 1, 1), seL4_NoError);
    cf_is(cf_retype(cf_untyped, seL4_EndpointObject, 0, first, 3), seL4_DeleteFirst);
    /* A retype creates all objects or none. */
    cf_is((uint64_t)cf_empty(first), 1);
    cf_is((uint64_t)cf_empty(first + 2), 1);
}

static void retype_beyond_memory(void)
{
    seL4_CPtr untyped = untyped_of(12);
    seL4_CPtr first = cf_slots(2);
    cf_is(cf_retype(untyped, cr_arch_frame_type, seL4_PageBits, first, 2), seL4_NotEnoughMemory);
    cf_is((uint64_t)cf_empty(first), 1);
    cf_is(cf_retype(untyped, seL4_UntypedObject, 13, first, 1), seL4_NotEnoughMemory);
    cf_is(cf_retype(untyped, cr_arch_frame_type, seL4_PageBits, first, 1), seL4_NoError);
    cf_is(cf_retype(untyped, seL4_EndpointObject, 0, first + 1, 1), seL4_NotEnoughMemory);
}

static void retype_unknown_type(void)
{
    cf_is(cf_retype(cf_untyped, seL4_ObjectTypeCount + 100, 12, cf_slots(1), 1),
          seL4_InvalidArgument);
}

static void retype_bad_size(void)
{
    seL4_CPtr to = cf_slots(1);
    cf_is(cf_retype(cf_untyped, seL4_CapTableObject, 0, to, 1), seL4_InvalidArgument);
    cf_is(cf_retype(cf_untyped, seL4_UntypedObject, seL4_MinUntypedBits - 1, to, 1),
          seL4_InvalidArgument);
    cf_is(cf_retype(cf_untyped, seL4_UntypedObject, seL4_WordBits, to, 1), seL4_RangeError);
    cf_is((uint64_t)cf_empty(to), 1);
}

static void retype_into_cnode_by_address(void)
{
    seL4_CPtr lower = cf_mint(cf_make(seL4_CapTableObject, 4, 1), seL4_AllRights, cr_cnode_data(4));
    seL4_CPtr upper = cf_make(seL4_CapTableObject, 4, 1);
    cf_is(cr_copy(cr_slot_in(upper, 2, 4), cr_slot_at(lower), seL4_AllRights), seL4_NoError);
    /* The destination is the CNode in slot 2 of the upper one. */
    cf_is(seL4_Untyped_Retype(cf_untyped, seL4_EndpointObject, 0, upper, 2, 4, 3, 2), seL4_NoError);
    cf_is((uint64_t)cf_empty_in((cr_slot){lower, 3, 8}), 0);
    cf_is((uint64_t)cf_empty_in((cr_slot){lower, 4, 8}), 0);
    cf_is((uint64_t)cf_empty_in((cr_slot){lower, 5, 8}), 1);
    /* Depth 0: the destination is the root CNode itself. */
    cf_is(seL4_Untyped_Retype(cf_untyped, seL4_EndpointObject, 0, upper, 0, 0, 7, 1), seL4_NoError);
    cf_is((uint64_t)cf_empty_in(cr_slot_in(upper, 7, 4)), 0);
}

static void retype_into_no_cnode(void)
{
    seL4_CPtr cnode = cf_make(seL4_CapTableObject, 4, 1);
    seL4_CPtr endpoint = cf_endpoint();
    cf_is(cr_copy(cr_slot_in(cnode, 2, 4), cr_slot_at(endpoint), seL4_AllRights), seL4_NoError);
    cf_is(seL4_Untyped_Retype(cf_untyped, seL4_EndpointObject, 0, cnode, 2, 4, 3, 1),
          seL4_FailedLookup);
    cf_is(seL4_Untyped_Retype(cf_untyped, seL4_EndpointObject, 0, cnode, 3, 4, 3, 1),
          seL4_FailedLookup);
}

/* Objects have the size that the headers state: an untyped of this size has room for one object,
 * not for two. */
static void takes(seL4_Word type, seL4_Word bits, uint32_t size)
{
    seL4_CPtr untyped = untyped_of(size);
    seL4_CPtr to = cf_slots(2);
    cf_is(cf_retype(untyped, type, bits, to, 1), seL4_NoError);
    cf_is(cf_retype(untyped, type, bits, to + 1, 1), seL4_NotEnoughMemory);
}

static void object_sizes(void)
{
    takes(seL4_EndpointObject, 0, seL4_EndpointBits);
    takes(seL4_NotificationObject, 0, seL4_NotificationBits);
    takes(seL4_TCBObject, 0, seL4_TCBBits);
    takes(seL4_CapTableObject, 8, 8 + seL4_SlotBits);
    takes(cr_arch_frame_type, seL4_PageBits, seL4_PageBits);
    takes(cr_arch_vspace_type, cr_arch_vspace_bits, cr_arch_vspace_bits);
    for (uint32_t level = 0; level < CR_ARCH_TABLE_LEVELS; level++) {
        takes(cr_arch_table_type[level], cr_arch_table_bits[level], cr_arch_table_bits[level]);
    }
}

static void objects_are_aligned_to_their_size(void)
{
    seL4_CPtr untyped = untyped_of(13);
    seL4_CPtr to = cf_slots(4);
    cf_is(cf_retype(untyped, seL4_EndpointObject, 0, to, 1), seL4_NoError);
    cf_is(cf_retype(untyped, cr_arch_frame_type, seL4_PageBits, to + 1, 1), seL4_NoError);
    /* The space before the frame is lost until the untyped is reset. */
    cf_is(cf_retype(untyped, seL4_EndpointObject, 0, to + 2, 1), seL4_NotEnoughMemory);
}

/* -- contents of memory and reuse */

static void untyped_is_reset_without_children(void)
{
    seL4_CPtr untyped = untyped_of(13);
    seL4_CPtr to = cf_slots(3);
    cf_is(cf_retype(untyped, cr_arch_frame_type, seL4_PageBits, to, 2), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(to)), seL4_NoError);
    /* One child is left, so the memory is not free. */
    cf_is(cf_retype(untyped, seL4_EndpointObject, 0, to, 1), seL4_NotEnoughMemory);
    cf_is(cr_delete(cr_slot_at(to + 1)), seL4_NoError);
    cf_is(cf_retype(untyped, seL4_UntypedObject, 13, to, 1), seL4_NoError);
}

static void revoke_untyped_takes_everything(void)
{
    seL4_CPtr untyped = untyped_of(14);
    seL4_CPtr to = cf_slots(3);
    seL4_CPtr cnode = cf_make(seL4_CapTableObject, 4, 1);
    cf_is(cf_retype(untyped, seL4_EndpointObject, 0, to, 1), seL4_NoError);
    cf_is(cf_retype(untyped, seL4_UntypedObject, 12, to + 1, 1), seL4_NoError);
    cf_is(cf_retype(to + 1, seL4_EndpointObject, 0, to + 2, 1), seL4_NoError);
    seL4_CPtr badged = cf_mint(to, seL4_AllRights, 5);
    cf_is(cr_copy(cr_slot_in(cnode, 3, 4), cr_slot_at(badged), seL4_CanWrite), seL4_NoError);
    cf_is(cr_copy(cr_slot_in(cnode, 4, 4), cr_slot_at(to + 2), seL4_CanWrite), seL4_NoError);
    cf_is(cr_revoke(cr_slot_at(untyped)), seL4_NoError);
    for (uint32_t i = 0; i < 3; i++) {
        cf_is((uint64_t)cf_empty(to + i), 1);
    }
    cf_is((uint64_t)cf_empty(badged), 1);
    cf_is((uint64_t)cf_empty_in(cr_slot_in(cnode, 3, 4)), 1);
    cf_is((uint64_t)cf_empty_in(cr_slot_in(cnode, 4, 4)), 1);
    cf_is((uint64_t)cf_empty(untyped), 0);
    cf_is(cf_retype(untyped, seL4_UntypedObject, 14, to, 1), seL4_NoError);
}

static void halves_are_split_and_joined(void)
{
    seL4_CPtr untyped = untyped_of(13);
    seL4_CPtr to = cf_slots(4);
    cf_is(cf_retype(untyped, seL4_UntypedObject, 12, to, 1), seL4_NoError);
    cf_is(cf_retype(untyped, seL4_UntypedObject, 12, to + 1, 1), seL4_NoError);
    cf_is(cf_retype(to, cr_arch_frame_type, seL4_PageBits, to + 2, 1), seL4_NoError);
    cf_is(cf_retype(to + 1, cr_arch_frame_type, seL4_PageBits, to + 3, 1), seL4_NoError);
    cf_is(cr_revoke(cr_slot_at(to)), seL4_NoError);
    cf_is((uint64_t)cf_empty(to + 2), 1);
    cf_is((uint64_t)cf_empty(to + 3), 0);
    cf_is(cr_revoke(cr_slot_at(untyped)), seL4_NoError);
    cf_is((uint64_t)cf_empty(to + 3), 1);
    cf_is(cf_retype(untyped, seL4_UntypedObject, 13, to, 1), seL4_NoError);
}

/* Spins until the first worker has run. */
static void signal_when_first_ran(volatile cf_worker *self)
{
    while (cf_workers[0].progress == 0) {
    }
    seL4_Signal(self->cap);
}

static void revoke_untyped_stops_running_thread(void)
{
    seL4_CPtr wake = cf_notification();
    volatile cf_worker *w = cf_start(cf_do_spin, 0, 0);
    seL4_Word badge = 0;
    (void)cf_start(signal_when_first_ran, wake, 0);
    seL4_Wait(wake, &badge); /* They have equal priorities, so both run in turn. */
    cf_is(w->progress > 0, 1);
    /* Only the root task may be able to run after this; otherwise settling would never end. */
    cf_is(cr_revoke(cr_slot_at(cf_untyped)), seL4_NoError);
    uint32_t before = w->progress;
    cf_settle();
    cf_is(w->progress, before);
}

static void revoke_untyped_unmaps_frames(void)
{
    seL4_CPtr untyped = untyped_of(12);
    seL4_CPtr frame = cf_slots(1);
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(cf_do_read, 0, cf_fault_cap(handler, 9));
    cf_is(cf_retype(untyped, cr_arch_frame_type, seL4_PageBits, frame, 1), seL4_NoError);
    cf_is(map_at_window(frame, 1), seL4_NoError);
    *window() = PATTERN;
    cf_is(cr_revoke(cr_slot_at(untyped)), seL4_NoError);
    w->address = (uintptr_t)cf_window;
    cf_go(w);
    cf_expect_vm_fault(handler, 9, (uintptr_t)cf_window);
    cf_is(w->progress, 0);
}

static void memory_is_cleared_on_reuse(void)
{
    seL4_CPtr untyped = untyped_of(12);
    seL4_CPtr frame = cf_slots(1);
    uint32_t others = 0;
    cf_is(cf_retype(untyped, cr_arch_frame_type, seL4_PageBits, frame, 1), seL4_NoError);
    if (map_at_window(frame, 1)) {
        cf_is(0, 1);
        return;
    }
    for (uint32_t i = 0; i < CF_PAGE / sizeof(seL4_Word); i++) {
        window()[i] = PATTERN;
    }
    cf_is(cr_revoke(cr_slot_at(untyped)), seL4_NoError);
    cf_is(cf_retype(untyped, cr_arch_frame_type, seL4_PageBits, frame, 1), seL4_NoError);
    if (map_at_window(frame, 0)) {
        cf_is(0, 1);
        return;
    }
    for (uint32_t i = 0; i < CF_PAGE / sizeof(seL4_Word); i++) {
        others += window()[i] != 0;
    }
    cf_is(others, 0);
}

/* Creates a body like those of the root task, all from one untyped: a CNode with capabilities to
 * its own TCB, and an address space with a thread in it. One revoke destroys it. Repeats this
 * many times. */
static void whole_body_goes_with_its_untyped(void)
{
    seL4_CPtr untyped = untyped_of(17);
    seL4_CPtr to = cf_slots(4);
    seL4_CPtr cnode = to;
    for (uint32_t round = 0; round < 3; round++) {
        cf_is(cf_retype(untyped, seL4_CapTableObject, 8, cnode, 1), seL4_NoError);
        seL4_CPtr vspace = cf_vspace(untyped);
        volatile cf_worker *w = cf_worker_make(cf_do_recv, cf_endpoint(), 0);
        cf_move_to(w, vspace, 0);
        cf_is(seL4_Untyped_Retype(untyped, seL4_TCBObject, 0, cnode, 0, 0, 1, 1), seL4_NoError);
        cf_is(seL4_Untyped_Retype(untyped, seL4_EndpointObject, 0, cnode, 0, 0, 2, 1),
              seL4_NoError);
        cf_is(cr_mint(cr_slot_in(cnode, 3, 8), cr_slot_in(cnode, 2, 8), seL4_AllRights, 5),
              seL4_NoError);
        cf_is(cr_copy(cr_slot_in(cnode, 4, 8), cr_slot_at(w->tcb), seL4_AllRights), seL4_NoError);
        cf_go(w);
        cf_settle();
        cf_is(cr_suspend(w->tcb), seL4_NoError);
        cf_is(cr_revoke(cr_slot_at(untyped)), seL4_NoError);
        cf_is((uint64_t)cf_empty(cnode), 1);
        cf_is((uint64_t)cf_empty(vspace), 1);
        cf_is(cf_retype(untyped, seL4_UntypedObject, 17, to + 1, 1), seL4_NoError);
        cf_is(cr_delete(cr_slot_at(to + 1)), seL4_NoError);
    }
}

/* -- frames */

static void frame_comes_cleared(void)
{
    uint32_t others = 0;
    if (map_at_window(cf_frame(), 0)) {
        cf_is(0, 1);
        return;
    }
    for (uint32_t i = 0; i < CF_PAGE / sizeof(seL4_Word); i++) {
        others += window()[i] != 0;
    }
    cf_is(others, 0);
}

static void frame_mapped_once_at_a_time(void)
{
    seL4_CPtr frame = cf_frame();
    seL4_CPtr other = cf_vspace(cf_untyped);
    cf_is(map_at_window(frame, 1), seL4_NoError);
    cf_is(cr_arch_map_frame(frame, other, (seL4_Word)cf_window, 1, 0), seL4_InvalidCapability);
    cf_is(cr_arch_unmap_frame(frame), seL4_NoError);
    cf_is(cr_arch_map_frame(frame, other, (seL4_Word)cf_window, 1, 0), seL4_NoError);
}

/* A dump reads a page of a PD through a copy of its capability. */
static void copy_of_mapped_frame(void)
{
    seL4_CPtr frame = cf_frame();
    seL4_CPtr copy = cf_slots(1);
    seL4_CPtr other = cf_vspace(cf_untyped);
    if (map_at_window(frame, 1)) {
        cf_is(0, 1);
        return;
    }
    *window() = PATTERN;
    cf_is(cr_arch_unmap_frame(frame), seL4_NoError);
    cf_is(cr_arch_map_frame(frame, other, (seL4_Word)cf_window, 1, 0), seL4_NoError);
    cf_is(cr_copy(cr_slot_at(copy), cr_slot_at(frame), seL4_AllRights), seL4_NoError);
    if (map_at_window(copy, 0)) {
        cf_is(0, 1);
        return;
    }
    cf_is(*window(), PATTERN);
    cf_is(cr_arch_unmap_frame(copy), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(copy)), seL4_NoError);
    /* The frame is still mapped where it was. */
    cf_is(map_at_window(frame, 1), seL4_InvalidCapability);
}

static void unmap_makes_accesses_fault(void)
{
    seL4_CPtr frame = cf_frame();
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(cf_do_write, 0, cf_fault_cap(handler, 9));
    w->address = (uintptr_t)cf_window + 64;
    cf_is(map_at_window(frame, 1), seL4_NoError);
    *window() = 1;
    cf_is(cr_arch_unmap_frame(frame), seL4_NoError);
    /* unmapping a frame that is not mapped succeeds */
    cf_is(cr_arch_unmap_frame(frame), seL4_NoError);
    cf_go(w);
    cf_expect_vm_fault(handler, 9, (uintptr_t)cf_window + 64);
    cf_is(w->progress, 0);
}

static void delete_of_frame_unmaps(void)
{
    seL4_CPtr frame = cf_frame();
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(cf_do_read, 0, cf_fault_cap(handler, 9));
    w->address = (uintptr_t)cf_window;
    cf_is(map_at_window(frame, 1), seL4_NoError);
    *window() = 1;
    cf_is(cr_delete(cr_slot_at(frame)), seL4_NoError);
    cf_go(w);
    cf_expect_vm_fault(handler, 9, (uintptr_t)cf_window);
}

static void read_only_frame(void)
{
    seL4_CPtr frame = cf_frame();
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *reader = cf_worker_make(cf_do_read, 0, cf_fault_cap(handler, 8));
    volatile cf_worker *writer = cf_worker_make(cf_do_write, 0, cf_fault_cap(handler, 9));
    if (map_at_window(frame, 1)) {
        cf_is(0, 1);
        return;
    }
    window()[2] = PATTERN;
    cf_is(cr_arch_unmap_frame(frame), seL4_NoError);
    cf_is(map_at_window(frame, 0), seL4_NoError);
    reader->address = writer->address = (uintptr_t)cf_window + 2 * sizeof(seL4_Word);
    writer->words[0] = 1;
    cf_go(reader);
    cf_settle();
    cf_is(reader->progress, 1);
    cf_is(reader->words[0], PATTERN);
    cf_go(writer);
    cf_expect_vm_fault(handler, 9, (uintptr_t)cf_window + 2 * sizeof(seL4_Word));
    cf_is(window()[2], PATTERN);
}

static void copy_of_frame_maps_elsewhere(void)
{
    seL4_CPtr frame = cf_frame();
    seL4_CPtr copy = cf_copy(frame, seL4_AllRights);
    seL4_CPtr other = cf_vspace(cf_untyped);
    volatile cf_worker *w = cf_worker_make(cf_do_read, 0, 0);
    w->address = (uintptr_t)cf_window;
    cf_move_to(w, other, 0);
    cf_is(cr_arch_map_frame(copy, other, (seL4_Word)cf_window, 0, 0), seL4_NoError);
    if (map_at_window(frame, 1)) {
        cf_is(0, 1);
        return;
    }
    *window() = PATTERN;
    cf_go(w);
    cf_settle();
    cf_is(w->progress, 1);
    cf_is(w->words[0], PATTERN);
}

static void jump(volatile cf_worker *self)
{
    void (*there)(void) = (void (*)(void))self->address;
    there();
    self->progress++;
}

static void jump_to_unmapped_page(void)
{
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(jump, 0, cf_fault_cap(handler, 9));
    w->address = (uintptr_t)cf_window;
    cf_go(w);
    cf_expect_vm_fault(handler, 9, (uintptr_t)cf_window);
}

void cr_illegal_instruction(void);

/* Programs are loaded like this: written through one mapping and executed through another. */
static void code_written_through_another_mapping_runs(void)
{
    enum { CODE = 16 };
    seL4_CPtr frame = cf_frame();
    seL4_CPtr other = cf_vspace(cf_untyped);
    seL4_CPtr handler = cf_endpoint();
    cr_fault_kind kind = CR_FAULT_KIND_COUNT;
    uint64_t address = 0;
    uint64_t ip = 0;
    const volatile uint8_t *code = (const volatile uint8_t *)(uintptr_t)cr_illegal_instruction;
    volatile cf_worker *w = cf_worker_make(jump, 0, 0);
    w->address = (uintptr_t)cf_window + 64;
    cf_move_to(w, other, cf_fault_cap(handler, 9));
    if (map_at_window(frame, 1)) {
        cf_is(0, 1);
        return;
    }
    for (uint32_t i = 0; i < CODE; i++) {
        ((volatile uint8_t *)cf_window)[64 + i] = code[i];
    }
    cf_is(cr_arch_sync_code(frame), seL4_NoError);
    cf_is(cr_arch_unmap_frame(frame), seL4_NoError);
    cf_is(cr_arch_map_frame(frame, other, (seL4_Word)cf_window, 0, 1), seL4_NoError);
    cf_go(w);
    cf_message m = cf_receive(handler);
    cf_is((uint64_t)cr_decode_fault(m.tag, &kind, &address, &ip), 1);
    cf_is(kind, CR_FAULT_EXCEPTION);
    cf_is(ip, (uintptr_t)cf_window + 64);
    cf_is(w->progress, 0);
}

/* One table of each level is needed, the widest first. */
static void mapping_needs_tables(void)
{
    seL4_CPtr frame = cf_frame();
    for (uint32_t level = 0; level < CR_ARCH_TABLE_LEVELS; level++) {
        seL4_CPtr table = cf_make(cr_arch_table_type[level], cr_arch_table_bits[level], 1);
        cf_is(cr_arch_map_frame(frame, seL4_CapInitThreadVSpace, FAR_AWAY, 1, 0),
              seL4_FailedLookup);
        cf_is(cr_arch_map_table(level, table, seL4_CapInitThreadVSpace, FAR_AWAY), seL4_NoError);
    }
    cf_is(cr_arch_map_frame(frame, seL4_CapInitThreadVSpace, FAR_AWAY, 1, 0), seL4_NoError);
}

static void table_where_one_is(void)
{
    uint32_t last = CR_ARCH_TABLE_LEVELS - 1;
    seL4_Word span = (seL4_Word)1 << cr_arch_table_span[last];
    seL4_CPtr table = cf_make(cr_arch_table_type[last], cr_arch_table_bits[last], 1);
    cf_is(cr_arch_map_table(last, table, seL4_CapInitThreadVSpace,
                            (seL4_Word)cf_window & ~(span - 1)),
          seL4_DeleteFirst);
}

/* -- address spaces */

static void thread_in_another_address_space(void)
{
    seL4_CPtr frame = cf_frame();
    seL4_CPtr mine = cf_frame();
    seL4_CPtr other = cf_vspace(cf_untyped);
    volatile cf_worker *w = cf_worker_make(cf_do_write, 0, 0);
    w->address = (uintptr_t)cf_window;
    w->words[0] = PATTERN;
    cf_move_to(w, other, 0);
    cf_is(cr_arch_map_frame(frame, other, (seL4_Word)cf_window, 1, 0), seL4_NoError);
    if (map_at_window(mine, 1)) {
        cf_is(0, 1);
        return;
    }
    *window() = 7;
    cf_go(w);
    cf_settle();
    cf_is(w->progress, 1);
    /* The same address with another frame. */
    cf_is(*window(), 7);
    cf_is(cr_arch_unmap_frame(mine), seL4_NoError);
    cf_is(cr_arch_unmap_frame(frame), seL4_NoError);
    cf_is(map_at_window(frame, 0), seL4_NoError);
    cf_is(*window(), PATTERN);
}

static void asids_are_used_again(void)
{
    seL4_CPtr untyped = untyped_of(16);
    seL4_CPtr vspace = cf_slots(1);
    uint32_t made = 0;
    for (uint32_t i = 0; i < VSPACES; i++) {
        if (cf_retype(untyped, cr_arch_vspace_type, cr_arch_vspace_bits, vspace, 1) ||
            cr_arch_assign_asid(seL4_CapInitThreadASIDPool, vspace) ||
            cr_revoke(cr_slot_at(untyped))) {
            break;
        }
        made++;
    }
    cf_is(made, VSPACES);
}

static void asid_is_assigned_once(void)
{
    seL4_CPtr vspace = cf_make(cr_arch_vspace_type, cr_arch_vspace_bits, 1);
    cf_is(cr_arch_assign_asid(seL4_CapInitThreadASIDPool, vspace), seL4_NoError);
    cf_is(cr_arch_assign_asid(seL4_CapInitThreadASIDPool, vspace), seL4_InvalidCapability);
}

/* A large page is mapped where a table of the last level could be. Of the addresses in the first
 * GiB, for which there are the other tables, the image and its tables need only the beginning. */
static void large_page(void)
{
    enum { LARGE = 1 << CR_LARGE_PAGE_BITS, AT = 0x30000000 };
    volatile seL4_Word *first = (volatile seL4_Word *)(uintptr_t)AT;
    volatile seL4_Word *last = (volatile seL4_Word *)(uintptr_t)(AT + LARGE - sizeof(seL4_Word));
    seL4_CPtr large = cf_make(cr_arch_large_type, 0, 1);
    seL4_CPtr small = cf_make(cr_arch_frame_type, 0, 1);
    seL4_CPtr vspace = seL4_CapInitThreadVSpace;
    cf_is(cr_arch_map_frame(large, vspace, AT + CF_PAGE, 1, 0), seL4_AlignmentError);
    if (cr_arch_map_frame(large, vspace, AT, 1, 0)) {
        cf_is(0, 1);
        return;
    }
    cf_is(*first | *last, 0);
    *first = PATTERN;
    *last = PATTERN + 1;
    cf_is(cr_arch_map_frame(small, vspace, AT + CF_PAGE, 1, 0), seL4_FailedLookup);
    cf_is(cr_arch_unmap_frame(large), seL4_NoError);
    cf_is(cr_arch_map_frame(large, vspace, AT + LARGE, 1, 0), seL4_NoError);
    cf_is(first[LARGE / sizeof(seL4_Word)], PATTERN);
    cf_is(last[LARGE / sizeof(seL4_Word)], PATTERN + 1);
}

static void another_asid_pool(void)
{
    seL4_CPtr untyped = untyped_of(seL4_ASIDPoolBits);
    seL4_CPtr pool = cf_slots(2);
    seL4_CPtr vspace = cf_make(cr_arch_vspace_type, cr_arch_vspace_bits, 1);
    cf_is(cr_arch_make_asid_pool(untyped_of(seL4_ASIDPoolBits + 1), cr_slot_at(pool)),
          seL4_InvalidCapability);
    cf_is(cr_arch_make_asid_pool(untyped, cr_slot_at(vspace)), seL4_DeleteFirst);
    cf_is(cr_arch_make_asid_pool(untyped, cr_slot_at(pool)), seL4_NoError);
    cf_is(cr_arch_make_asid_pool(untyped, cr_slot_at(pool + 1)), seL4_RevokeFirst);
    cf_is(cr_arch_assign_asid(pool, vspace), seL4_NoError);
    cf_is(cr_arch_assign_asid(pool, vspace), seL4_InvalidCapability);
    cf_is(cr_revoke(cr_slot_at(untyped)), seL4_NoError);
    cf_is((uint64_t)cf_empty(pool), 1);
}

/* -- what the kernel gives at boot */

static void boot_untypeds(void)
{
    const seL4_BootInfo *info = cf_info();
    uint32_t n = (uint32_t)(info->untyped.end - info->untyped.start);
    uint64_t memory = 0;
    cf_is(n > 0 && n <= CONFIG_MAX_NUM_BOOTINFO_UNTYPED_CAPS, 1);
    for (uint32_t i = 0; i < n && i < CONFIG_MAX_NUM_BOOTINFO_UNTYPED_CAPS; i++) {
        const seL4_UntypedDesc *a = &info->untypedList[i];
        cf_is(a->sizeBits >= seL4_MinUntypedBits && a->sizeBits <= seL4_MaxUntypedBits, 1);
        cf_is((uint64_t)cf_empty(info->untyped.start + i), 0);
        if (a->isDevice) {
            continue; /* The root task uses at most those of its console and its timer. */
        }
        cf_is(a->paddr & (((seL4_Word)1 << a->sizeBits) - 1), 0);
        memory += (uint64_t)1 << a->sizeBits;
        for (uint32_t k = 0; k < i; k++) {
            const seL4_UntypedDesc *b = &info->untypedList[k];
            cf_is(a->paddr + ((seL4_Word)1 << a->sizeBits) <= b->paddr ||
                      b->paddr + ((seL4_Word)1 << b->sizeBits) <= a->paddr,
                  1);
        }
    }
    cf_is(memory >= (uint64_t)1 << 26, 1);
}

static void boot_empty_slots(void)
{
    const seL4_BootInfo *info = cf_info();
    cf_is(info->initThreadCNodeSizeBits, CONFIG_ROOT_CNODE_SIZE_BITS);
    cf_is(info->empty.start < info->empty.end, 1);
    cf_is(info->empty.end, (seL4_Word)1 << CONFIG_ROOT_CNODE_SIZE_BITS);
    /* The first slots hold the root task's own CNodes and pages at this point, the last ones its
     * console. */
    cf_is((uint64_t)cf_empty(cr_boot_free()), 1);
    cf_is((uint64_t)cf_empty(info->empty.end - CR_UART_SLOTS - 1), 1);
}

static void boot_image_frames(void)
{
    const seL4_BootInfo *info = cf_info();
    cf_is(info->userImageFrames.end - info->userImageFrames.start >= cf_image_pages(), 1);
    seL4_CPtr last = cf_copy(info->userImageFrames.end - 1, seL4_AllRights);
    cf_is((uint64_t)map_at_window(last, 1), 0);
    cf_is(cr_arch_unmap_frame(last), seL4_NoError);
}

/* The n-th capability is to the n-th page of the image. */
static void boot_image_frames_in_order(void)
{
    static volatile _Alignas(CF_PAGE) seL4_Word pages[2][CF_PAGE / sizeof(seL4_Word)];
    for (uint32_t i = 0; i < 2; i++) {
        seL4_CPtr copy = cf_copy(cf_image_frame(pages[i]), seL4_AllRights);
        pages[i][5] = PATTERN + i;
        if (map_at_window(copy, 1)) {
            cf_is(0, 1);
            return;
        }
        cf_is(window()[5], PATTERN + i);
        window()[6] = PATTERN + i;
        cf_is(pages[i][6], PATTERN + i);
        cf_is(cr_arch_unmap_frame(copy), seL4_NoError);
    }
}

static void boot_ipc_buffer(void)
{
    const seL4_BootInfo *info = cf_info();
    cf_is((uintptr_t)info->ipcBuffer != 0, 1);
    cf_is((uintptr_t)info->ipcBuffer % sizeof(seL4_IPCBuffer), 0);
    cf_is(info->nodeID, 0);
    cf_is(info->numNodes, 1);
}

const cf_check cf_memory_checks[] = {
    {"retype-count", retype_count},
    {"retype-slots-beyond-cnode", retype_slots_beyond_cnode},
    {"retype-to-occupied-slot", retype_to_occupied_slot},
    {"retype-beyond-memory", retype_beyond_memory},
    {"retype-unknown-type", retype_unknown_type},
    {"retype-bad-size", retype_bad_size},
    {"retype-into-cnode-by-address", retype_into_cnode_by_address},
    {"retype-into-no-cnode", retype_into_no_cnode},
    {"object-sizes", object_sizes},
    {"objects-are-aligned-to-their-size", objects_are_aligned_to_their_size},
    {"untyped-is-reset-without-children", untyped_is_reset_without_children},
    {"revoke-untyped-takes-everything", revoke_untyped_takes_everything},
    {"halves-are-split-and-joined", halves_are_split_and_joined},
    {"revoke-untyped-stops-running-thread", revoke_untyped_stops_running_thread},
    {"revoke-untyped-unmaps-frames", revoke_untyped_unmaps_frames},
    {"memory-is-cleared-on-reuse", memory_is_cleared_on_reuse},
    {"whole-body-goes-with-its-untyped", whole_body_goes_with_its_untyped},
    {"frame-comes-cleared", frame_comes_cleared},
    {"frame-mapped-once-at-a-time", frame_mapped_once_at_a_time},
    {"copy-of-mapped-frame", copy_of_mapped_frame},
    {"unmap-makes-accesses-fault", unmap_makes_accesses_fault},
    {"delete-of-frame-unmaps", delete_of_frame_unmaps},
    {"read-only-frame", read_only_frame},
    {"copy-of-frame-maps-elsewhere", copy_of_frame_maps_elsewhere},
    {"jump-to-unmapped-page", jump_to_unmapped_page},
    {"code-written-through-another-mapping-runs", code_written_through_another_mapping_runs},
    {"mapping-needs-tables", mapping_needs_tables},
    {"table-where-one-is", table_where_one_is},
    {"thread-in-another-address-space", thread_in_another_address_space},
    {"asids-are-used-again", asids_are_used_again},
    {"asid-is-assigned-once", asid_is_assigned_once},
    {"large-page", large_page},
    {"another-asid-pool", another_asid_pool},
    {"boot-untypeds", boot_untypeds},
    {"boot-empty-slots", boot_empty_slots},
    {"boot-image-frames", boot_image_frames},
    {"boot-image-frames-in-order", boot_image_frames_in_order},
    {"boot-ipc-buffer", boot_ipc_buffer},
    {0, 0},
};
