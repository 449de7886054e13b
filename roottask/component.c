/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The component for another root task. See cellreap/component.h. The description becomes a
 * configuration as image.h has it, whose tables are where the other root task has them. */
#include "setup.h"
#include "kernel/arch/arch.h"
#include "kernel/uart.h"
#include "supervisor/supervisor.h"
#include "system/text.h"

/* A capability of clients: to send, and to receive a reply. */
#define TO_CALL seL4_CapRights_new(1, 0, 0, 1)

static cr_image_header described;
static cr_image_program programs[CR_IMAGE_MAX_PDS];
static seL4_CPtr bound;

/* Offsets are from the header and may be negative. */
static int reaches(const void *thing, uint32_t *offset)
{
    const intptr_t away = (intptr_t)thing - (intptr_t)&described;
    *offset = (uint32_t)away;
    return away == (intptr_t)(int32_t)*offset;
}

static int describe_table(cr_image_table *table, const void *rows, uint32_t count)
{
    table->count = count;
    return count == 0 || (rows != 0 && (uintptr_t)rows % 4 == 0 && reaches(rows, &table->offset));
}

static int copy_name(char *out, const char *name, size_t bytes)
{
    cr_text_copy(out, name, bytes);
    return cr_text_same(out, name);
}

static cr_status describe(const cr_component_system *system)
{
    if (system->version != CR_IMAGE_VERSION) {
        return CR_ERR_VERSION; /* its rows are laid out differently */
    }
    if (system->tables == 0 || system->n_programs > CR_IMAGE_MAX_PDS || system->await_ms == 0 ||
        (system->flags & ~(uint32_t)CR_IMAGE_SYNC) != 0) {
        return CR_ERR_ARG;
    }
    described = (cr_image_header){
        .magic = CR_IMAGE_MAGIC,
        .version = CR_IMAGE_VERSION,
        .bytes = sizeof(described),
        .pd_depth = system->pd_depth,
        .rs_depth = system->rs_depth,
        .flags = system->flags,
        .await_ms = system->await_ms,
        .policy = system->policy,
        .fr_max = system->fr_max,
        .tables = *system->tables,
        .cleaner_priority = system->cleaner_priority,
    };
    for (uint32_t i = 0; i < CR_IMAGE_KEY_BYTES; i++) {
        described.trace_key[i] = system->trace_key[i];
    }
    for (uint32_t i = 0; i < system->n_programs; i++) {
        const cr_component_program *program = &system->programs[i];
        if (program->elf == 0 || (uintptr_t)program->elf % 16 != 0 ||
            !reaches(program->elf, &programs[i].offset) ||
            !copy_name(programs[i].name, program->name, CR_NAME_BYTES)) {
            return CR_ERR_ARG;
        }
        programs[i].bytes = program->bytes;
    }
    return copy_name(described.system, system->name, CR_NAME_BYTES) &&
                   copy_name(described.kernel, system->kernel, CR_NAME_BYTES) &&
                   copy_name(described.arch, cr_arch_name, CR_TYPE_BYTES) &&
                   describe_table(&described.rsi_mins, system->rsi_mins, system->n_rsi_mins) &&
                   describe_table(&described.programs, programs, system->n_programs) &&
                   describe_table(&described.pds, system->pds, system->n_pds) &&
                   describe_table(&described.spaces, system->spaces, system->n_spaces) &&
                   describe_table(&described.requests, system->requests, system->n_requests) &&
                   describe_table(&described.holds, system->holds, system->n_holds) &&
                   describe_table(&described.spawns, system->spawns, system->n_spawns) &&
                   describe_table(&described.links, system->links, system->n_links) &&
                   describe_table(&described.trusts, system->trusts, system->n_trusts) &&
                   cr_image_rows_valid(&described)
               ? CR_OK
               : CR_ERR_ARG;
}

static int any_pd(const cr_component_system *system, int (*is)(const cr_image_pd *pd))
{
    for (uint32_t i = 0; i < system->n_pds; i++) {
        if (is(&system->pds[i])) {
            return 1;
        }
    }
    return 0;
}

static int needs_mcs(const cr_image_pd *pd)
{
    return pd->budget_us != 0 || (pd->flags & CR_IMAGE_PASSIVE) != 0;
}

static int has_time_limit(const cr_image_pd *pd)
{
    return pd->deadline_ms != 0 || pd->heartbeat_ms != 0 || pd->call_ms != 0;
}

/* Only the scenario creates these. */
static int is_late(const cr_image_pd *pd)
{
    return (pd->flags & CR_IMAGE_LATE) != 0;
}

/* Each PD runs while a cleanup is carried out, or none of its instructions does. */
static int cleaner_priority_valid(const cr_component_system *system)
{
    const uint32_t cleaner = system->cleaner_priority;
    for (uint32_t i = 0; cleaner != 0 && i < system->n_pds; i++) {
        const cr_image_pd *pd = &system->pds[i];
        if (pd->priority == cleaner || pd->spawn_priority == cleaner) {
            return 0;
        }
    }
    return cleaner <= CR_PRIORITY_MAX;
}

_Static_assert((int)CR_COMPONENT_CONSOLE_SLOTS == (int)CR_UART_SLOTS, "the same slots");

/* The first slot of the console; 0: it has none. */
static seL4_CPtr console_slots;

cr_status cr_component_console(const seL4_BootInfo *boot_info, const void *image_start)
{
    if (cr_console_exists()) {
        return CR_OK;
    }
    cr_status status = cr_uart_console(boot_info, (uintptr_t)image_start);
    if (status == CR_OK) {
        console_slots = boot_info->empty.end - CR_UART_SLOTS;
    }
    return status;
}

void cr_component_print(const char *text)
{
    if (bound != 0) {
        cr_trace_flush(&cr_sys.trace); /* The writer may be in the middle of a line. */
    }
    cr_console_string(text);
}

static int room_valid(const cr_component_room *room)
{
    return cr_room_valid(room) &&
           (console_slots == 0 || room->slots + CR_COMPONENT_SLOTS <= console_slots);
}

cr_status cr_component_init(const cr_component_room *room, const cr_component_system *system)
{
    cr_own_objects own;
    cr_status status = room_valid(room) ? describe(system) : CR_ERR_ARG;
    if (status == CR_OK && (any_pd(system, is_late) || !cleaner_priority_valid(system))) {
        status = CR_ERR_ARG;
    }
    if (status == CR_OK && room->put != 0) {
        cr_console_use(room->put);
    }
    if (status == CR_OK && (!cr_console_exists() || (!CR_MCS && any_pd(system, needs_mcs)))) {
        status = CR_ERR_ABSENT;
    }
    if (status == CR_OK) {
        status = cr_set_up_objects(room, &described, 0, &own);
    }
    if (status != CR_OK) {
        return status;
    }
    if (!cr_clock_exists() && (any_pd(system, has_time_limit) || system->cleaner_priority != 0)) {
        return CR_ERR_ABSENT;
    }
    bound = own.bound;
    cr_set_up_system();
    return CR_OK;
}

void cr_component_start(void)
{
    cr_set_up_pds();
}

static cr_status mint(uint64_t slot, seL4_CPtr object, seL4_CapRights_t rights, uint64_t badge)
{
    if (badge == 0 || cr_badge_kind_of(badge) != CR_BADGE_NONE || cr_badge_is_signal(badge) ||
        slot >= 1ull << cr_boot_bits()) {
        return CR_ERR_ARG;
    }
    return cr_mint(cr_slot_at(slot), cr_slot_at(object), rights, badge) == seL4_NoError
               ? CR_OK
               : CR_ERR_EXISTS;
}

cr_status cr_component_mint_endpoint(uint64_t slot, uint64_t badge)
{
    return mint(slot, cr_sys.endpoint, TO_CALL, badge);
}

cr_status cr_component_mint_signal(uint64_t slot, uint64_t badge)
{
    return mint(slot, bound, seL4_CanWrite, badge);
}

cr_status cr_component_give(uint32_t pd, uint64_t capability, uint32_t slot)
{
    cr_pd *to = cr_find_configured(pd);
    return to != 0 && cr_pd_is_up(to) ? cr_give_foreign(to, capability, slot) : CR_ERR_ABSENT;
}

uint32_t cr_component_pd(uint32_t pd)
{
    const cr_pd *found = cr_find_configured(pd);
    return found != 0 && cr_pd_is_up(found) ? found->number : 0;
}

int cr_component_step(cr_component_message *yours)
{
    cr_own_message own;
    const int is_yours = cr_supervisor_turn(cr_sys.endpoint, &own);
    cr_make_kept_answer(); /* The caller may receive in some other way before the next step. */
    if (!is_yours) {
        return 0;
    }
    *yours =
        (cr_component_message){.badge = own.badge, .tag = own.tag.words[0], .reply = cr_caller_now};
    return 1;
}

void cr_component_end(void)
{
    cr_silence_tell_waits(0);
    cr_supervisor_end();
}
