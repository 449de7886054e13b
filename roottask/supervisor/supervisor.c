/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The main loop. It receives a message, handles it completely, does everything that follows from
 * it, and receives the next message. It must never call a PD or block on anything except the
 * endpoint, because all PDs depend on it. */
#include "supervisor.h"
#include "kernel/writer.h"
#include "system/saved.h"
#include "system/state.h"
#include "system/truth.h"
#include "cleaner_watch.h"

cr_supervisor cr_sup;

static void make_tables(void)
{
    const uint32_t nodes = cr_node_entries();
    CR_TABLE_MAKE(cr_sup.tickets.at, cr_most.tickets);
    CR_TABLE_MAKE(cr_sup.extract.pieces, cr_most.maps);
    CR_TABLE_MAKE(cr_sup.extract.first_piece, nodes);
    CR_TABLE_MAKE(cr_sup.extract.queue, nodes);
    CR_TABLE_MAKE(cr_sup.extract.reached, nodes);
    CR_TABLE_MAKE(cr_sup.cleaner.rows, cr_kept_words());
    CR_TABLE_MAKE(cr_sup.cleaner.touched, nodes);
    CR_TABLE_MAKE(cr_sup.cleaner.queue, cr_most.pds);
    CR_TABLE_MAKE(cr_sup.cleaner.some_nodes, cr_most.pds);
    CR_TABLE_MAKE(cr_sup.cleaner.some_pds, cr_most.pds);
    CR_TABLE_MAKE(cr_sup.between.kept, cr_most.pds);
    CR_TABLE_MAKE(cr_sup.between.faults, cr_most.pds);
    CR_TABLE_MAKE(cr_sup.faults.of, cr_most.pds);
    CR_TABLE_MAKE(cr_sup.hung.on, cr_most.pds);
    CR_TABLE_MAKE(cr_sup.hung.called, cr_most.pds);
    CR_TABLE_MAKE(cr_sup.hung.found, cr_most.pds);
    CR_TABLE_MAKE(cr_sup.population.entries, cr_most.pds);
    CR_TABLE_MAKE(cr_sup.silence.seen, cr_most.pds);
    CR_TABLE_MAKE(cr_sup.silence.told_of, cr_most.pds);
    CR_TABLE_MAKE(cr_sup.reports.places, nodes);
}

void cr_supervisor_init(const cr_hooks *hooks, seL4_CPtr notification)
{
    if (hooks != 0 && hooks->checkpoint != 0 && hooks->release == 0) {
        cr_panic("hooks that let PDs wait at checkpoints must be able to release them", 0);
    }
    make_tables();
    cr_sup.hooks = hooks;
    cr_sup.between.serve = cr_serve_interleaved;
    cr_sys.tickets_in_use = cr_tickets_in_use;
    cr_sys.report_unmade = cr_report_unmade;
    cr_clock_init(notification);
}

static void handle_fault(seL4_MessageInfo_t tag, uint64_t badge)
{
    cr_kept_fault fault;
    cr_pd *pd;
    if (cr_take_fault(tag, badge, &pd, &fault)) {
        cr_fault_occurs(pd, fault.kind, fault.address, fault.ip);
    }
}

static void handle_message(seL4_MessageInfo_t tag, uint64_t badge)
{
    cr_message *message = &cr_sup.operations.message;
    cr_pd *pd;
    switch (cr_badge_kind_of(badge)) {
    case CR_BADGE_FAULT:
        handle_fault(tag, badge);
        return;
    case CR_BADGE_PD:
        cr_take_message(tag, message);
        if (cr_find_badged(badge, CR_BADGE_PD, &pd) == CR_RESULT_OK && cr_pd_is_served(pd)) {
            cr_serve(pd, message, CR_WAY_AT_ONCE);
        }
        return;
    default: /* Capabilities to PDs have no right to send. */
        cr_panic("a message with a badge that was never minted", badge);
    }
}

/* Handles the bound notification. `badge` combines all signals since the last receive. */
static void handle_signals(uint64_t badge)
{
    const cr_hooks *hooks = cr_sup.hooks;
    int alarm = 0;
    if (cr_badge_has(badge, CR_BADGE_TIMER)) {
        if (cr_clock_tick(&alarm)) {
            if (!cr_hung_is_quiet()) {
                cr_clock_tell();
            }
            if (alarm && hooks != 0 && hooks->alarm != 0) {
                hooks->alarm();
            }
            cr_waits_expire();
        }
        cr_silence_tick(cr_clock_take_passed());
        cr_writer_lend();
    }
    if (cr_badge_has(badge, CR_BADGE_TURN)) {
        cr_share_turn();
    }
    if (hooks != 0 && hooks->signal != 0) {
        hooks->signal(badge);
    }
}

/* Does everything that follows from a message. The order ensures that nothing is left over for the
 * next message. */
static void follow_up(void)
{
    cr_fill_due_slots(); /* Before a cleanup begins, everything configured must be there. */
    cr_cleaner_follow_up();
    cr_acknowledge_for_microkit();
    cr_waits_follow_up();
    cr_extract_follow_up();
    cr_tickets_follow_up();
    cr_population_follow_up();
    cr_connect_follow_up();
    cr_reports_follow_up();
}

/* Handles the oldest message that came while the cleaner was watched and was not served between
 * steps. Returns 0 if there is none. */
static int handle_kept(void)
{
    cr_kept *kept;
    cr_kept_fault *fault;
    cr_pd *pd;
    cr_interleaved_oldest(&kept, &fault);
    if (kept == 0 && fault == 0) {
        return 0;
    }
    const uint64_t badge = kept != 0 ? kept->badge : fault->badge;
    const int served =
        cr_find_badged(badge, cr_badge_kind_of(badge), &pd) == CR_RESULT_OK && cr_pd_is_served(pd);
    cr_share_begin();
    if (kept == 0 || kept->way == CR_WAY_SENT) {
        cr_share_interrupt(); /* The PD went on when it had sent the message. */
    }
    if (served && kept != 0) {
        cr_serve(pd, &kept->message, kept->way);
    } else if (served) {
        cr_fault_occurs(pd, fault->kind, fault->address, fault->ip);
    }
    cr_interleaved_forget(kept, fault);
    follow_up();
    cr_share_end(badge);
    return 1;
}

/* Handles the messages and signals that came while the cleaner was watched. Returns the bits of the
 * badges that are not the root task's. */
static uint64_t handle_late(void)
{
    uint64_t own = 0;
    uint64_t badge;
    /* The loop ends: messages and signals are only late if a cleanup was carried out. */
    while (handle_kept() || cr_sup.cleaner.signals != 0) {
        badge = cr_cleaner_watch_take_signals();
        own |= badge & CR_OWN_BADGE_BITS;
        if (cr_badge_is_signal(badge)) {
            handle_signals(badge);
            follow_up();
        }
    }
    return own;
}

/* No PD has run, and the state at the beginning was printed. */
static void reconcile(void)
{
    const cr_ref *nodes;
    const uint32_t count = cr_saved_unnamed(&nodes);
    if (count > 0) {
        cr_cleaner_reconcile(nodes, count);
        follow_up();
    }
}

int cr_supervisor_turn(seL4_CPtr endpoint, cr_own_message *own)
{
    seL4_Word badge;
    if (!cr_sup.begun) {
        cr_sup.begun = 1;
        cr_print_whole();
        reconcile();
        cr_trace_flush(&cr_sys.trace); /* No PD has run, so none waits for it. */
        if (cr_sup.hooks != 0 && cr_sup.hooks->begun != 0) {
            cr_sup.hooks->begun();
        }
    }
    cr_writer_keep_up(cr_sys.trace.recorded, cr_sys.trace.recorded - cr_sys.trace.written);
    cr_writer_wake();
    cr_clock_arm();
    if (cr_silence_counts() || cr_writer_is_behind()) {
        cr_clock_stand();
    }
    own->tag = cr_answer_and_receive(endpoint, &badge);
    own->badge = badge & CR_OWN_BADGE_BITS;
    if (badge == own->badge) {
        return 1; /* Nothing follows from it, and its registers must stay as they are. */
    }
    int own_signals = 0;
    if (cr_badge_is_signal(badge)) {
        handle_signals(badge);
        own_signals = own->badge != 0;
    } else {
        cr_share_begin();
        handle_message(own->tag, badge);
    }
    follow_up();
    if (!cr_badge_is_signal(badge)) {
        cr_share_end(badge);
    }
    const uint64_t late = handle_late();
    if (late != 0) {
        own->badge = own_signals ? own->badge | late : late;
        own->tag = seL4_MessageInfo_new(0, 0, 0, 0);
    }
    return own_signals || late != 0;
}

void cr_supervisor_run(seL4_CPtr endpoint)
{
    const cr_hooks *hooks = cr_sup.hooks;
    cr_own_message own;
    do {
        if (cr_supervisor_turn(endpoint, &own)) {
            cr_panic("a message with a badge that was never minted", own.badge);
        }
    } while (hooks == 0 || hooks->handled == 0 || hooks->handled());
    cr_supervisor_end();
}

void cr_supervisor_end(void)
{
    cr_make_kept_answer();
    cr_trace_refused_rest();
    cr_print_whole();
    cr_truth(CR_TRUTH_LAST);
    cr_trace_finish(&cr_sys.trace);
}
