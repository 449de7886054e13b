/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A root task that includes the component (docs/embedding.md). It has two PDs, a ledger and a
 * clerk, and two ways for the clerk to reach it: a bell, which rings in the loop that serves the
 * component too, and a desk, an endpoint of its own at which another thread of it waits. The ledger
 * faults. The component cleans up, the clerk is told, and reports at the desk. */
#include "embed.h"
#include <cellreap/component.h>
#include <cellreap/kernel/compat.h>
#include <cellreap/policy.h>
#include <cellreap/protocol.h>

extern const char ledger_elf[], ledger_elf_end[], clerk_elf[], clerk_elf_end[]; /* programs.S */
extern const char cr_image_base[]; /* the package's roottask.ld */

/* -- the system that the component supervises */

enum { LEDGER, CLERK, PDS }; /* indices in all of these tables */

static cr_component_program programs[PDS] = {
    [LEDGER] = {.name = "ledger", .elf = ledger_elf},
    [CLERK] = {.name = "clerk", .elf = clerk_elf},
};

#define COMMON                                                                                     \
    .priority = 100, .spawn_priority = 100, .cspace_bits = CSPACE_BITS, .stack_pages = 4,          \
    .process = CR_IMAGE_NONE, .threads = 1, .fault_handler = CR_IMAGE_NONE,                        \
    .pd_depth = CR_IMAGE_DEPTH_DEFAULT, .rs_depth = CR_IMAGE_DEPTH_DEFAULT, .deadline_ms = 2000,   \
    .quotas = CR_FAIR_SHARES

static const cr_image_pd pds[PDS] = {
    [LEDGER] = {.name = "ledger", .program = LEDGER, COMMON},
    [CLERK] = {.name = "clerk", .program = CLERK, COMMON},
};
static const cr_image_space spaces[] = {{.name = "ledger", .type = "LEDGER", .pd = LEDGER}};
static const cr_image_request requests[] = {{.pd = CLERK, .space = 0}};

/* What `cellreap build --json system.toml` tells. */
/* clang-format off */
static const cr_image_tables tables = {
    .pds = 11, .nodes = 1048, .edges = 3128, .spaces = 131, .types = 67, .requests = 513,
    .tombstones = 128, .tickets = 352, .maps = 1024, .slots = 704, .pairs = 121, .bodies = 16,
    .pool = 2048, .blocks = 1024};
/* clang-format on */

static const cr_component_system system = {
    .version = CR_IMAGE_VERSION,
    .name = "embed",
    .kernel = EMBED_KERNEL,
    .await_ms = 1000,
    .trace_key = "not so secret", /* a real system takes 16 random bytes */
    .programs = programs,
    .pds = pds,
    .spaces = spaces,
    .requests = requests,
    .n_programs = PDS,
    .n_pds = PDS,
    .n_spaces = 1,
    .n_requests = 1,
    .tables = &tables,
};

/* -- what is ours */

enum {
    DESK_PRIORITY = 201, /* above all PDs, below the main thread */
    DESK_BADGE = 1,      /* a signal of the desk to the main thread */
    BELL_BADGE = 2,      /* a call of the clerk to the main thread */
    CLERK_BADGE = 3,     /* a call of the clerk to the desk */
    DESK_BITS = 12,      /* of the untyped that we keep: a TCB, an endpoint, and what MCS needs */
    DESK_SLICE_US = 5000,
    STACK_WORDS = 512
};

/* The slots that we use. The component takes those before them. */
enum { ENDPOINT = CR_COMPONENT_SLOTS, TCB, SIGNAL, BELL_CAP, DESK_CAP, CALLER, TIME, SLOTS };

static seL4_CPtr first_slot;
static _Alignas(16) seL4_Word desk_stack[STACK_WORDS];
static volatile seL4_Word entries, losses; /* at the desk */

static _Noreturn void stop(const char *text)
{
    cr_component_print(text);
    for (;;) {
        (void)seL4_TCB_Suspend(seL4_CapInitThreadTCB);
    }
}

static void must(int failed, const char *text)
{
    if (failed) {
        stop(text);
    }
}

/* The thread at the desk. The IPC buffer is the main thread's. So this thread uses registers only,
 * and none of the component's functions. */
static void desk_main(void)
{
    for (;;) {
        seL4_Word badge, words[4] = {0};
        seL4_MessageInfo_t tag =
            cr_recv_with(first_slot + ENDPOINT, &badge, words, first_slot + CALLER);
        if (badge == CLERK_BADGE && seL4_MessageInfo_get_label(tag) == REPORT) {
            entries = words[0];
            losses = words[1];
        }
        cr_reply_with(first_slot + CALLER, seL4_MessageInfo_new(CR_REPLY_BASE, 0, 0, 0), 0);
        seL4_Signal(first_slot + SIGNAL);
    }
}

static int make(seL4_CPtr untyped, seL4_Word type, seL4_Word bits, seL4_CPtr slot)
{
    return seL4_Untyped_Retype(untyped, type, bits, seL4_CapInitThreadCNode, 0, 0, slot, 1);
}

static void open_desk(const seL4_BootInfo *info, seL4_CPtr untyped)
{
    const seL4_CPtr cnode = seL4_CapInitThreadCNode, tcb = first_slot + TCB;
    const seL4_CPtr caller = first_slot + CALLER, time = first_slot + TIME;
    seL4_UserContext registers = {0};
#ifdef __x86_64__
    registers.rip = (seL4_Word)desk_main;
    registers.rsp = (seL4_Word)(desk_stack + STACK_WORDS - 1); /* as after a call */
#else
    registers.pc = (seL4_Word)desk_main;
    registers.sp = (seL4_Word)(desk_stack + STACK_WORDS);
#endif
    must(make(untyped, seL4_TCBObject, 0, tcb) ||
             make(untyped, seL4_EndpointObject, 0, first_slot + ENDPOINT) ||
             (CR_MCS &&
              (make(untyped, CR_REPLY_OBJECT, CR_REPLY_BITS, caller) ||
               make(untyped, CR_SC_OBJECT, CR_SC_BITS, time) ||
               cr_set_time(cr_sched_control(info), time, DESK_SLICE_US, DESK_SLICE_US, 0, 0))) ||
             seL4_CNode_Mint(cnode, first_slot + DESK_CAP, seL4_WordBits, cnode,
                             first_slot + ENDPOINT, seL4_WordBits, seL4_CapRights_new(1, 0, 0, 1),
                             CLERK_BADGE) ||
             cr_component_mint_signal(first_slot + SIGNAL, DESK_BADGE) != CR_OK ||
             cr_set_spaces(tcb, 0, cnode, 0, seL4_CapInitThreadVSpace, 0, 0) ||
             cr_set_priority(tcb, DESK_PRIORITY, time, 0) ||
             seL4_TCB_WriteRegisters(tcb, 1, 0, sizeof(registers) / sizeof(seL4_Word), &registers),
         "embed: the desk cannot be opened\n");
}

/* The smallest untyped that is large enough. */
static seL4_CPtr untyped_to_keep(const seL4_BootInfo *info)
{
    seL4_Word best = 0, bits = seL4_WordBits;
    for (seL4_Word i = 0; i < info->untyped.end - info->untyped.start; i++) {
        const seL4_UntypedDesc *desc = &info->untypedList[i];
        if (!desc->isDevice && desc->sizeBits >= DESK_BITS && desc->sizeBits < bits) {
            best = info->untyped.start + i;
            bits = desc->sizeBits;
        }
    }
    return best;
}

void cr_root_main(const seL4_BootInfo *info)
{
    const uint64_t kept[] = {untyped_to_keep(info)};
    const cr_component_room room = {.boot_info = info,
                                    .slots = info->empty.start,
                                    .kept = kept,
                                    .n_kept = 1,
                                    .image_start = cr_image_base};
    cr_component_message mine;
    must(cr_component_console(info, cr_image_base) != CR_OK, "embed: nobody hears this\n");
    first_slot = info->empty.start;
    programs[LEDGER].bytes = (uint32_t)(ledger_elf_end - ledger_elf);
    programs[CLERK].bytes = (uint32_t)(clerk_elf_end - clerk_elf);
    must(info->empty.end - first_slot < SLOTS, "embed: too few slots\n");
    must(cr_component_init(&room, &system) != CR_OK, "embed: the component does not begin\n");
    open_desk(info, kept[0]);
    cr_component_start();
    must(cr_component_mint_endpoint(first_slot + BELL_CAP, BELL_BADGE) != CR_OK ||
             cr_component_give(CLERK, first_slot + BELL_CAP, BELL_SLOT) != CR_OK ||
             cr_component_give(CLERK, first_slot + DESK_CAP, DESK_SLOT) != CR_OK,
         "embed: the clerk has no way to us\n");
    for (int reported = 0; !reported;) {
        if (!cr_component_step(&mine)) {
            continue; /* it was the component's */
        }
        if (mine.badge == BELL_BADGE) {
            const seL4_MessageInfo_t tag = {{mine.tag}};
            must(seL4_MessageInfo_get_label(tag) != RING || seL4_GetMR(0) != 0,
                 "embed: that is no ring\n");
            cr_component_print("embed: the bell rings\n");
            cr_reply(mine.reply, seL4_MessageInfo_new(CR_REPLY_BASE, 0, 0, 0));
        } else if (mine.badge == DESK_BADGE) {
            cr_component_print("embed: a report at the desk\n");
            reported = 1;
        }
    }
    must(losses != 1 || entries != ENTRIES || cr_component_pd(LEDGER) != 0 ||
             cr_component_pd(CLERK) == 0,
         "embed: not what was to come\n");
    cr_component_end();
    stop("embed: the ledger is gone, and the clerk was told\n");
}
