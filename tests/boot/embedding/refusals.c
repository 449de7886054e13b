/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A root task that asks the component for what it must refuse, and prints each answer. It is built
 * in the place of examples/embed/main.c. */
#include "embed.h"
#include <cellreap/component.h>
#include <cellreap/kernel/compat.h>
#include <cellreap/limits.h>
#include <cellreap/protocol.h>
#include <stdbool.h>

extern const char ledger_elf[], ledger_elf_end[], cr_image_base[];

enum { KEPT_BITS = 12, BADGE = 4 };

static cr_component_program program = {.name = "idle", .elf = ledger_elf};
static cr_image_pd pd = {.name = "idle",
                         .priority = 1,
                         .spawn_priority = 1,
                         .cspace_bits = CSPACE_BITS,
                         .stack_pages = 1,
                         .process = CR_IMAGE_NONE,
                         .threads = 1,
                         .fault_handler = CR_IMAGE_NONE,
                         .quotas = CR_FAIR_SHARES};
static cr_image_tables tables = {.pds = 11,
                                 .nodes = 1048,
                                 .edges = 3128,
                                 .spaces = 131,
                                 .types = 67,
                                 .requests = 513,
                                 .tombstones = 128,
                                 .tickets = 128,
                                 .maps = 512,
                                 .slots = 704,
                                 .pairs = 121,
                                 .bodies = 16,
                                 .pool = 2048,
                                 .blocks = 1024};

static cr_component_system system = {.version = CR_IMAGE_VERSION,
                                     .name = "refusals",
                                     .kernel = EMBED_KERNEL,
                                     .await_ms = 1,
                                     .programs = &program,
                                     .pds = &pd,
                                     .n_programs = 1,
                                     .n_pds = 1,
                                     .tables = &tables};
static cr_component_room room;

#ifdef CONFIG_PRINTING
static bool ending;

/* Says so at the first record of the end: the host may stop the machine after the last one. */
static void put(char c)
{
    if (ending && c == '~') {
        ending = false;
        for (const char *at = "answer: the trace is put 00\n"; *at != '\0'; at++) {
            seL4_DebugPutChar(*at);
        }
    }
    seL4_DebugPutChar(c);
}
#endif

static void answer(const char *what, cr_status status)
{
    const char digits[] = {(char)('0' + status / 10), (char)('0' + status % 10), '\n', '\0'};
    cr_component_print("answer: ");
    cr_component_print(what);
    cr_component_print(" ");
    cr_component_print(digits);
}

/* Changes one number of the description or the room, asks, and changes it back. */
#define WITH(thing, value)                                                                         \
    do {                                                                                           \
        const __typeof__(thing) before = thing;                                                    \
        thing = (__typeof__(thing))(value);                                                        \
        answer(#thing, cr_component_init(&room, &system));                                         \
        thing = before;                                                                            \
    } while (0)

static seL4_CPtr untyped_to_keep(const seL4_BootInfo *info)
{
    seL4_Word best = 0, bits = seL4_WordBits;
    for (seL4_Word i = 0; i < info->untyped.end - info->untyped.start; i++) {
        const seL4_UntypedDesc *desc = &info->untypedList[i];
        if (!desc->isDevice && desc->sizeBits >= KEPT_BITS && desc->sizeBits < bits) {
            best = info->untyped.start + i;
            bits = desc->sizeBits;
        }
    }
    return best;
}

void cr_root_main(const seL4_BootInfo *info)
{
    const uint64_t kept[] = {untyped_to_keep(info)};
    const seL4_Word bits = info->untypedList[kept[0] - info->untyped.start].sizeBits;
    const uint64_t mine = info->empty.start + CR_COMPONENT_SLOTS;
    static const uint64_t no_untyped[] = {1};
    program.bytes = (uint32_t)(ledger_elf_end - ledger_elf);
    room = (cr_component_room){info, info->empty.start, kept, 1, cr_image_base, 0};
#ifdef CONFIG_PRINTING
    room.put = put;
#else
    const cr_status early = cr_component_init(&room, &system);
    const cr_status opened = cr_component_console(info, cr_image_base);
    answer("no console", early);
    answer("console", opened);
    WITH(room.slots, info->empty.end - CR_COMPONENT_CONSOLE_SLOTS - CR_COMPONENT_SLOTS + 1);
#endif
    WITH(room.slots, info->empty.end - CR_COMPONENT_SLOTS + 1);
    WITH(room.slots, info->empty.start - 1);
    WITH(room.kept, no_untyped);
    WITH(system.version, CR_IMAGE_VERSION - 1);
    WITH(system.version, CR_IMAGE_VERSION + 1);
    WITH(system.await_ms, 0);
    WITH(system.flags, CR_IMAGE_TRUTH);
    WITH(system.cleaner_priority, pd.priority);
    WITH(system.cleaner_priority, CR_PRIORITY_MAX + 1);
    WITH(system.name, "a name that is longer than there is room for");
    WITH(system.tables, 0);
    WITH(tables.pds, 1);
    WITH(tables.slots, 32 * tables.pds - 1);
    WITH(tables.pool, tables.pool + 1);
    WITH(tables.edges, CR_MAX_EDGES + 1);
    WITH(program.elf, ledger_elf + 1);
    WITH(pd.program, 1);
    WITH(pd.priority, 201);
    WITH(pd.spawn_priority, 2);
    WITH(pd.flags, CR_IMAGE_LATE);
    WITH(pd.fault_handler, 0);
    system.cleaner_priority = CR_PRIORITY_MAX;
    answer("init", cr_component_init(&room, &system));
    cr_component_start();
    answer("mint_endpoint", cr_component_mint_endpoint(mine, BADGE));
    answer("mint_endpoint again", cr_component_mint_endpoint(mine, BADGE));
    answer("mint_endpoint badge 0", cr_component_mint_endpoint(mine + 1, 0));
    answer("mint_endpoint a PD's badge",
           cr_component_mint_endpoint(mine + 1, cr_badge(CR_BADGE_PD, 1, 1)));
    answer("mint_signal the timer's badge",
           cr_component_mint_signal(mine + 1, cr_badge(CR_BADGE_TIMER, 0, 0)));
    answer("mint_signal beyond", cr_component_mint_signal((uint64_t)1 << 32, BADGE));
    answer("give", cr_component_give(0, mine, DESK_SLOT));
    answer("give again", cr_component_give(0, mine, DESK_SLOT));
    answer("give no PD", cr_component_give(1, mine, DESK_SLOT));
    answer("give a slot of the start", cr_component_give(0, mine, CR_SLOT_ROOT));
    answer("give beyond", cr_component_give(0, mine, DESK_SLOT + 1));
    answer("give nothing", cr_component_give(0, mine + 1, DESK_SLOT - 1));
    /* What was kept is as it was: one object takes all of it. */
    answer("kept", seL4_Untyped_Retype(kept[0], seL4_UntypedObject, bits, seL4_CapInitThreadCNode,
                                       0, 0, mine + 1, 1) == seL4_NoError
                       ? CR_OK
                       : CR_ERR_MEMORY);
#ifdef CONFIG_PRINTING
    ending = true;
#endif
    cr_component_end();
    for (;;) {
        (void)seL4_TCB_Suspend(seL4_CapInitThreadTCB);
    }
}
