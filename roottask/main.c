/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The root task: sets itself up, creates the PDs of its configuration, and from then on does nothing but
 * receive: faults, requests, and word that nobody else can run. It is the highest in priority, calls nobody,
 * and handles each message to its end before it receives the next, so PDs see every cleanup as one step. */
#include "kernel/arch/arch.h"
#include "kernel/fault.h"
#include "supervisor/supervisor.h"
#include "system/text.h"
#include "kernel/untyped.h"

enum { IDLE_PRIORITY = 0, ROOT_STACK = 32768, IDLE_STACK = 4096, ROOT_BLOCK_BITS = 12 };

_Alignas(16) char cr_root_stack[ROOT_STACK];
/* The assembler's name for the stack's end. */
__asm__(".globl cr_root_stack_top\n.set cr_root_stack_top, cr_root_stack + 32768");
_Static_assert(ROOT_STACK == 32768, "as in the line above");

static _Alignas(16) char idle_stack[IDLE_STACK];
static seL4_CPtr endpoint;
static seL4_CPtr idle_signal; /* the idle thread's, to the root task's bound notification */
static seL4_CPtr idle_again;  /* the root task's, to let the idle thread look again */
static int idle_rests;        /* the idle thread waits for that */

extern const char cr_image_start[];
extern const char cr_image_end[];

void cr_root_main(const seL4_BootInfo *info);

/* The lowest in priority of all: whenever it runs, everybody else waits for something. Uses no IPC buffer,
 * which is the root task's. */
_Noreturn void cr_idle_main(void)
{
    seL4_Word badge;
    for (;;) {
        seL4_Signal(idle_signal);
        (void)seL4_RecvWithMRs(idle_again, &badge, 0, 0, 0, 0);
    }
}

static void check(seL4_Error error, const char *what)
{
    if (error) {
        cr_panic(what, (uint64_t)error);
    }
}

static seL4_CPtr pool_cap(void)
{
    uint32_t slot = cr_pool_take();
    if (slot == 0) {
        cr_panic("no slot is left", 0);
    }
    return cr_cptr(CR_L1_POOL, slot);
}

static seL4_CPtr make(seL4_CPtr untyped, seL4_Word type, const char *what)
{
    seL4_CPtr cap = pool_cap();
    check(cr_retype(untyped, type, 0, CR_L1_POOL, (uint32_t)cap, 1), what);
    return cap;
}

/* The root task's own objects: its endpoint, its notifications, the idle thread. */
static void make_own_objects(void)
{
    uint32_t block;
    if (cr_untyped_take(ROOT_BLOCK_BITS, &block) != CR_OK) {
        cr_panic("no kernel memory for the root task's own objects", 0);
    }
    seL4_CPtr untyped = cr_untyped_cap(block);
    seL4_CPtr tcb = make(untyped, seL4_TCBObject, "no TCB for the idle thread");
    seL4_CPtr bound = make(untyped, seL4_NotificationObject, "no notification");
    idle_again = make(untyped, seL4_NotificationObject, "no notification");
    endpoint = make(untyped, seL4_EndpointObject, "no endpoint");
    idle_signal = pool_cap();
    check(cr_mint(cr_slot_at(idle_signal), cr_slot_at(bound), seL4_CanWrite, cr_badge(CR_BADGE_IDLE, 0, 0)),
          "the idle signal cannot be minted");
    check(seL4_TCB_BindNotification(seL4_CapInitThreadTCB, bound), "the notification cannot be bound");
    cr_deadlines_init(bound);

    seL4_UserContext registers;
    cr_arch_start_registers(&registers, (seL4_Word)cr_idle_start, (seL4_Word)(idle_stack + IDLE_STACK));
    check(seL4_TCB_SetSpace(tcb, 0, cr_l1_cnode(), cr_l1_data(), seL4_CapInitThreadVSpace, 0),
          "the idle thread has no space");
    check(seL4_TCB_SetSchedParams(tcb, seL4_CapInitThreadTCB, 0, IDLE_PRIORITY), "the idle thread has no priority");
    check(cr_write_registers(tcb, 1, &registers), "the idle thread does not start");
#ifdef CONFIG_DEBUG_BUILD
    /* The kernel's snapshots leave threads of this name out; in the root task's CSpace, which this thread has
     * too, they get stuck. */
    seL4_DebugNameThread(tcb, "rootserver");
#endif
}

static const cr_image_header *find_image(void)
{
    const cr_image_header *image = (const cr_image_header *)(const void *)cr_image_start;
    if (!cr_image_valid(image, (size_t)(cr_image_end - cr_image_start))) {
        cr_panic("the configuration in the image is not valid", image->version);
    }
    return image;
}

static const char *const mode_names[] = {
#define CR_MODE(enumerator, number, word, meaning) [enumerator] = word,
    CR_MODES
#undef CR_MODE
};

static void trace_start(const cr_image_header *image)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_TRACE);
    cr_trace_number(&cr_sys.trace, CR_TRACE_VERSION);
    cr_trace_string(&cr_sys.trace, image->arch);
    cr_trace_string(&cr_sys.trace, image->kernel);
    cr_trace_string(&cr_sys.trace, image->system);
    cr_trace_depth(&cr_sys.trace, image->pd_depth);
    cr_trace_depth(&cr_sys.trace, image->rs_depth);
    cr_trace_end(&cr_sys.trace);
    cr_trace_begin(&cr_sys.trace, CR_EV_BASE);
    cr_trace_number(&cr_sys.trace, cr_untyped_bytes_used());
    cr_trace_number(&cr_sys.trace, cr_slots_used());
    cr_trace_end(&cr_sys.trace);
    cr_trace_begin(&cr_sys.trace, CR_EV_MODE);
    const cr_mode mode = (image->flags & CR_IMAGE_SYNC) != 0 ? CR_MODE_SYNC : CR_MODE_ASYNC;
    cr_trace_string(&cr_sys.trace, mode_names[mode]);
    cr_trace_end(&cr_sys.trace);
    cr_trace_begin(&cr_sys.trace, CR_EV_PD);
    cr_trace_node(cr_sys.root);
    cr_trace_string(&cr_sys.trace, cr_sys.pds[0].name);
    cr_trace_number(&cr_sys.trace, 1);
    cr_trace_end(&cr_sys.trace);
}

static void set_up(const seL4_BootInfo *info)
{
    seL4_SetIPCBuffer(info->ipcBuffer);
    if (cr_cspace_init(info, cr_untyped_largest_at_boot(info)) != CR_OK || cr_untyped_init(info) != CR_OK ||
        cr_body_init(info) != CR_OK) {
        cr_panic("the kernel gave too little to start with", info->untyped.end - info->untyped.start);
    }
    make_own_objects();
    const cr_image_header *image = find_image();
    if (cr_system_init(image, endpoint) != CR_OK) {
        cr_panic("the model does not fit its memory", 0);
    }
    trace_start(image);
    if (cr_core_space("RESSPC", &cr_sys.resspc_space) != CR_OK || cr_core_space("PD", &cr_sys.pd_space) != CR_OK) {
        cr_panic("the core spaces cannot be made", 0);
    }
}

static void take_message(seL4_MessageInfo_t tag, cr_message *out)
{
    uint32_t length = (uint32_t)seL4_MessageInfo_get_length(tag);
    if (length > seL4_MsgMaxLength) {
        cr_panic("the kernel delivered more registers than there are", length);
    }
    out->raw = (cr_raw_message){
        .label = seL4_MessageInfo_get_label(tag),
        .length = length,
        .extra = (uint32_t)seL4_MessageInfo_get_extraCaps(tag),
        .unwrapped = (seL4_MessageInfo_get_capsUnwrapped(tag) & 1u) != 0 ? seL4_GetIPCBuffer()->caps_or_badges[0] : 0,
        .words = out->words,
    };
    for (uint32_t i = 0; i < length; i++) {
        out->words[i] = seL4_GetMR((int)i);
    }
}

static void handle_fault(seL4_MessageInfo_t tag, uint64_t badge)
{
    cr_fault_kind kind;
    uint64_t address;
    uint64_t ip;
    cr_pd *pd;
    /* A PD can send messages of its own with its fault capability. One that is no fault is dropped: if it
     * called, it waits for ever, which is its own doing. */
    if (cr_find_badged(badge, CR_BADGE_FAULT, &pd) == CR_RESULT_OK && !pd->silent &&
        cr_decode_fault(tag, &kind, &address, &ip)) {
        cr_trace_fault(pd, kind, address, ip);
        cr_trigger(pd, CR_CAUSE_FAULT, 0);
    }
}

static void handle_message(seL4_MessageInfo_t tag, uint64_t badge)
{
    static cr_message message;
    cr_pd *pd;
    switch (cr_badge_kind_of(badge)) {
    case CR_BADGE_FAULT:
        handle_fault(tag, badge);
        return;
    case CR_BADGE_PD:
        take_message(tag, &message);
        if (cr_find_badged(badge, CR_BADGE_PD, &pd) == CR_RESULT_OK && !pd->silent) {
            cr_serve(pd, &message);
        }
        return;
    case CR_BADGE_BODY:
        /* A PD capability names a PD in a request; called itself it does nothing. */
        seL4_Reply(seL4_MessageInfo_new(CR_RESULT_DENIED, 0, 0, 0));
        return;
    default:
        cr_panic("a message with a badge that was never minted", badge);
    }
}

/* The bound notification: what came since it was received last, or-ed. Returns 0 when the run is over. */
static int handle_signals(uint64_t badge)
{
    int idle = (badge & cr_badge(CR_BADGE_IDLE, 0, 0)) == cr_badge(CR_BADGE_IDLE, 0, 0);
    if ((badge & cr_badge(CR_BADGE_TIMER, 0, 0)) != 0) {
        cr_deadlines_tick();
        if (!idle && !idle_rests) {
            return 1;
        }
        /* Somebody may be able to run again by that: it has to look once more. */
    } else {
        cr_idle what = cr_director_idle();
        if (what != CR_IDLE_AGAIN) {
            idle_rests = 1;
            return what == CR_IDLE_WAIT;
        }
    }
    idle_rests = 0;
    cr_signal(idle_again);
    return 1;
}

static int handle(seL4_MessageInfo_t tag, uint64_t badge)
{
    if (cr_badge_is_signal(badge)) {
        return handle_signals(badge);
    }
    handle_message(tag, badge);
    return 1;
}

void cr_root_main(const seL4_BootInfo *info)
{
    seL4_Word badge;
    set_up(info);
    cr_director_start();
#ifdef CONFIG_DEBUG_BUILD
    if ((cr_sys.image->flags & CR_IMAGE_SNAPSHOT) != 0) {
        seL4_DebugSnapshot();
    }
#endif
    int running = 1;
    while (running) {
        cr_trace_flush(&cr_sys.trace);
        cr_deadlines_arm();
        seL4_MessageInfo_t tag = seL4_Recv(endpoint, &badge);
        running = handle(tag, badge);
        cr_cleaner_follow_up();
        cr_extract_follow_up(0);
        cr_tickets_follow_up();
        cr_director_follow_up();
    }
    cr_trace_refused_rest();
    cr_print_if_changed();
    cr_trace_finish(&cr_sys.trace);
    for (;;) {
        (void)seL4_TCB_Suspend(seL4_CapInitThreadTCB);
    }
}
