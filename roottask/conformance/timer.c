/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A device's interrupt and the time until it, where the kernel leaves a timer to user level; otherwise none of these
 * checks is made. Times are asked of the timer itself. A machine that stands still in between makes no check fail: what is
 * asserted is what came, never when. */
#include "conformance.h"
#include "kernel/arch/timer_device.h"
#include "kernel/timer.h"

enum {
    TICK = 0x12,  /* the interrupt's badge */
    OTHER = 0x21,
    SHORT = 1000000, /* ns */
    LONG = 40000000,
    LOOKS = 1 << 21, /* that an interrupt is looked for: many times as long as any takes */
    NO_MORE = 20000, /* the same for one that must not come */
    TRIES = 50
};

static seL4_CPtr handler;
static seL4_CPtr ports;
static seL4_CPtr notification;

static seL4_Word poll(void)
{
    seL4_Word badge = 0;
    (void)seL4_Poll(notification, &badge);
    return badge;
}

/* The badge of what comes within so many looks; 0: nothing. */
static seL4_Word await(uint32_t looks)
{
    seL4_Word badge = 0;
    for (uint32_t i = 0; i < looks && badge == 0; i++) {
        badge = poll();
    }
    return badge;
}

static void acknowledge(void)
{
    cr_device_quiet();
    cf_is(seL4_IRQHandler_Ack(handler), seL4_NoError);
}

/* Says where the interrupt is signalled to, and brings the device to rest. An interrupt of before may have come already,
 * when nobody could be told. */
static void tell(seL4_CPtr of)
{
    cf_is(seL4_IRQHandler_SetNotification(handler, cf_mint(of, seL4_CanWrite, TICK)), seL4_NoError);
    cf_is(seL4_IRQHandler_Ack(handler), seL4_NoError);
    uint64_t set = cr_device_start(1);
    cf_is(await(LOOKS), TICK);
    acknowledge();
    for (uint32_t i = 0; i < TRIES && cr_device_elapsed() != set; i++) {
        if (await(NO_MORE) != 0) {
            acknowledge();
        }
    }
    cf_is(cr_device_elapsed(), set);
}

static seL4_Error take_device(void)
{
    return cr_device_open(cr_slot_at(handler), cr_slot_at(ports));
}

static void open(void)
{
    notification = cf_notification();
    handler = cf_slots(1);
    ports = cf_slots(1);
    cf_is(take_device(), seL4_NoError);
    tell(notification);
}

/* Sets the timer, and waits until that time is over. Whether it ever was. */
static int run_out(uint64_t ns)
{
    uint64_t set = cr_device_start(ns);
    for (uint32_t i = 0; i < LOOKS; i++) {
        if (cr_device_elapsed() == set) {
            return 1;
        }
    }
    return 0;
}

static void interrupt_arrives_with_its_badge(void)
{
    open();
    (void)cr_device_start(SHORT);
    cf_is(await(LOOKS), TICK);
}

static void interrupt_comes_once(void)
{
    open();
    (void)cr_device_start(SHORT);
    cf_is(await(LOOKS), TICK);
    acknowledge();
    cf_is(await(NO_MORE), 0);
}

/* Everybody else waits for something too: the processor has nothing to do. */
static void interrupt_wakes_who_waits(void)
{
    seL4_Word badge = 0;
    open();
    cf_settle();
    (void)cr_device_start(SHORT);
    seL4_Wait(notification, &badge);
    cf_is(badge, TICK);
}

static void interrupt_wakes_a_receiver_that_it_is_bound_to(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_Word badge = 0;
    open();
    cf_is(seL4_TCB_BindNotification(seL4_CapInitThreadTCB, notification), seL4_NoError);
    (void)cr_device_start(SHORT);
    (void)seL4_Recv(endpoint, &badge);
    cf_is(badge, TICK);
    cf_is(seL4_TCB_UnbindNotification(seL4_CapInitThreadTCB), seL4_NoError);
}

/* Whenever the interrupt comes, a signal has come before it or comes before the notification is looked at. */
static void interrupt_adds_its_badge(void)
{
    seL4_Word badge = 0;
    open();
    seL4_CPtr other = cf_mint(notification, seL4_CanWrite, OTHER);
    (void)cr_device_start(SHORT);
    for (uint32_t i = 0; i < LOOKS && (badge & TICK) == 0; i++) {
        seL4_Signal(other);
        badge = poll();
    }
    cf_is(badge, TICK | OTHER);
}

static void interrupt_preempts_a_lower_priority(void)
{
    seL4_Word badge = 0;
    open();
    volatile cf_worker *w = cf_start(cf_do_spin, 0, 0);
    for (uint32_t i = 0; i < TRIES && w->progress == 0; i++) {
        (void)cr_device_start(LONG);
        seL4_Wait(notification, &badge);
        cf_is(badge, TICK);
        acknowledge();
    }
    cf_is(w->progress != 0, 1);
}

static void interrupt_does_not_preempt_a_higher_priority(void)
{
    open();
    volatile cf_worker *w = cf_start(cf_do_recv, notification, 0);
    cf_settle();
    cf_is((uint64_t)run_out(SHORT), 1);
    cf_is(w->progress, 0);
    /* It is told all the same, sooner or later. */
    for (uint32_t i = 0; i < LOOKS && w->progress == 0; i++) {
        cf_settle();
    }
    cf_is(w->badge, TICK);
}

/* Two that never stop; the root task only looks on. */
static void equals_that_loop_for_ever_share_time(void)
{
    seL4_Word badge = 0;
    open();
    volatile cf_worker *a = cf_start(cf_do_spin, 0, 0);
    volatile cf_worker *b = cf_start(cf_do_spin, 0, 0);
    for (uint32_t i = 0; i < TRIES && (a->progress == 0 || b->progress == 0); i++) {
        (void)cr_device_start(LONG);
        seL4_Wait(notification, &badge);
        acknowledge();
    }
    cf_is(a->progress != 0, 1);
    cf_is(b->progress != 0, 1);
}

static void no_interrupt_before_the_last_is_acknowledged(void)
{
    open();
    (void)cr_device_start(SHORT);
    cf_is(await(LOOKS), TICK);
    cf_is((uint64_t)run_out(SHORT), 1);
    cf_is(await(NO_MORE), 0);
    acknowledge();
    (void)cr_device_start(SHORT);
    cf_is(await(LOOKS), TICK);
}

static void second_start_replaces_the_first(void)
{
    int replaced = 0;
    open();
    for (uint32_t i = 0; i < TRIES && !replaced; i++) {
        (void)cr_device_start(LONG / 2);
        uint64_t set = cr_device_start(LONG);
        if (poll() != 0) {
            acknowledge(); /* The machine stood still for that long. */
            continue;
        }
        cf_is(await(LOOKS), TICK);
        cf_is(cr_device_elapsed(), set);
        replaced = 1;
    }
    cf_is((uint64_t)replaced, 1);
}

static void interrupt_is_never_early(void)
{
    uint32_t early = 0;
    open();
    for (uint32_t i = 1; i <= TRIES; i++) {
        uint64_t ns = i * (uint64_t)(SHORT / 7);
        uint64_t set = cr_device_start(ns);
        early += set < ns;
        cf_is(await(LOOKS), TICK);
        early += cr_device_elapsed() != set;
        acknowledge();
    }
    cf_is(early, 0);
}

static void elapsed_time_rises(void)
{
    uint32_t rises = 0;
    uint32_t falls = 0;
    open();
    for (uint32_t try = 0; try < TRIES && rises < 3; try++) {
        uint64_t last = 0;
        uint64_t set = cr_device_start(LONG);
        rises = 0;
        for (uint32_t i = 0; i < LOOKS && last < set; i++) {
            uint64_t now = cr_device_elapsed();
            rises += now > last;
            falls += now < last;
            last = now;
        }
        cf_is(last, set);
        cf_is(cr_device_elapsed(), set);
    }
    cf_is(falls, 0);
    cf_is(rises >= 3, 1);
}

static void interrupt_has_one_handler(void)
{
    seL4_CPtr second = cf_slots(1);
    open();
    /* Its registers are free, where they need a capability: it is the interrupt that is refused. */
    cf_is(cr_delete(cr_slot_at(ports)), seL4_NoError);
    handler = second;
    cf_is(take_device(), seL4_RevokeFirst);
    cf_is((uint64_t)cf_empty(second), 1);
}

static void interrupt_is_free_when_its_handler_goes(void)
{
    open();
    seL4_CPtr copy = cf_copy(handler, seL4_AllRights);
    cf_is(cr_delete(cr_slot_at(handler)), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(ports)), seL4_NoError);
    /* With the first capability the copy stays. */
    cf_is(seL4_IRQHandler_Ack(copy), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(copy)), seL4_NoError);
    cf_is(take_device(), seL4_NoError);
    tell(notification);
    (void)cr_device_start(SHORT);
    cf_is(await(LOOKS), TICK);
}

static void handler_outlives_its_notification(void)
{
    open();
    cf_is(cr_revoke(cr_slot_at(notification)), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(notification)), seL4_NoError);
    notification = cf_notification();
    tell(notification);
    (void)cr_device_start(SHORT);
    cf_is(await(LOOKS), TICK);
}

static void handler_wants_a_notification_that_can_be_signalled(void)
{
    open();
    cf_is(seL4_IRQHandler_SetNotification(handler, cf_endpoint()), seL4_InvalidCapability);
    cf_is(seL4_IRQHandler_SetNotification(handler, cf_mint(notification, seL4_CanRead, TICK)), seL4_InvalidCapability);
    (void)cr_device_start(SHORT);
    cf_is(await(LOOKS), TICK);
}

/* Takes the device for good: the last of all. */
static void root_tasks_timer(void)
{
    uint32_t early = 0;
    notification = cf_notification();
    cf_is(cr_timer_init(notification, TICK), CR_OK);
    cf_is(await(NO_MORE), 0);
    for (uint32_t i = 1; i <= TRIES; i++) {
        uint64_t set = cr_timer_start(i * (uint64_t)(SHORT / 10));
        cf_is(await(LOOKS), TICK);
        cr_timer_ack();
        early += cr_timer_elapsed() != set;
    }
    cf_is(early, 0);
    cf_is(await(NO_MORE), 0);
    cf_is(cr_timer_start(CR_TIMER_MAX_NS) >= CR_TIMER_MAX_NS, 1);
    cf_is(await(LOOKS), TICK);
}

const cf_check cf_timer_checks[] = {
    {"interrupt-arrives-with-its-badge", interrupt_arrives_with_its_badge},
    {"interrupt-comes-once", interrupt_comes_once},
    {"interrupt-wakes-who-waits", interrupt_wakes_who_waits},
    {"interrupt-wakes-a-receiver-that-it-is-bound-to", interrupt_wakes_a_receiver_that_it_is_bound_to},
    {"interrupt-adds-its-badge", interrupt_adds_its_badge},
    {"interrupt-preempts-a-lower-priority", interrupt_preempts_a_lower_priority},
    {"interrupt-does-not-preempt-a-higher-priority", interrupt_does_not_preempt_a_higher_priority},
    {"equals-that-loop-for-ever-share-time", equals_that_loop_for_ever_share_time},
    {"no-interrupt-before-the-last-is-acknowledged", no_interrupt_before_the_last_is_acknowledged},
    {"second-start-replaces-the-first", second_start_replaces_the_first},
    {"interrupt-is-never-early", interrupt_is_never_early},
    {"elapsed-time-rises", elapsed_time_rises},
    {"interrupt-has-one-handler", interrupt_has_one_handler},
    {"interrupt-is-free-when-its-handler-goes", interrupt_is_free_when_its_handler_goes},
    {"handler-outlives-its-notification", handler_outlives_its_notification},
    {"handler-wants-a-notification-that-can-be-signalled", handler_wants_a_notification_that_can_be_signalled},
    {"root-tasks-timer", root_tasks_timer},
    {0, 0},
};
