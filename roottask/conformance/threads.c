/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads: starting and stopping, registers, priorities and the order of threads with equal
 * priority, and faults. */
#include "conformance.h"

#define CLIENT seL4_CapRights_new(1, 0, 0, 1)

enum {
    OWN_BITS = 4,  /* log2 of the slots of a worker's own CSpace */
    OWN_FAULT = 3, /* slots in that CSpace */
    OWN_ENDPOINT = 5,
    HANDOVERS = 4
};

void cr_illegal_instruction(void);
void cr_unknown_syscall(uint64_t number);

/* -- starting, stopping, registers */

static void suspended_thread_does_not_run(void)
{
    volatile cf_worker *w = cf_worker_make(cf_do_signal, cf_notification(), 0);
    cf_settle();
    cf_is(w->progress, 0);
    cf_go(w);
    cf_is(cr_suspend(w->tcb), seL4_NoError);
    cf_is(cr_suspend(w->tcb), seL4_NoError);
    cf_settle();
    cf_is(w->progress, 0);
    cf_go(w);
    cf_settle();
    cf_is(w->progress, 1);
}

/* Signals, counts, and then waits. */
static void signal_and_count(volatile cf_worker *self)
{
    self->progress++;
    seL4_Signal(self->cap);
    self->progress++;
}

static void resume_of_running_thread_does_nothing(void)
{
    seL4_CPtr notification = cf_notification();
    seL4_Word badge = 0;
    volatile cf_worker *w =
        cf_start(signal_and_count, cf_mint(notification, seL4_CanWrite, 0x12), 0);
    seL4_Wait(notification, &badge);
    /* The signal woke the root task before the worker counted. */
    cf_is(w->progress, 1);
    cf_is(cr_resume(w->tcb), seL4_NoError);
    cf_settle();
    cf_is(w->progress, 2);
    badge = 0;
    (void)seL4_Poll(notification, &badge);
    cf_is(badge, 0);
}

static void resume_of_waiting_receiver_waits_again(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w = cf_start(cf_do_recv, endpoint, 0);
    cf_settle();
    cf_is(cr_resume(w->tcb), seL4_NoError);
    cf_settle();
    cf_is(w->progress, 0);
    seL4_NBSend(cf_mint(endpoint, CLIENT, 5), seL4_MessageInfo_new(1, 0, 0, 0));
    cf_settle();
    cf_is(w->progress, 1);
    cf_is(w->badge, 5);
}

static uint64_t shows_call_of(volatile cf_worker *w, seL4_CPtr cap)
{
    seL4_UserContext registers = {0};
    seL4_CPtr invoked = 0;
    cf_is(cr_read_registers(w->tcb, &registers), seL4_NoError);
    return cr_arch_is_call(&registers, &invoked) && invoked == cap;
}

static void registers_of_a_caller(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w = cf_start(cf_do_call, cf_mint(endpoint, CLIENT, 5), 0);
    cf_settle();
    cf_is(shows_call_of(w, w->cap), 1); /* while it is in the queue */
    cf_is(shows_call_of(w, endpoint), 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_is(shows_call_of(w, w->cap), 1); /* while it waits for its answer */
    cf_settle();
    cf_is(w->progress, 0); /* reading the registers does not move the thread */
    cf_reply(7, 0);
    cf_is(w->label, 7);
}

/* With the registers that an answer may change as they were, the thread calls again. */
static void answered_call_is_made_anew(void)
{
    seL4_UserContext shown = {0};
    seL4_UserContext registers = {0};
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w = cf_start(cf_do_call, cf_mint(endpoint, CLIENT, 5), 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_is(cr_read_registers(w->tcb, &shown), seL4_NoError);
    cr_reply(cr_caller_now, seL4_MessageInfo_new(9, 0, 0, 0));
    cf_is(shows_call_of(w, w->cap), 0);
    cf_is(cr_read_registers(w->tcb, &registers), seL4_NoError);
    for (uint32_t i = 0; i < CR_CALL_REGISTERS; i++) {
        *cr_arch_call_register(&registers, i) = *cr_arch_call_register(&shown, i);
    }
    cf_is(cr_write_registers(w->tcb, 0, &registers), seL4_NoError);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_is(w->progress, 0);
    cf_reply(7, 0);
    cf_is(w->label, 7);
    cf_is(w->progress, 1);
}

static void registers_of_a_caller_of_a_waiting_server(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *server = cf_start(cf_do_recv, endpoint, 0);
    cf_settle();
    volatile cf_worker *w = cf_start(cf_do_call, cf_mint(endpoint, CLIENT, 5), 0);
    cf_settle();
    cf_is(server->progress, 1);
    cf_is(shows_call_of(w, w->cap), 1);
}

static void registers_of_a_receiver(void)
{
    volatile cf_worker *w = cf_start(cf_do_recv, cf_endpoint(), 0);
    cf_settle();
    cf_is(shows_call_of(w, w->cap), 0);
}

static void thread_without_ipc_buffer(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(cf_do_call, cf_mint(endpoint, CLIENT, 5), 0);
    cf_is(cr_set_spaces(w->tcb, 0, cr_l1_cnode(), cr_l1_data(), seL4_CapInitThreadVSpace, 0, 0),
          seL4_NoError);
    w->length = 2;
    w->words[0] = 10;
    w->words[1] = 11;
    cf_go(w);
    cf_message m = cf_receive(endpoint);
    cf_is(m.badge, 5);
    cf_is(m.length, 2);
    cf_is(m.words[1], 11);
    cf_reply(7, 99);
    cf_is(w->label, 7);
    cf_is(w->words[0], 99);
}

/* Creates a CSpace of 2^OWN_BITS slots whose guard takes all bits above. */
static seL4_CPtr own_cspace(void)
{
    return cf_make(seL4_CapTableObject, OWN_BITS, 1);
}

static seL4_Word own_data(void)
{
    return cr_cnode_data(seL4_WordBits - OWN_BITS);
}

static void cspace_with_guard(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr cspace = own_cspace();
    cf_is(cr_mint(cr_slot_in(cspace, OWN_ENDPOINT, OWN_BITS), cr_slot_at(endpoint), CLIENT, 5),
          seL4_NoError);
    volatile cf_worker *w = cf_worker_make_in(cf_do_call, OWN_ENDPOINT, 0, cspace, own_data());
    cf_go(w);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_reply(7, 0);
    cf_is(w->label, 7);
}

static void address_beyond_guard(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr cspace = own_cspace();
    cf_is(cr_mint(cr_slot_in(cspace, OWN_ENDPOINT, OWN_BITS), cr_slot_at(endpoint), CLIENT, 5),
          seL4_NoError);
    cf_is(cr_mint(cr_slot_in(cspace, OWN_FAULT, OWN_BITS), cr_slot_at(endpoint), CLIENT, 9),
          seL4_NoError);
    seL4_CPtr beyond = OWN_ENDPOINT | (1u << OWN_BITS);
    volatile cf_worker *w = cf_worker_make_in(cf_do_call, beyond, OWN_FAULT, cspace, own_data());
    cf_go(w);
    cf_message m = cf_receive(endpoint);
    cf_is(m.badge, 9);
    cf_is(m.label, seL4_Fault_CapFault);
    cf_is(m.words[seL4_CapFault_Addr], beyond);
}

/* Calls until the capability is gone. A revoke can happen at any point: the slot is empty at the
 * next call. */
static void call_until_lost(volatile cf_worker *self)
{
    for (;;) {
        seL4_MessageInfo_t tag =
            seL4_CallWithMRs(self->cap, seL4_MessageInfo_new(1, 0, 0, 0), 0, 0, 0, 0);
        self->label = seL4_MessageInfo_get_label(tag);
        if (self->label == seL4_InvalidCapability) {
            return;
        }
        self->progress++;
    }
}

static void client_whose_capability_is_revoked(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr parent = cf_mint(endpoint, seL4_AllRights, 5);
    seL4_CPtr cspace = own_cspace();
    cf_is(cr_copy(cr_slot_in(cspace, OWN_ENDPOINT, OWN_BITS), cr_slot_at(parent), CLIENT),
          seL4_NoError);
    volatile cf_worker *w = cf_worker_make_in(call_until_lost, OWN_ENDPOINT, 0, cspace, own_data());
    cf_go(w);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_reply(20, 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_is(cr_revoke(cr_slot_at(parent)), seL4_NoError);
    cf_reply(21, 0); /* a received call can still be answered */
    cf_is(w->progress, 2);
    cf_is(w->label, seL4_InvalidCapability);
    cf_is(cf_receive(endpoint).badge, 0);
}

/* -- priorities and order */

static void higher_priority_runs_first(void)
{
    volatile cf_worker *low = cf_worker_make(cf_do_signal, cf_notification(), 0);
    volatile cf_worker *high = cf_worker_make(cf_do_signal, cf_notification(), 0);
    volatile cf_worker *middle = cf_worker_make(cf_do_signal, cf_notification(), 0);
    cf_set_priority(low, 50);
    cf_set_priority(middle, 60);
    cf_set_priority(high, 200);
    cf_go(low);
    cf_go(high);
    cf_go(middle);
    cf_settle();
    cf_is(high->order, 1);
    cf_is(middle->order, 2);
    cf_is(low->order, 3);
}

static void signal_preempts_at_once(void)
{
    seL4_CPtr notification = cf_notification();
    volatile cf_worker *high = cf_worker_make(cf_do_recv, notification, 0);
    cf_set_priority(high, CF_PRIORITY + 1);
    cf_go(high);
    cf_settle();
    volatile cf_worker *low = cf_start(cf_do_signal, notification, 0);
    cf_settle();
    cf_is(high->order, 1);
    cf_is(low->order, 2);
}

static void send_preempts_at_once(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *high = cf_worker_make(cf_do_recv, endpoint, 0);
    cf_set_priority(high, CF_PRIORITY + 1);
    cf_go(high);
    cf_settle();
    volatile cf_worker *low = cf_start(cf_do_send, cf_mint(endpoint, CLIENT, 5), 0);
    cf_settle();
    cf_is(high->order, 1);
    cf_is(low->order, 2);
}

static void signal_to_lower_priority_does_not_preempt(void)
{
    seL4_CPtr notification = cf_notification();
    volatile cf_worker *low = cf_worker_make(cf_do_recv, notification, 0);
    cf_set_priority(low, CF_PRIORITY - 1);
    cf_go(low);
    cf_settle();
    volatile cf_worker *high = cf_start(cf_do_signal, notification, 0);
    cf_settle();
    cf_is(high->order, 1);
    cf_is(low->order, 2);
}

/* Two workers that run this wait for each other through memory only. Only the kernel's tick lets
 * the other one run. */
static volatile uint32_t turn;

static void take_turns(volatile cf_worker *self)
{
    uint32_t me = (uint32_t)(self - cf_workers);
    for (uint32_t i = 0; i < HANDOVERS; i++) {
        while (turn != me) {
        }
        self->progress++;
        turn = 1 - me;
    }
    self->order = ++cf_clock;
    self->words[0] = cf_workers[2].progress;
}

static void equal_priorities_share_time(void)
{
    turn = 0;
    volatile cf_worker *a = cf_start(take_turns, 0, 0);
    volatile cf_worker *b = cf_start(take_turns, 0, 0);
    cf_settle();
    cf_is(a->progress, HANDOVERS);
    cf_is(b->progress, HANDOVERS);
}

static void lower_priority_does_not_run_meanwhile(void)
{
    turn = 0;
    volatile cf_worker *a = cf_worker_make(take_turns, 0, 0);
    volatile cf_worker *b = cf_worker_make(take_turns, 0, 0);
    volatile cf_worker *low = cf_worker_make(cf_do_signal, cf_notification(), 0);
    cf_set_priority(low, CF_PRIORITY - 1);
    cf_go(low);
    cf_go(a);
    cf_go(b);
    cf_settle();
    cf_is(a->words[0], 0);
    cf_is(b->words[0], 0);
    cf_is(low->progress, 1);
    cf_is(low->order, 3);
}

static void yield_twice(volatile cf_worker *self)
{
    self->words[0] = ++cf_clock;
    seL4_Yield();
    self->words[1] = ++cf_clock;
    self->progress++;
}

static void yield_lets_equals_run(void)
{
    volatile cf_worker *a = cf_start(yield_twice, 0, 0);
    volatile cf_worker *b = cf_start(yield_twice, 0, 0);
    cf_settle();
    /* Each has started before either continues. */
    cf_is(a->words[0] + b->words[0], 1 + 2);
    cf_is(a->words[1] + b->words[1], 3 + 4);
    cf_is(a->words[1] - a->words[0], 2);
    cf_is(a->progress + b->progress, 2);
}

/* The turn threads of the root task rely on this (kernel/turns.h). */
enum { EQUALS = 3, ROUNDS = 6, NOBODY = EQUALS };

/* Counts for ever. The one whose turn it is wakes the root task, once. */
static void count_and_wake(volatile cf_worker *self)
{
    const uint32_t me = (uint32_t)(self - cf_workers);
    for (;;) {
        self->progress++;
        if (turn == me) {
            turn = NOBODY;
            seL4_Signal(self->cap);
        }
    }
}

/* Whenever it is woken, yields and then notes how far the others are. */
static void yield_and_note(volatile cf_worker *self)
{
    for (;;) {
        cr_wait_for(self->cap);
        seL4_Yield();
        for (uint32_t i = 0; i < EQUALS; i++) {
            self->words[i] = cf_workers[i].progress;
        }
        self->progress++;
        seL4_Signal(self->other);
    }
}

/* When a thread that was woken has yielded, each thread of its priority that could run has run:
 * whichever of them the root task preempted before it woke that thread. */
static void woken_thread_that_yields_lets_all_equals_run(void)
{
    seL4_CPtr turned = cf_notification();
    seL4_CPtr noted = cf_notification();
    seL4_CPtr asked = cf_notification();
    seL4_Word badge;
    for (uint32_t i = 0; i < EQUALS; i++) {
        (void)cf_worker_make(count_and_wake, turned, 0);
    }
    volatile cf_worker *w = cf_worker_make(yield_and_note, asked, 0);
    w->other = noted;
    cf_go(w);
    cf_settle();
    turn = NOBODY;
    for (uint32_t i = 0; i < EQUALS; i++) {
        cf_go(&cf_workers[i]);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t before[EQUALS];
        if (round != 0) { /* in the first round, none of them has run */
            turn = round % EQUALS;
            seL4_Wait(turned, &badge);
        }
        for (uint32_t i = 0; i < EQUALS; i++) {
            before[i] = cf_workers[i].progress;
        }
        seL4_Signal(asked);
        seL4_Wait(noted, &badge);
        uint32_t ran = 0;
        for (uint32_t i = 0; i < EQUALS; i++) {
            ran += (uint32_t)w->words[i] != before[i];
        }
        cf_is(w->progress, round + 1);
        cf_is(ran, EQUALS);
        if (ran != EQUALS) {
            return; /* one that never runs would not wake the root task in its turn */
        }
    }
}

static void yield_does_not_let_lower_ones_run(void)
{
    volatile cf_worker *low = cf_worker_make(cf_do_signal, cf_notification(), 0);
    cf_set_priority(low, CF_PRIORITY - 1);
    cf_go(low);
    volatile cf_worker *high = cf_start(yield_twice, 0, 0);
    cf_settle();
    cf_is(high->words[1], 2);
    cf_is(low->order, 3);
}

/* Threads of equal priority that the root task resumes run in the opposite order, because each
 * is put at the head of the queue. */
static void resumed_last_runs_first(void)
{
    volatile cf_worker *a = cf_start(cf_do_signal, cf_notification(), 0);
    volatile cf_worker *b = cf_start(cf_do_signal, cf_notification(), 0);
    volatile cf_worker *c = cf_start(cf_do_signal, cf_notification(), 0);
    cf_settle();
    cf_is(c->order, 1);
    cf_is(b->order, 2);
    cf_is(a->order, 3);
}

static void signalled_last_runs_first(void)
{
    seL4_CPtr notification[3];
    for (uint32_t i = 0; i < 3; i++) {
        notification[i] = cf_notification();
        (void)cf_start(cf_do_recv, notification[i], 0);
    }
    cf_settle();
    for (uint32_t i = 0; i < 3; i++) {
        seL4_Signal(notification[i]);
    }
    cf_settle();
    for (uint32_t i = 0; i < 3; i++) {
        cf_is(cf_workers[i].order, 3 - i);
    }
}

static void answered_last_runs_first(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr saved = cf_slots(3);
    for (uint32_t i = 0; i < 3; i++) {
        (void)cf_start(cf_do_call, cf_mint(endpoint, CLIENT, i + 1), 0);
        cf_is(cf_receive(endpoint).badge, i + 1);
        cf_is(cr_save_caller(cr_slot_at(saved + i), i), seL4_NoError);
    }
    for (uint32_t i = 0; i < 3; i++) {
        seL4_Send(saved + i, seL4_MessageInfo_new(7, 0, 0, 0));
    }
    cf_settle();
    for (uint32_t i = 0; i < 3; i++) {
        cf_is(cf_workers[i].order, 3 - i);
    }
}

/* Wakes the root task, which preempts this thread while a thread of equal priority is ready
 * behind it. */
static void preempted_thread_goes_on_first(void)
{
    seL4_CPtr notification = cf_notification();
    seL4_Word badge = 0;
    volatile cf_worker *second = cf_start(cf_do_signal, cf_notification(), 0);
    volatile cf_worker *first = cf_start(cf_do_signal, notification, 0);
    seL4_Wait(notification, &badge);
    cf_settle();
    cf_is(first->order, 1);
    cf_is(second->order, 2);
}

/* Calls a server of equal priority: it runs at once, before other ready threads. */
static void call_and_note(volatile cf_worker *self)
{
    (void)seL4_CallWithMRs(self->cap, seL4_MessageInfo_new(1, 0, 0, 0), 0, 0, 0, 0);
    self->order = ++cf_clock;
}

static void note_and_answer(volatile cf_worker *self)
{
    seL4_Word badge, words[4];
    (void)cr_recv_with(self->cap, &badge, words, self->reply);
    self->order = ++cf_clock;
    (void)cr_reply_recv_with(self->cap, seL4_MessageInfo_new(7, 0, 0, 0), &badge, words,
                             self->reply);
}

static void call_goes_straight_to_the_server_and_back(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *server = cf_start(note_and_answer, endpoint, 0);
    cf_settle();
    volatile cf_worker *other = cf_start(cf_do_signal, cf_notification(), 0);
    volatile cf_worker *client = cf_start(call_and_note, cf_mint(endpoint, CLIENT, 5), 0);
    cf_settle();
    cf_is(server->order, 1);
    cf_is(client->order, 2);
    cf_is(other->order, 3);
}

/* Answers and then receives with a second system call, like the servers of this project. */
static void note_answer_and_receive(volatile cf_worker *self)
{
    seL4_Word badge, words[4];
    (void)cr_recv_with(self->cap, &badge, words, self->reply);
    cr_reply_with(self->reply, seL4_MessageInfo_new(7, 0, 0, 0), 0);
    self->order = ++cf_clock;
    (void)cr_recv_with(self->cap, &badge, words, self->reply);
}

static void answered_equal_runs_after_others(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *server = cf_start(note_answer_and_receive, endpoint, 0);
    cf_settle();
    volatile cf_worker *other = cf_start(cf_do_signal, cf_notification(), 0);
    volatile cf_worker *client = cf_start(call_and_note, cf_mint(endpoint, CLIENT, 5), 0);
    cf_settle();
    cf_is(server->order, 1);
    cf_is(other->order, 2);
    cf_is(client->order, 3);
}

/* -- faults */

static int in_image(seL4_Word address)
{
    extern char cr_image_base[];
    extern char cr_root_end[];
    return address >= (uintptr_t)cr_image_base && address < (uintptr_t)cr_root_end;
}

static void do_illegal(volatile cf_worker *self)
{
    cr_illegal_instruction();
    self->progress++;
}

static void do_unknown(volatile cf_worker *self)
{
    cr_unknown_syscall(-(uint64_t)4242);
    self->progress++;
}

static uint64_t address_of_fault(volatile cf_worker *w, seL4_CPtr handler, cr_fault_kind expected)
{
    cr_fault_kind kind = CR_FAULT_KIND_COUNT;
    uint64_t address = 0;
    uint64_t ip = 0;
    cf_go(w);
    cf_message m = cf_receive(handler);
    cf_is(m.badge, 9);
    cf_is((uint64_t)cr_decode_fault(m.tag, &kind, &address, &ip), 1);
    cf_is(kind, expected);
    cf_is((uint64_t)in_image(ip), 1);
    cf_is(w->progress, 0);
    return address;
}

static void vm_fault_message(void)
{
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(cf_do_write, 0, cf_fault_cap(handler, 9));
    w->address = 0xdead000;
    cf_is(address_of_fault(w, handler, CR_FAULT_VM), 0xdead000);
}

static void cap_fault_message(void)
{
    seL4_CPtr handler = cf_endpoint();
    seL4_CPtr beyond = (seL4_CPtr)1 << CF_CPTR_BEYOND;
    volatile cf_worker *w = cf_worker_make(cf_do_recv, beyond, cf_fault_cap(handler, 9));
    cf_is(address_of_fault(w, handler, CR_FAULT_CAP), beyond);
}

static void user_exception_message(void)
{
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(do_illegal, 0, cf_fault_cap(handler, 9));
    (void)address_of_fault(w, handler, CR_FAULT_EXCEPTION);
}

static void unknown_syscall_message(void)
{
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(do_unknown, 0, cf_fault_cap(handler, 9));
    cf_is(address_of_fault(w, handler, CR_FAULT_SYSCALL), (seL4_Word)-4242);
}

static void fault_handler_in_own_cspace(void)
{
    seL4_CPtr handler = cf_endpoint();
    seL4_CPtr cspace = own_cspace();
    cf_is(cr_mint(cr_slot_in(cspace, OWN_FAULT, OWN_BITS), cr_slot_at(handler), CLIENT, 9),
          seL4_NoError);
    volatile cf_worker *w = cf_worker_make_in(cf_do_read, 0, OWN_FAULT, cspace, own_data());
    w->address = (uintptr_t)cf_window;
    cf_go(w);
    cf_expect_vm_fault(handler, 9, (uintptr_t)cf_window);
    /* The fault handler is looked up when the fault happens, so a capability that is put there
     * later is used. */
    volatile cf_worker *v = cf_worker_make_in(cf_do_read, 0, OWN_FAULT + 1, cspace, own_data());
    v->address = (uintptr_t)cf_window;
    cf_is(cr_mint(cr_slot_in(cspace, OWN_FAULT + 1, OWN_BITS), cr_slot_at(handler), CLIENT, 10),
          seL4_NoError);
    cf_go(v);
    cf_expect_vm_fault(handler, 10, (uintptr_t)cf_window);
}

/* Whether the fault of a thread with this fault handler arrives. If it does not, the other
 * threads must still run. */
static uint64_t fault_arrives(seL4_CPtr handler, seL4_CPtr fault)
{
    volatile cf_worker *w = cf_worker_make(cf_do_read, 0, fault);
    w->address = (uintptr_t)cf_window;
    cf_go(w);
    seL4_Word badge = cf_receive(handler).badge;
    volatile cf_worker *other = cf_start(cf_do_signal, cf_notification(), 0);
    cf_settle();
    cf_is(other->progress, 1);
    cf_is(w->progress, 0);
    return badge != 0;
}

static void fault_without_handler(void)
{
    seL4_CPtr handler = cf_endpoint();
    cf_is(fault_arrives(handler, 0), 0);
    cf_is(fault_arrives(handler, cf_slots(1)), 0);
    cf_is(fault_arrives(handler, cf_notification()), 0);
}

static void fault_handler_needs_rights(void)
{
    seL4_CPtr handler = cf_endpoint();
    cf_is(fault_arrives(handler, cf_mint(handler, seL4_CapRights_new(1, 1, 1, 0), 9)), 0);
    cf_is(fault_arrives(handler, cf_mint(handler, seL4_CapRights_new(0, 0, 1, 1), 9)), 0);
}

static void fault_handler_with_either_grant(void)
{
    seL4_CPtr handler = cf_endpoint();
    cf_is(fault_arrives(handler, cf_mint(handler, seL4_CapRights_new(1, 0, 0, 1), 9)), 1);
    cf_is(fault_arrives(handler, cf_mint(handler, seL4_CapRights_new(0, 1, 0, 1), 9)), 1);
}

static void faults_queue_up(void)
{
    seL4_CPtr handler = cf_endpoint();
    for (seL4_Word i = 1; i <= 3; i++) {
        volatile cf_worker *w = cf_worker_make(cf_do_read, 0, cf_fault_cap(handler, i));
        w->address = (uintptr_t)cf_window;
        cf_go(w);
        cf_settle();
    }
    for (seL4_Word i = 1; i <= 3; i++) {
        cf_expect_vm_fault(handler, i, (uintptr_t)cf_window);
    }
}

static void fault_in_queue_when_handler_goes(void)
{
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(cf_do_read, 0, cf_fault_cap(handler, 9));
    w->address = (uintptr_t)cf_window;
    cf_go(w);
    cf_settle();
    cf_is(cr_revoke(cr_slot_at(handler)), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(handler)), seL4_NoError);
    volatile cf_worker *other = cf_start(cf_do_signal, cf_notification(), 0);
    cf_settle();
    cf_is(other->progress, 1);
    cf_is(w->progress, 0);
}

/* Reads a word and sends it. */
static void read_and_call(volatile cf_worker *self)
{
    self->words[0] = *(volatile seL4_Word *)self->address;
    self->length = 1;
    cf_do_call(self);
}

static void resumed_faulted_thread_tries_again(void)
{
    seL4_CPtr handler = cf_endpoint();
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w =
        cf_worker_make(read_and_call, cf_mint(endpoint, CLIENT, 5), cf_fault_cap(handler, 9));
    w->address = (uintptr_t)cf_window;
    w->label = 33;
    cf_go(w);
    cf_expect_vm_fault(handler, 9, (uintptr_t)cf_window);
    cf_is(cr_resume(w->tcb), seL4_NoError);
    cf_expect_vm_fault(handler, 9, (uintptr_t)cf_window);
    cf_is(cr_arch_map_frame(cf_frame(), seL4_CapInitThreadVSpace, (seL4_Word)cf_window, 0, 0),
          seL4_NoError);
    cf_is(cr_resume(w->tcb), seL4_NoError);
    /* The thread now sends a message of its own, not a fault. */
    cf_message m = cf_receive(endpoint);
    cf_is(m.badge, 5);
    cf_is(m.label, 33);
    cf_is(m.length, 1);
    cf_is(m.words[0], 0);
}

static void faulted_thread_is_stopped_and_destroyed(void)
{
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(cf_do_read, 0, cf_fault_cap(handler, 9));
    w->address = (uintptr_t)cf_window;
    cf_go(w);
    cf_expect_vm_fault(handler, 9, (uintptr_t)cf_window);
    cf_is(cr_suspend(w->tcb), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(w->tcb)), seL4_NoError);
    cf_reply(0, 0); /* no thread waits for this answer any more */
    cf_is(w->progress, 0);
    cf_is(cf_receive(handler).badge, 0);
}

static void faulted_thread_starts_anew(void)
{
    static seL4_Word readable;
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(cf_do_read, 0, cf_fault_cap(handler, 9));
    w->address = (uintptr_t)cf_window;
    cf_go(w);
    cf_expect_vm_fault(handler, 9, (uintptr_t)cf_window);
    cf_go_anew(w);
    cf_expect_vm_fault(handler, 9, (uintptr_t)cf_window);
    w->address = (uintptr_t)&readable;
    cf_go_anew(w);
    cf_settle();
    cf_is(w->progress, 1);
    cf_is(cf_receive(handler).badge, 0);
}

static void waiting_sender_starts_anew(void)
{
    seL4_CPtr first = cf_endpoint();
    seL4_CPtr second = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(cf_do_send, cf_mint(first, CLIENT, 5), 0);
    cf_go(w);
    cf_settle();
    cf_is(w->progress, 0);
    w->cap = cf_mint(second, CLIENT, 6);
    cf_go_anew(w);
    cf_settle();
    cf_is(cf_receive(first).badge, 0); /* the message that waited is gone */
    cf_is(cf_receive(second).badge, 6);
    cf_settle();
    cf_is(w->progress, 1);
}

const cf_check cf_thread_checks[] = {
    {"suspended-thread-does-not-run", suspended_thread_does_not_run},
    {"resume-of-running-thread-does-nothing", resume_of_running_thread_does_nothing},
    {"resume-of-waiting-receiver-waits-again", resume_of_waiting_receiver_waits_again},
    {"registers-of-a-caller", registers_of_a_caller},
    {"answered-call-is-made-anew", answered_call_is_made_anew},
    {"registers-of-a-caller-of-a-waiting-server", registers_of_a_caller_of_a_waiting_server},
    {"registers-of-a-receiver", registers_of_a_receiver},
    {"thread-without-ipc-buffer", thread_without_ipc_buffer},
    {"cspace-with-guard", cspace_with_guard},
    {"client-whose-capability-is-revoked", client_whose_capability_is_revoked},
    {"higher-priority-runs-first", higher_priority_runs_first},
    {"signal-preempts-at-once", signal_preempts_at_once},
    {"send-preempts-at-once", send_preempts_at_once},
    {"signal-to-lower-priority-does-not-preempt", signal_to_lower_priority_does_not_preempt},
    {"equal-priorities-share-time", equal_priorities_share_time},
    {"lower-priority-does-not-run-meanwhile", lower_priority_does_not_run_meanwhile},
    {"yield-lets-equals-run", yield_lets_equals_run},
    {"woken-thread-that-yields-lets-all-equals-run", woken_thread_that_yields_lets_all_equals_run},
    {"yield-does-not-let-lower-ones-run", yield_does_not_let_lower_ones_run},
    {"resumed-last-runs-first", resumed_last_runs_first},
    {"signalled-last-runs-first", signalled_last_runs_first},
    {"answered-last-runs-first", answered_last_runs_first},
    {"preempted-thread-goes-on-first", preempted_thread_goes_on_first},
    {"call-goes-straight-to-the-server-and-back", call_goes_straight_to_the_server_and_back},
    {"answered-equal-runs-after-others", answered_equal_runs_after_others},
    {"vm-fault-message", vm_fault_message},
    {"cap-fault-message", cap_fault_message},
    {"user-exception-message", user_exception_message},
    {"unknown-syscall-message", unknown_syscall_message},
    {"fault-handler-with-either-grant", fault_handler_with_either_grant},
    {"faults-queue-up", faults_queue_up},
    {"fault-in-queue-when-handler-goes", fault_in_queue_when_handler_goes},
    {"resumed-faulted-thread-tries-again", resumed_faulted_thread_tries_again},
    {"faulted-thread-is-stopped-and-destroyed", faulted_thread_is_stopped_and_destroyed},
    {"faulted-thread-starts-anew", faulted_thread_starts_anew},
    {"waiting-sender-starts-anew", waiting_sender_starts_anew},
    {0, 0},
};

/* Only of kernels without MCS: these keep a caller in the thread, and look the endpoint for faults
 * up in its CSpace. mcs.c has what there is instead. */
const cf_check cf_plain_thread_checks[] = {
    {"address-beyond-guard", address_beyond_guard},
    {"fault-handler-in-own-cspace", fault_handler_in_own_cspace},
    {"fault-without-handler", fault_without_handler},
    {"fault-handler-needs-rights", fault_handler_needs_rights},
    {0, 0},
};
