/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the root task has of its own in front of the kernel: its slots, its untyped memory, the
 * counts of objects, the numbers of address spaces, and the faults that it is told of. Any boot
 * information, any answers of the kernel, any message, any order of calls. */
#define CELLREAP_ROOT_TASK
#include "any.h"
#include "kernel/tables.h"

/* The most, so that there is more than one pool of numbers of address spaces. */
enum { PDS = CR_MAX_PDS, ENTRIES = 16384 };
cr_image_tables cr_most = {.pds = PDS, .bodies = 2 * PDS, .pool = ENTRIES, .blocks = ENTRIES};

#undef CR_TABLE_MAKE
#define CR_TABLE_MAKE(table, count)                                                                \
    do {                                                                                           \
        static __typeof__(*(table)) all[ENTRIES];                                                  \
        (table) = all;                                                                             \
    } while (0)

#include "kernel/kernel.c"
#include "kernel/objects.c"
#include "kernel/untyped.c"
#include "kernel/fault.c"
#include "kernel/asids.c"
#include "kernel/arch/x86_64/arch.c"

/* The digits of a number, as many as it has. */
size_t cr_format_hex(char *out, uint64_t value)
{
    (void)value;
    for (int i = 0; i < 16; i++) {
        out[i] = '0';
    }
    out[16] = '\0';
    out[at_most(16)] = '\0';
    return 16;
}

static cr_slot a_slot(void)
{
    return (cr_slot){any_64(), any_64(), (uint8_t)any()};
}

static int a_hook(void)
{
    return (int)at_most(1);
}

static void at_the_end(void)
{
}

static void put(char c)
{
    (void)c;
}

static cr_object an_object(void)
{
    return (cr_object)at_most(CR_OBJECT_COUNT - 1);
}

static void memory(void)
{
    uint32_t block = CR_BLOCK_NONE;
    switch (at_most(9)) {
    case 0:
        (void)cr_untyped_take(any(), any(), &block);
        break;
    case 1:
        cr_untyped_own(any(), any());
        (void)cr_untyped_take_at(any_64(), any_64());
        (void)cr_untyped_at(any_64());
        break;
    case 2:
        (void)cr_untyped_reserve(any(), any_64());
        break;
    case 3:
        cr_untyped_give(any());
        break;
    case 4:
        (void)cr_untyped_revoke(any());
        break;
    case 5:
        (void)cr_untyped_find(any_64());
        break;
    case 6:
        (void)cr_untyped_ask((int)at_most(1));
        break;
    case 7:
        (void)cr_untyped_bytes_free();
        cr_untyped_let_split(any(), cr_untyped_splits_left());
        break;
    case 8:
        cr_objects_retyped(any_64(), any_64(), any());
        cr_objects_add(any(), an_object());
        cr_objects_remove(any(), an_object());
        (void)cr_objects_of(any());
        break;
    default:
        (void)(cr_untyped_cap(any()) + cr_untyped_paddr(any()) + cr_untyped_bits(any()) +
               cr_untyped_bytes_used() + cr_untyped_blocks_used() + cr_untyped_top());
        break;
    }
}

static void slots(void)
{
    seL4_CPtr caps[2] = {any_64(), any_64()};
    switch (at_most(3)) {
    case 0:
        (void)cr_pool_take((cr_pool_use)at_most(CR_POOL_USE_COUNT - 1));
        break;
    case 1:
        cr_pool_give(any());
        break;
    case 2:
        (void)cr_pool_used((cr_pool_use)at_most(CR_POOL_USE_COUNT - 1));
        (void)(cr_pool_top() + cr_pool_cnode());
        break;
    default:
        (void)cr_pool_make(any_64(), any_64(), "an object");
        (void)cr_pool_make_each(caps, at_most(2), any_64(), any(), "objects");
        break;
    }
}

static void calls(void)
{
    cr_calls_kept kept;
    uint64_t made[CR_CALL_COUNT];
    uint64_t words[CR_KEPT_ANSWER_MAX];
    seL4_Word badge;
    seL4_UserContext registers;
    cr_fault_kind kind;
    uint64_t address;
    uint64_t ip;
    MAKE_ANY(&words);
    MAKE_ANY(&registers);
    switch (at_most(9)) {
    case 0:
        (void)cr_copy(a_slot(), a_slot(), seL4_AllRights);
        (void)cr_mint(a_slot(), a_slot(), seL4_AllRights, any_64());
        (void)cr_mutate(a_slot(), a_slot(), any_64());
        (void)cr_move(a_slot(), a_slot());
        break;
    case 1:
        (void)cr_delete(a_slot());
        (void)cr_cancel_sends(a_slot());
        break;
    case 2:
        (void)cr_suspend(any_64());
        (void)cr_resume(any_64());
        (void)cr_read_registers(any_64(), &registers);
        (void)cr_write_registers(any_64(), (int)at_most(1), &registers);
        cr_signal(any_64());
        break;
    case 3:
        (void)cr_calls_sum();
        cr_calls_aside(&kept);
        cr_calls_back(&kept, at_most(1) ? made : 0);
        cr_before_calls(at_most(1) ? a_hook : 0);
        break;
    case 4:
        cr_keep_answer(any_64(), any(), words);
        break;
    case 5:
        (void)cr_decode_fault(cr_answer_and_receive(any_64(), &badge), &kind, &address, &ip);
        (void)cr_receive_words(any_64(), &badge, words);
        cr_answer_now(seL4_MessageInfo_new(any_64(), 0, 0, 0));
        break;
    case 6:
        (void)cr_asid_assign(any_64());
        (void)cr_retype_into(any_64(), any_64(), any_64(), a_slot(), any(), any());
        (void)cr_retype_vspace(any_64(), any(), any());
        break;
    case 7:
        (void)cr_delete(cr_slot_l1(any()));
        (void)cr_delete(cr_pool_slot(any()));
        (void)cr_delete(cr_slot_in(any_64(), any(), any()));
        break;
    case 8:
        cr_console_use(at_most(1) ? put : 0);
        cr_before_panic(at_most(1) ? at_the_end : 0);
        cr_after_panic(at_most(1) ? at_the_end : 0);
        (void)(cr_console_exists() + cr_has_panicked());
        break;
    default:
        (void)cr_call_name((cr_call)at_most(CR_CALL_COUNT - 1));
        break;
    }
}

void main(void)
{
    static seL4_BootInfo info;
    static seL4_IPCBuffer buffer;
    static char page[1];
    MAKE_ANY(&info);
    seL4_SetIPCBuffer(&buffer);
    const seL4_CPtr untyped = cr_untyped_of_cspace(&info);
    if (cr_cspace_init(&info, untyped) != CR_OK || cr_untyped_init(&info) != CR_OK) {
        return;
    }
    cr_pool_tables();
    cr_untyped_tables();
    cr_objects_tables();
    if (cr_asids_init() != CR_OK) {
        return;
    }
    (void)(cr_boot_bits() + cr_boot_free() + cr_boot_take());
    if (any() != 0) {
        /* By itself: behind it, Eva takes all that the kernel answers for addresses. */
        (void)cr_image_frame(&info, any_64(), page);
        cr_start_thread(any_64(), any_64(), any_64(), at_the_end, 0, any_64());
        return;
    }
    while (any() != 0) {
        MAKE_ANY(&buffer);
        switch (at_most(2)) {
        case 0:
            memory();
            break;
        case 1:
            slots();
            break;
        default:
            calls();
            break;
        }
    }
}
