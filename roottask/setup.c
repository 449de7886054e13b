/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sets the root task up. See setup.h.
 *
 * Errors after the room was taken stop the system (cr_panic): without its own objects the root task
 * cannot clean up after a crash. */
#include "setup.h"
#include "kernel/arch/arch.h"
#include "kernel/asids.h"
#include "kernel/timer.h"
#include "kernel/untyped.h"
#include "kernel/worker.h"
#include "kernel/writer.h"
#include "root.h"
#include "supervisor/execution.h"
#include "supervisor/closeness.h"
#include "supervisor/supervisor.h"
#include "system/channels.h"
#include "system/doors.h"
#include "system/charge.h"
#include "system/inject.h"
#include "system/regions.h"
#include "system/saved.h"
#include "system/stand_ins.h"
#include "system/state.h"
#include "system/text.h"
#include "system/truth.h"

_Static_assert((int)CR_COMPONENT_SLOTS == (int)CR_BOOT_SLOTS, "the same slots");
_Static_assert((int)CR_OWN_SLOTS == 3 + (int)CR_WORKER_SLOTS + (int)CR_WRITER_SLOTS,
               "an endpoint, a notification, its signal, and those of the worker and the writer");

/* What the kernel gave, without what the root task keeps. */
static seL4_BootInfo given;

int cr_room_valid(const cr_component_room *room)
{
    const seL4_SlotRegion empty = room->boot_info->empty;
    if (room->slots < empty.start || room->slots > empty.end ||
        empty.end - room->slots < CR_COMPONENT_SLOTS) {
        return 0;
    }
    for (uint32_t i = 0; i < room->n_kept; i++) {
        if (room->kept[i] < room->boot_info->untyped.start ||
            room->kept[i] >= room->boot_info->untyped.end) {
            return 0;
        }
    }
    return 1;
}

/* An untyped that is kept counts as one without room. */
static void cut_down(const cr_component_room *room)
{
    given = *room->boot_info;
    given.empty.start = room->slots;
    for (uint32_t i = 0; i < room->n_kept; i++) {
        given.untypedList[room->kept[i] - given.untyped.start].sizeBits = 0;
    }
}

static uint32_t write_lines(uint32_t most)
{
    return cr_trace_write(&cr_sys.trace, most);
}

static int is_line_left(void)
{
    return cr_sys.trace.head != cr_sys.trace.tail;
}

static void write_all(void)
{
    cr_trace_flush(&cr_sys.trace);
}

cr_status cr_set_up_objects(const cr_component_room *room, const cr_image_header *image,
                            const cr_hooks *hooks, cr_own_objects *out)
{
    uint32_t block;
    cut_down(room);
    seL4_SetIPCBuffer(given.ipcBuffer);
    if (cr_cspace_init(&given, cr_untyped_of_cspace(&given)) != CR_OK ||
        cr_untyped_init(&given) != CR_OK) {
        return CR_ERR_MEMORY;
    }
    cr_regions_claim(image);
    if (cr_tables_init() != CR_OK || cr_asids_init() != CR_OK ||
        cr_body_init(&given, (uintptr_t)room->image_start) != CR_OK ||
        cr_untyped_take(CR_OWN_BLOCK_BITS, 0, &block) != CR_OK) {
        return CR_ERR_MEMORY;
    }
    out->untyped = cr_untyped_cap(block);
    cr_timer_prepare(&given, (uintptr_t)room->image_start);
    cr_time_init(&given, cr_probes_needed(image));
    out->bound = cr_pool_make(out->untyped, seL4_NotificationObject, "no notification");
    seL4_CPtr endpoint = cr_pool_make(out->untyped, seL4_EndpointObject, "no endpoint");
    cr_must(seL4_TCB_BindNotification(seL4_CapInitThreadTCB, out->bound),
            "the notification cannot be bound");
    cr_worker_init(&given, (uintptr_t)room->image_start, out->untyped,
                   image->cleaner_priority != 0 ? endpoint : 0, cr_execute_steps);
    cr_supervisor_init(hooks, out->bound);
    cr_regions_init(&given, image);
    if (cr_system_init(image, endpoint) != CR_OK || cr_closeness_init(image) != CR_OK) {
        cr_panic("the model does not fit its memory", 0);
    }
    cr_writer_init(out->untyped, write_lines, is_line_left);
    cr_trace_written_by_another(&cr_sys.trace, CR_TRACE_MOST, cr_writer_wait);
    cr_before_panic(write_all);
    cr_channels_init();
    cr_doors_init();
    cr_stand_ins_init();
    cr_truth_init(out->bound);
    cr_progress_init(image, out->bound);
    return CR_OK;
}

static const char *const mode_names[] = {
#define CR_MODE(enumerator, number, word, meaning) [enumerator] = word,
    CR_MODES
#undef CR_MODE
};

static const char *const policy_names[] = {
#define CR_POLICY(enumerator, number, word, meaning) [enumerator] = word,
    CR_POLICIES
#undef CR_POLICY
};

static void tell(cr_setting what, const char *word, uint64_t value, uint64_t second)
{
    cr_trace_setting(CR_EV_SETTING, what, word, value, second, 0);
}

static void trace_settings(const cr_image_header *image)
{
    const cr_mode mode = (image->flags & CR_IMAGE_SYNC) != 0 ? CR_MODE_SYNC : CR_MODE_ASYNC;
    tell(CR_SETTING_MODE, mode_names[mode], 0, 0);
    tell(CR_SETTING_AWAIT, "-", cr_clock_exists() ? image->await_ms : 0, 0);
    if ((image->flags & CR_IMAGE_COLLECT) != 0) {
        tell(CR_SETTING_COLLECT, "-", 0, 0);
    }
    if (image->policy != CR_POLICY_DEPTH) {
        tell(CR_SETTING_POLICY, policy_names[image->policy], 0, 0);
    }
    if (image->policy != CR_POLICY_DEPTH && image->fr_max != CR_IMAGE_NONE) {
        tell(CR_SETTING_FR_MAX, "-", image->fr_max, 0);
    }
    for (uint32_t i = 0; image->policy != CR_POLICY_DEPTH && i < image->rsi_mins.count; i++) {
        const cr_image_rsi_min *least = &cr_image_rsi_mins(image)[i];
        tell(CR_SETTING_RSI_MIN, least->type, least->shared, least->all);
    }
    if (cr_sys.injections != 0) {
        cr_sys.injections->tell();
    }
}

static void trace_start(const cr_image_header *image)
{
    uint64_t hz = 0;
    if ((image->flags & CR_IMAGE_TIMES) != 0 && cr_clock_exists()) {
        hz = cr_timer_counter_hz();
        cr_trace_timed(&cr_sys.trace, cr_arch_boot_counter, hz);
    }
    cr_trace_begin(&cr_sys.trace, CR_EV_TRACE);
    cr_trace_number(&cr_sys.trace, CR_TRACE_VERSION);
    cr_trace_key(&cr_sys.trace);
    cr_trace_string(&cr_sys.trace, image->arch);
    cr_trace_string(&cr_sys.trace, image->kernel);
    cr_trace_string(&cr_sys.trace, image->system);
    cr_trace_depth(&cr_sys.trace, image->pd_depth);
    cr_trace_depth(&cr_sys.trace, image->rs_depth);
    cr_trace_number(&cr_sys.trace, hz);
    cr_trace_end(&cr_sys.trace);
    cr_trace_usage();
    trace_settings(image);
    cr_trace_begin(&cr_sys.trace, CR_EV_PD);
    cr_trace_node(cr_sys.root);
    cr_trace_string(&cr_sys.trace, cr_sys.pds[0].name);
    cr_trace_change_end();
}

/* Whether a PD may allocate memory, or has a region from the start. */
static int has_memory(const cr_image_header *image)
{
    uint32_t flags = 0;
    for (uint32_t i = 0; i < image->pds.count; i++) {
        flags |= cr_image_pds(image)[i].flags;
    }
    return (flags & CR_IMAGE_MAY_ALLOCATE) != 0 || image->regions.count > 0;
}

/* Whether a PD has an interrupt, or ports. */
static int has_line(const cr_image_header *image, cr_line_kind kind)
{
    int has = 0;
    for (uint32_t i = 0; i < image->lines.count; i++) {
        has |= cr_image_lines(image)[i].kind == kind;
    }
    return has;
}

static int has_threads(const cr_image_header *image)
{
    int has = 0;
    for (uint32_t i = 0; i < image->pds.count; i++) {
        has |= cr_image_pds(image)[i].threads > 1;
    }
    return has;
}

static void make_core_space(int wanted, const char *type, uint32_t flags, cr_ref *out)
{
    if (wanted) {
        cr_must(cr_core_space(type, flags, out), "a core space cannot be made");
    }
}

void cr_set_up_system(void)
{
    const cr_image_header *image = cr_sys.image;
    trace_start(image);
    write_all(); /* PDs print too: the first line, which has the key, must come before theirs. */
    make_core_space(1, "RESSPC", 0, &cr_sys.resspc_space);
    make_core_space(1, "PD", 0, &cr_sys.pd_space);
    make_core_space(has_memory(image), "MO", 0, &cr_sys.mo_space);
    make_core_space(has_memory(image), "VMR", CR_FLAG_REGIONS, &cr_sys.vmr_space);
    make_core_space(image->ends.count > 0, "CHANNEL", 0, &cr_sys.channel_space);
    make_core_space(has_line(image, CR_LINE_IRQ), "IRQ", 0, &cr_sys.irq_space);
    make_core_space(has_line(image, CR_LINE_PORT), "PORT", 0, &cr_sys.port_space);
    make_core_space(has_threads(image), "ADS", 0, &cr_sys.ads_space);
    cr_accounts_init();
}

void cr_set_up_pds(void)
{
    cr_saved_make_pds();
    cr_population_start();
    cr_saved_make_rest();
    cr_accounts_start();
    cr_truth(CR_TRUTH_FIRST);
}
