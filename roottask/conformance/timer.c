/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A device's interrupt, and the time until it: only if the kernel leaves a timer to user level. And
 * the root task's time, which is from that device or from the kernel. Times are read from the timer
 * itself. A check does not fail if the machine is stopped for a while: the checks assert what
 * happened, never when. */
#include "conformance.h"
#include "kernel/arch/timer_device.h"
#include "kernel/timer.h"

enum {
    TICK = 0x12, /* badge of the interrupt */
    OTHER = 0x21,
    SHORT = 1000000, /* ns */
    LONG = 40000000,
    /* how often a check looks for an interrupt: many times longer than one takes */
    LOOKS = 1 << 21,
    NO_MORE = 20000, /* the same, for an interrupt that must not arrive */
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

/* Looks so many times for a signal. Returns its badge; 0: none. */
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

/* Sets the notification of the interrupt and stops the device. An earlier interrupt may have
 * arrived when no notification was set. */
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

/* Sets the timer and waits until the time is over. Returns whether it was. */
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

/* All other threads wait too: the processor is idle. */
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
    (void)cr_recv(endpoint, &badge, cr_caller_now);
    cf_is(badge, TICK);
    cf_is(seL4_TCB_UnbindNotification(seL4_CapInitThreadTCB), seL4_NoError);
}

/* A signal arrives before the check looks at the notification, whether the interrupt comes
 * before or after the signal. */
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
    /* The interrupt is signalled nevertheless, sooner or later. */
    for (uint32_t i = 0; i < LOOKS && w->progress == 0; i++) {
        cf_settle();
    }
    cf_is(w->badge, TICK);
}

/* Two workers that never stop; the root task only watches. */
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
            acknowledge(); /* the machine was stopped for that long */
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
    /* The device's registers are free, where they need a capability. The interrupt is what the
     * kernel refuses. */
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
    /* Deleting the first capability does not delete the copy. */
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
    cf_is(seL4_IRQHandler_SetNotification(handler, cf_mint(notification, seL4_CanRead, TICK)),
          seL4_InvalidCapability);
    (void)cr_device_start(SHORT);
    cf_is(await(LOOKS), TICK);
}

/* Takes the timer for good, so this check must be the last. What is asked for later is what counts,
 * whether it is sooner or later than what was asked for before. */
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
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t set = 0;
        for (uint32_t last = 0; last < 2; last++) {
            set = cr_timer_start(last == i ? LONG : SHORT);
            cf_is(set >= (uint64_t)(last == i ? LONG : SHORT), 1);
        }
        do {
            cf_is(await(LOOKS), TICK);
            cr_timer_ack();
        } while (cr_timer_elapsed() != set);
    }
    cf_is(cr_timer_start(CR_TIMER_MAX_NS) >= CR_TIMER_MAX_NS, 1);
    cf_is(await(LOOKS), TICK);
}

const cf_check cf_device_checks[] = {
    {"interrupt-arrives-with-its-badge", interrupt_arrives_with_its_badge},
    {"interrupt-comes-once", interrupt_comes_once},
    {"interrupt-wakes-who-waits", interrupt_wakes_who_waits},
    {"interrupt-wakes-a-receiver-that-it-is-bound-to",
     interrupt_wakes_a_receiver_that_it_is_bound_to},
    {"interrupt-adds-its-badge", interrupt_adds_its_badge},
    {"interrupt-preempts-a-lower-priority", interrupt_preempts_a_lower_priority},
    {"interrupt-does-not-preempt-a-higher-priority", interrupt_does_not_preempt_a_higher_priority},
    {"equals-that-loop-for-ever-share-time", equals_that_loop_for_ever_share_time},
    {"second-start-replaces-the-first", second_start_replaces_the_first},
    {"interrupt-is-never-early", interrupt_is_never_early},
    {"elapsed-time-rises", elapsed_time_rises},
    {"interrupt-has-one-handler", interrupt_has_one_handler},
    {"interrupt-is-free-when-its-handler-goes", interrupt_is_free_when_its_handler_goes},
    {"handler-outlives-its-notification", handler_outlives_its_notification},
    {"handler-wants-a-notification-that-can-be-signalled",
     handler_wants_a_notification_that_can_be_signalled},
    {0, 0},
};

const cf_check cf_ack_checks[] = {
    {"no-interrupt-before-the-last-is-acknowledged", no_interrupt_before_the_last_is_acknowledged},
    {0, 0},
};

const cf_check cf_time_checks[] = {
    {"root-tasks-timer", root_tasks_timer},
    {0, 0},
};
