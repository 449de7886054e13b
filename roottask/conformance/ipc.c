/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages, answers and notifications, and what happens to waiting threads when an object is
 * destroyed. */
#include "conformance.h"

/* The rights that the root task gives to clients: to send, and to be answered. */
#define CLIENT seL4_CapRights_new(1, 0, 0, 1)

static seL4_CPtr client_cap(seL4_CPtr endpoint, seL4_Word badge)
{
    return cf_mint(endpoint, CLIENT, badge);
}

static seL4_Word poll(seL4_CPtr notification)
{
    seL4_Word badge = 0;
    (void)seL4_Poll(notification, &badge);
    return badge;
}

/* -- messages */

static void message_in_registers(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(cf_do_call, client_cap(endpoint, 5), 0);
    w->label = 1234;
    w->length = 3;
    w->words[0] = 10;
    w->words[1] = 11;
    w->words[2] = 12;
    cf_go(w);
    cf_message m = cf_receive(endpoint);
    cf_is(m.badge, 5);
    cf_is(m.label, 1234);
    cf_is(m.length, 3);
    cf_is(m.extra, 0);
    cf_is(m.words[0], 10);
    cf_is(m.words[1], 11);
    cf_is(m.words[2], 12);
    cf_is(w->progress, 0);
    cf_reply(4321, 99);
    cf_is(w->progress, 1);
    cf_is(w->label, 4321);
    cf_is(w->length, 1);
    cf_is(w->words[0], 99);
}

static void message_of_full_length(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(cf_do_call, client_cap(endpoint, 5), 0);
    volatile seL4_IPCBuffer *buffer = cf_buffer(w);
    uint32_t wrong = 0;
    w->length = seL4_MsgMaxLength;
    for (uint32_t i = 0; i < seL4_MsgMaxLength; i++) {
        buffer->msg[i] = 1000 + i;
        if (i < 4) {
            w->words[i] = 1000 + i;
        }
    }
    cf_go(w);
    cf_message m = cf_receive(endpoint);
    cf_is(m.length, seL4_MsgMaxLength);
    for (int i = 0; i < seL4_MsgMaxLength; i++) {
        wrong += seL4_GetMR(i) != 1000 + (seL4_Word)i;
    }
    cf_is(wrong, 0);
    /* And the whole way back. */
    for (int i = 0; i < seL4_MsgMaxLength; i++) {
        seL4_SetMR(i, 5000 + (seL4_Word)i);
    }
    cr_reply(cr_caller_now, seL4_MessageInfo_new(7, 0, 0, seL4_MsgMaxLength));
    cf_settle();
    cf_is(w->length, seL4_MsgMaxLength);
    for (uint32_t i = 0; i < seL4_MsgMaxLength; i++) {
        wrong += (i < 4 ? w->words[i] : buffer->msg[i]) != 5000 + i;
    }
    cf_is(wrong, 0);
}

static void message_to_a_waiting_receiver(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr sender = client_cap(endpoint, 6);
    volatile cf_worker *w = cf_start(cf_do_recv, endpoint, 0);
    cf_settle();
    seL4_SetMR(0, 31);
    seL4_SetMR(1, 32);
    seL4_Send(sender, seL4_MessageInfo_new(9, 0, 0, 2));
    cf_settle();
    cf_is(w->progress, 1);
    cf_is(w->badge, 6);
    cf_is(w->label, 9);
    cf_is(w->length, 2);
    cf_is(w->words[1], 32);
}

/* Priority has an effect on the order in a queue with MCS only. */
static void senders_are_served_in_order(void)
{
    static const seL4_Word order[2][4] = {{1, 2, 3, 4}, {1, 3, 2, 4}};
    seL4_CPtr endpoint = cf_endpoint();
    for (seL4_Word i = 1; i <= 4; i++) {
        volatile cf_worker *w = cf_worker_make(cf_do_send, client_cap(endpoint, i), 0);
        cf_set_priority(w, CF_PRIORITY + (i % 2) * 10);
        cf_go(w);
        cf_settle();
    }
    for (uint32_t i = 0; i < 4; i++) {
        cf_is(cf_receive(endpoint).badge, order[CR_MCS][i]);
    }
}

static void nonblocking_send_to_nobody(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_NBSend(client_cap(endpoint, 5), seL4_MessageInfo_new(1, 0, 0, 0));
    cf_is(cf_receive(endpoint).badge, 0);
}

static void send_blocks_until_received(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w = cf_start(cf_do_send, client_cap(endpoint, 5), 0);
    cf_settle();
    cf_is(w->progress, 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_settle();
    cf_is(w->progress, 1);
}

static void receive_without_sender(void)
{
    cf_is(cf_receive(cf_endpoint()).badge, 0);
}

/* -- answers */

static void reply_without_caller(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w = cf_start(cf_do_send, client_cap(endpoint, 5), 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_reply(7, 0); /* a sender gets no answer */
    cf_reply(7, 0);
    cf_is(w->progress, 1);
    cf_is(w->label, 0);
}

static void reply_is_good_once(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr cap = client_cap(endpoint, 5);
    volatile cf_worker *a = cf_start(cf_do_call, cap, 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_reply(7, 0);
    cf_is(a->label, 7);
    cf_reply(8, 0);
    cf_is(a->label, 7);
    cf_is(a->progress, 1);
}

/* Calls twice. The second call waits for its answer. */
static void call_twice(volatile cf_worker *self)
{
    for (seL4_Word i = 1; i <= 2; i++) {
        seL4_Word word = i;
        seL4_MessageInfo_t tag =
            seL4_CallWithMRs(self->cap, seL4_MessageInfo_new(i, 0, 0, 1), &word, 0, 0, 0);
        self->label = seL4_MessageInfo_get_label(tag);
        self->words[0] = word;
        self->progress++;
    }
}

static void serve_once(volatile cf_worker *self)
{
    seL4_Word badge;
    seL4_Word words[4] = {0};
    (void)cr_recv_with(self->cap, &badge, words, self->reply);
    self->words[0] = words[0];
    seL4_Word word = words[0] + 100;
    const seL4_MessageInfo_t answer = seL4_MessageInfo_new(50, 0, 0, 1);
    seL4_MessageInfo_t tag = cr_reply_recv_with(self->cap, answer, &badge, &word, self->reply);
    self->label = seL4_MessageInfo_get_label(tag);
    self->words[1] = word;
    self->badge = badge;
    self->progress++;
}

static void reply_and_receive(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *server = cf_start(serve_once, endpoint, 0);
    cf_settle();
    volatile cf_worker *client = cf_start(call_twice, client_cap(endpoint, 5), 0);
    cf_settle();
    cf_is(client->progress, 1);
    cf_is(client->label, 50);
    cf_is(client->words[0], 101);
    cf_is(server->progress, 1);
    cf_is(server->words[0], 1);
    cf_is(server->words[1], 2);
    cf_is(server->label, 2);
    cf_is(server->badge, 5);
}

static void next_receive_forgets_the_caller(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *a = cf_start(cf_do_call, client_cap(endpoint, 5), 0);
    cf_is(cf_receive(endpoint).badge, 5);
    volatile cf_worker *b = cf_start(cf_do_call, client_cap(endpoint, 6), 0);
    cf_is(cf_receive(endpoint).badge, 6);
    cf_reply(7, 0);
    cf_is(b->label, 7);
    cf_is(a->progress, 0);
    cf_reply(8, 0);
    cf_is(a->progress, 0);
}

static void receive_of_a_send_forgets_the_caller(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *a = cf_start(cf_do_call, client_cap(endpoint, 5), 0);
    cf_is(cf_receive(endpoint).badge, 5);
    (void)cf_start(cf_do_send, client_cap(endpoint, 6), 0);
    cf_is(cf_receive(endpoint).badge, 6);
    cf_reply(7, 0);
    cf_is(a->progress, 0);
}

static void polling_keeps_the_caller(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr notification = cf_notification();
    volatile cf_worker *a = cf_start(cf_do_call, client_cap(endpoint, 5), 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_is(poll(notification), 0);
    seL4_Signal(notification);
    (void)poll(notification);
    cf_reply(7, 0);
    cf_is(a->label, 7);
}

/* Calls another endpoint, `other`, before it answers. */
static void serve_by_asking(volatile cf_worker *self)
{
    seL4_Word badge;
    seL4_Word words[4] = {0};
    (void)cr_recv_with(self->cap, &badge, words, self->reply);
    seL4_MessageInfo_t tag =
        seL4_CallWithMRs(self->other, seL4_MessageInfo_new(2, 0, 0, 1), &words[0], 0, 0, 0);
    cr_reply_with(self->reply, seL4_MessageInfo_new(seL4_MessageInfo_get_label(tag) + 1, 0, 0, 1),
                  words[0]);
    self->progress++;
}

/* The server's own capability to its endpoint allows only to receive, as in PDs. */
static void server_asks_another_before_it_answers(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr other = cf_endpoint();
    volatile cf_worker *server =
        cf_worker_make(serve_by_asking, cf_copy(endpoint, seL4_CanRead), 0);
    server->other = client_cap(other, 6);
    volatile cf_worker *client = cf_worker_make(cf_do_call, client_cap(endpoint, 5), 0);
    client->length = 1;
    client->words[0] = 40;
    cf_go(server);
    cf_go(client);
    cf_message m = cf_receive(other);
    cf_is(m.badge, 6);
    cf_is(m.words[0], 40);
    cf_is(client->progress, 0);
    cf_reply(70, 41);
    cf_is(server->progress, 1);
    cf_is(client->progress, 1);
    cf_is(client->label, 71);
    cf_is(client->words[0], 41);
}

static void saved_caller_is_answered_later(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr saved = cf_slots(1);
    volatile cf_worker *a = cf_start(cf_do_call, client_cap(endpoint, 5), 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_is(cr_save_caller(cr_slot_at(saved), 0), seL4_NoError);
    cf_reply(1, 0); /* the reply capability is no longer here */
    cf_is(a->progress, 0);
    volatile cf_worker *b = cf_start(cf_do_call, client_cap(endpoint, 6), 0);
    cf_is(cf_receive(endpoint).badge, 6);
    cf_reply(2, 0);
    cf_is(b->label, 2);
    seL4_SetMR(0, 77);
    seL4_Send(saved, seL4_MessageInfo_new(3, 0, 0, 1));
    cf_settle();
    cf_is(a->progress, 1);
    cf_is(a->label, 3);
    cf_is(a->words[0], 77);
    /* With MCS, it is a copy of an object that stays. */
    cf_is((uint64_t)cf_empty(saved), !CR_MCS);
    seL4_Send(saved, seL4_MessageInfo_new(4, 0, 0, 1)); /* nobody is kept there any more */
    cf_settle();
    cf_is(a->label, 3);
}

static void slot_of_used_reply_is_free(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr saved = cf_slots(1);
    volatile cf_worker *w = cf_start(call_twice, client_cap(endpoint, 5), 0);
    for (seL4_Word i = 1; i <= 2; i++) {
        cf_is(cf_receive(endpoint).label, i);
        cf_is(cr_save_caller(cr_slot_at(saved), 0), seL4_NoError);
        seL4_Send(saved, seL4_MessageInfo_new(20 + i, 0, 0, 0));
        cf_settle();
        cf_is(w->label, 20 + i);
    }
    seL4_Send(saved, seL4_MessageInfo_new(30, 0, 0, 0)); /* the slot is empty: no effect */
    cf_settle();
    cf_is(w->label, 22);
}

static void caller_is_not_saved_to_occupied_slot(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w = cf_start(cf_do_call, client_cap(endpoint, 5), 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_is(cr_save_caller(cr_slot_at(cf_notification()), 0), seL4_DeleteFirst);
    cf_reply(7, 0);
    cf_is(w->label, 7);
}

static void call_without_right_to_be_answered(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w = cf_start(cf_do_call, cf_mint(endpoint, seL4_CanWrite, 5), 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_reply(7, 0);
    cf_is(w->progress, 0);
}

/* -- rights and addresses */

static void call_of_empty_slot(void)
{
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_start(cf_do_call, cf_slots(1), cf_fault_cap(handler, 9));
    cf_settle();
    cf_is(w->progress, 1);
    cf_is(w->label, seL4_InvalidCapability);
    cf_is(cf_receive(handler).badge, 0);
}

static void send_without_right(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w = cf_start(cf_do_call, cf_mint(endpoint, seL4_CanRead, 5), 0);
    cf_settle();
    cf_is(w->progress, 1);
    cf_is(w->label, seL4_InvalidCapability);
    cf_is(cf_receive(endpoint).badge, 0);
}

static void signal_without_right(void)
{
    seL4_CPtr notification = cf_notification();
    seL4_Signal(cf_copy(notification, seL4_CanRead));
    cf_is(poll(notification), 0);
}

static void cap_fault_of(seL4_CPtr cap, void (*run)(volatile cf_worker *), seL4_Word receiving)
{
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_start(run, cap, cf_fault_cap(handler, 9));
    cf_message m = cf_receive(handler);
    cf_is(m.badge, 9);
    cf_is(m.label, seL4_Fault_CapFault);
    cf_is(m.words[seL4_CapFault_Addr], cap);
    cf_is(m.words[seL4_CapFault_InRecvPhase], receiving);
    cf_is(w->progress, 0);
}

static void receive_from_empty_slot(void)
{
    cap_fault_of(cf_slots(1), cf_do_recv, 1);
}

static void receive_without_right(void)
{
    cap_fault_of(cf_copy(cf_endpoint(), seL4_CanWrite), cf_do_recv, 1);
}

static void receive_from_what_is_no_endpoint(void)
{
    cap_fault_of(cf_make(seL4_TCBObject, 0, 1), cf_do_recv, 1);
}

static void receive_beyond_the_cspace(void)
{
    cap_fault_of((seL4_CPtr)1 << CF_CPTR_BEYOND, cf_do_recv, 1);
}

static void call_beyond_the_cspace(void)
{
    cap_fault_of((seL4_CPtr)1 << CF_CPTR_BEYOND, cf_do_call, 0);
}

static void receive_from_anothers_bound_notification(void)
{
    seL4_CPtr notification = cf_notification();
    volatile cf_worker *w = cf_worker_make(cf_do_recv, 0, 0);
    cf_is(seL4_TCB_BindNotification(w->tcb, notification), seL4_NoError);
    cap_fault_of(notification, cf_do_recv, 1);
}

/* -- capabilities in messages */

static cf_message send_cap(seL4_CPtr endpoint, seL4_CPtr through, seL4_CPtr cap)
{
    volatile cf_worker *w = cf_worker_make(cf_do_call, through, 0);
    w->extra = 1;
    w->length = 1;
    w->words[0] = 10;
    cf_buffer(w)->caps_or_badges[0] = cap;
    cf_go(w);
    return cf_receive(endpoint);
}

static void capability_to_same_endpoint_is_unwrapped(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr through = cf_mint(endpoint, seL4_CapRights_new(1, 1, 0, 1), 5);
    cf_message m = send_cap(endpoint, through, client_cap(endpoint, 0x3000000700000009));
    cf_is(m.badge, 5);
    cf_is(m.extra, 1);
    cf_is(m.unwrapped, 1);
    cf_is(seL4_GetIPCBuffer()->caps_or_badges[0], 0x3000000700000009);
    cf_is(m.words[0], 10);
}

static void capability_to_another_endpoint_is_not_passed(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr through = cf_mint(endpoint, seL4_CapRights_new(1, 1, 0, 1), 5);
    cf_message m = send_cap(endpoint, through, client_cap(cf_endpoint(), 7));
    cf_is(m.badge, 5);
    cf_is(m.extra, 0);
    cf_is(m.unwrapped, 0);
    cf_is(m.words[0], 10);
}

static void capability_is_passed_with_grant_only(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    cf_message m = send_cap(endpoint, client_cap(endpoint, 5), client_cap(endpoint, 7));
    cf_is(m.badge, 5);
    cf_is(m.extra, 0);
    cf_is(m.unwrapped, 0);
}

static void empty_slot_in_a_message(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr through = cf_mint(endpoint, seL4_CapRights_new(1, 1, 0, 1), 5);
    cf_message m = send_cap(endpoint, through, cf_slots(1));
    cf_is(m.badge, 5);
    cf_is(m.extra, 0);
}

static void bad_address_in_a_message(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr handler = cf_endpoint();
    seL4_CPtr through = cf_mint(endpoint, seL4_CapRights_new(1, 1, 0, 1), 5);
    volatile cf_worker *w = cf_worker_make(cf_do_call, through, cf_fault_cap(handler, 9));
    w->extra = 1;
    cf_buffer(w)->caps_or_badges[0] = (seL4_CPtr)1 << CF_CPTR_BEYOND;
    cf_go(w);
    cf_is(cf_receive(endpoint).badge, 0);
    cf_message m = cf_receive(handler);
    cf_is(m.badge, 9);
    cf_is(m.label, seL4_Fault_CapFault);
    cf_is(m.words[seL4_CapFault_Addr], (seL4_CPtr)1 << CF_CPTR_BEYOND);
}

/* -- notifications */

static void signals_add_up(void)
{
    seL4_CPtr notification = cf_notification();
    seL4_Signal(cf_mint(notification, seL4_CanWrite, 0x12));
    seL4_Signal(cf_mint(notification, seL4_CanWrite, 0x21));
    seL4_Signal(cf_mint(notification, seL4_CanWrite, 0x12));
    cf_is(poll(notification), 0x33);
    cf_is(poll(notification), 0);
}

static void signal_wakes_a_waiting_thread(void)
{
    seL4_CPtr notification = cf_notification();
    volatile cf_worker *w = cf_start(cf_do_recv, notification, 0);
    cf_settle();
    cf_is(w->progress, 0);
    seL4_Signal(cf_mint(notification, seL4_CanWrite, 0x12));
    cf_settle();
    cf_is(w->progress, 1);
    cf_is(w->badge, 0x12);
    cf_is(poll(notification), 0);
}

static void signal_before_waiting_is_kept(void)
{
    seL4_CPtr notification = cf_notification();
    seL4_Signal(cf_mint(notification, seL4_CanWrite, 0x12));
    volatile cf_worker *w = cf_start(cf_do_recv, notification, 0);
    cf_settle();
    cf_is(w->progress, 1);
    cf_is(w->badge, 0x12);
}

static void bound_signal_wakes_a_receiver(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr notification = cf_notification();
    volatile cf_worker *w = cf_worker_make(cf_do_recv, endpoint, 0);
    cf_is(seL4_TCB_BindNotification(w->tcb, notification), seL4_NoError);
    cf_go(w);
    cf_settle();
    cf_is(w->progress, 0);
    seL4_Signal(cf_mint(notification, seL4_CanWrite, 0x12));
    cf_settle();
    cf_is(w->progress, 1);
    cf_is(w->badge, 0x12);
    /* It is no longer a receiver. */
    seL4_NBSend(client_cap(endpoint, 5), seL4_MessageInfo_new(1, 0, 0, 0));
    cf_settle();
    cf_is(w->badge, 0x12);
}

/* Receives three times and keeps the badges. */
static void receive_three(volatile cf_worker *self)
{
    for (uint32_t i = 0; i < 3; i++) {
        seL4_Word badge = 0;
        seL4_Word words[4];
        (void)cr_recv_with(self->cap, &badge, words, self->reply);
        self->words[i] = badge;
        self->progress++;
    }
}

static void bound_signal_while_busy_is_kept(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr notification = cf_notification();
    volatile cf_worker *w = cf_worker_make(receive_three, endpoint, 0);
    cf_is(seL4_TCB_BindNotification(w->tcb, notification), seL4_NoError);
    (void)cf_start(cf_do_send, client_cap(endpoint, 5), 0);
    cf_settle();
    seL4_Signal(cf_mint(notification, seL4_CanWrite, 0x12));
    seL4_Signal(cf_mint(notification, seL4_CanWrite, 0x21));
    cf_go(w);
    cf_settle();
    /* The signals arrive first, as one, and then the message, although it waited longer. */
    cf_is(w->progress, 2);
    cf_is(w->words[0], 0x33);
    cf_is(w->words[1], 5);
}

/* Takes the signals of its notification, first by polling, then by waiting. */
static void poll_and_wait(volatile cf_worker *self)
{
    seL4_Word badge = 0;
    seL4_Word words[4];
    (void)seL4_Poll(self->cap, &badge);
    self->words[0] = badge;
    (void)cr_recv_with(self->cap, &badge, words, self->reply);
    self->words[1] = badge;
    self->progress++;
}

static void own_bound_notification_is_polled(void)
{
    seL4_CPtr notification = cf_notification();
    seL4_CPtr signal = cf_mint(notification, seL4_CanWrite, 0x12);
    volatile cf_worker *w = cf_worker_make(poll_and_wait, notification, 0);
    cf_is(seL4_TCB_BindNotification(w->tcb, notification), seL4_NoError);
    seL4_Signal(signal);
    cf_go(w);
    cf_settle();
    cf_is(w->words[0], 0x12);
    cf_is(w->progress, 0);
    seL4_Signal(signal);
    cf_settle();
    cf_is(w->progress, 1);
    cf_is(w->words[1], 0x12);
}

static void root_task_receives_its_bound_signals(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr notification = cf_notification();
    seL4_Word badge = 0;
    cf_is(seL4_TCB_BindNotification(seL4_CapInitThreadTCB, notification), seL4_NoError);
    (void)cf_start(cf_do_signal, cf_mint(notification, seL4_CanWrite, 0x12), 0);
    (void)cr_recv(endpoint, &badge, cr_caller_now);
    cf_is(badge, 0x12);
    cf_is(seL4_TCB_UnbindNotification(seL4_CapInitThreadTCB), seL4_NoError);
}

static void one_notification_one_thread(void)
{
    seL4_CPtr notification = cf_notification();
    volatile cf_worker *a = cf_worker_make(cf_do_recv, 0, 0);
    volatile cf_worker *b = cf_worker_make(cf_do_recv, 0, 0);
    cf_is(seL4_TCB_BindNotification(a->tcb, notification), seL4_NoError);
    cf_is(seL4_TCB_BindNotification(b->tcb, notification), seL4_IllegalOperation);
    cf_is(seL4_TCB_BindNotification(a->tcb, cf_notification()), seL4_IllegalOperation);
}

static void bound_notification_can_go(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr notification = cf_notification();
    volatile cf_worker *w = cf_worker_make(cf_do_recv, endpoint, 0);
    cf_is(seL4_TCB_BindNotification(w->tcb, notification), seL4_NoError);
    cf_go(w);
    cf_settle();
    cf_is(cr_delete(cr_slot_at(notification)), seL4_NoError);
    seL4_NBSend(client_cap(endpoint, 5), seL4_MessageInfo_new(1, 0, 0, 0));
    cf_settle();
    cf_is(w->badge, 5);
    cf_is(seL4_TCB_BindNotification(w->tcb, cf_notification()), seL4_NoError);
}

static void notification_is_free_when_its_thread_goes(void)
{
    seL4_CPtr notification = cf_notification();
    volatile cf_worker *a = cf_worker_make(cf_do_recv, 0, 0);
    volatile cf_worker *b = cf_worker_make(cf_do_recv, cf_endpoint(), 0);
    cf_is(seL4_TCB_BindNotification(a->tcb, notification), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(a->tcb)), seL4_NoError);
    cf_is(seL4_TCB_BindNotification(b->tcb, notification), seL4_NoError);
    cf_go(b);
    cf_settle();
    seL4_Signal(cf_mint(notification, seL4_CanWrite, 0x12));
    cf_settle();
    cf_is(b->badge, 0x12);
}

/* -- what happens to waiting threads */

static void sender_when_endpoint_goes(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *caller =
        cf_start(cf_do_call, client_cap(endpoint, 5), cf_fault_cap(handler, 8));
    volatile cf_worker *sender =
        cf_start(cf_do_send, client_cap(endpoint, 6), cf_fault_cap(handler, 9));
    cf_settle();
    cf_is(cr_revoke(cr_slot_at(endpoint)), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(endpoint)), seL4_NoError);
    cf_settle();
    cf_is(caller->progress, 1);
    cf_is(caller->label, seL4_InvalidCapability);
    cf_is(sender->progress, 1);
    cf_is(cf_receive(handler).badge, 0);
}

static void receiver_when_endpoint_goes(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_start(cf_do_recv, endpoint, cf_fault_cap(handler, 9));
    cf_settle();
    cf_is(cr_delete(cr_slot_at(endpoint)), seL4_NoError);
    cf_message m = cf_receive(handler);
    cf_is(m.badge, 9);
    cf_is(m.label, seL4_Fault_CapFault);
    cf_is(m.words[seL4_CapFault_Addr], endpoint);
    cf_is(w->progress, 0);
}

static void waiter_when_notification_goes(void)
{
    seL4_CPtr notification = cf_notification();
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_start(cf_do_recv, notification, cf_fault_cap(handler, 9));
    cf_settle();
    cf_is(cr_delete(cr_slot_at(notification)), seL4_NoError);
    cf_message m = cf_receive(handler);
    cf_is(m.badge, 9);
    cf_is(m.label, seL4_Fault_CapFault);
    cf_is(w->progress, 0);
}

static void receiver_keeps_waiting_without_capability(void)
{
    /* The thread goes on waiting when its own capability is deleted, as long as the endpoint
     * exists. */
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w = cf_start(cf_do_recv, cf_copy(endpoint, seL4_CanRead), 0);
    cf_settle();
    cf_is(cr_delete(cr_slot_at(w->cap)), seL4_NoError);
    seL4_NBSend(client_cap(endpoint, 5), seL4_MessageInfo_new(1, 0, 0, 0));
    cf_settle();
    cf_is(w->badge, 5);
}

/* A server that has received a call and never answers it. */
static void server_with_caller(seL4_CPtr *server_untyped, seL4_CPtr *endpoint,
                               volatile cf_worker **server, volatile cf_worker **caller)
{
    *server_untyped = cf_make(seL4_UntypedObject, 12, 1);
    *endpoint = cf_slots(1);
    cf_is(cf_retype(*server_untyped, seL4_EndpointObject, 0, *endpoint, 1), seL4_NoError);
    *server = cf_start(cf_do_recv, *endpoint, 0);
    cf_settle();
    *caller = cf_start(cf_do_call, client_cap(*endpoint, 5), 0);
    cf_settle();
    cf_is((*server)->progress, 1);
    cf_is((*server)->badge, 5);
    cf_is((*caller)->progress, 0);
}

static void caller_stays_blocked_when_server_goes(void)
{
    seL4_CPtr untyped;
    seL4_CPtr endpoint;
    volatile cf_worker *server;
    volatile cf_worker *caller;
    server_with_caller(&untyped, &endpoint, &server, &caller);
    cf_is(cr_suspend(server->tcb), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(server->tcb)), seL4_NoError);
    cf_is(cr_revoke(cr_slot_at(untyped)), seL4_NoError);
    cf_settle();
    cf_is((uint64_t)cf_empty(caller->cap), 1);
    cf_is(caller->progress, 0);
}

static void resumed_caller_repeats_its_call(void)
{
    seL4_CPtr untyped;
    seL4_CPtr endpoint;
    volatile cf_worker *server;
    volatile cf_worker *caller;
    server_with_caller(&untyped, &endpoint, &server, &caller);
    cf_is(cr_suspend(server->tcb), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(server->tcb)), seL4_NoError);
    cf_is(cr_resume(caller->tcb), seL4_NoError);
    /* The endpoint still exists, so the same message arrives again. */
    cf_message m = cf_receive(endpoint);
    cf_is(m.badge, 5);
    cf_is(caller->progress, 0);
    cf_reply(7, 0);
    cf_is(caller->progress, 1);
    cf_is(caller->label, 7);
}

static void resumed_caller_of_nothing_fails(void)
{
    seL4_CPtr untyped;
    seL4_CPtr endpoint;
    volatile cf_worker *server;
    volatile cf_worker *caller;
    server_with_caller(&untyped, &endpoint, &server, &caller);
    cf_is(cr_suspend(server->tcb), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(server->tcb)), seL4_NoError);
    cf_is(cr_revoke(cr_slot_at(untyped)), seL4_NoError);
    cf_is(cr_resume(caller->tcb), seL4_NoError);
    cf_settle();
    cf_is(caller->progress, 1);
    cf_is(caller->label, seL4_InvalidCapability);
}

static void server_cannot_answer_a_resumed_caller(void)
{
    /* The resumed thread no longer waits: the server's reply capability is gone. */
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *caller = cf_start(cf_do_call, client_cap(endpoint, 5), 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_is(cr_resume(caller->tcb), seL4_NoError);
    cf_settle();
    cf_reply(7, 0);
    cf_is(caller->progress, 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_reply(8, 0);
    cf_is(caller->label, 8);
}

static void caller_stays_blocked_when_saved_reply_goes(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr saved = cf_slots(1);
    volatile cf_worker *caller = cf_start(cf_do_call, client_cap(endpoint, 5), 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_is(cr_save_caller(cr_slot_at(saved), 0), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(saved)), seL4_NoError);
    cf_settle();
    cf_is(caller->progress, 0);
}

static void reply_capability_goes_with_the_caller(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    seL4_CPtr saved = cf_slots(1);
    volatile cf_worker *caller = cf_start(cf_do_call, client_cap(endpoint, 5), 0);
    cf_is(cf_receive(endpoint).badge, 5);
    cf_is(cr_save_caller(cr_slot_at(saved), 0), seL4_NoError);
    cf_is(cr_suspend(caller->tcb), seL4_NoError);
    cf_is(cr_delete(cr_slot_at(caller->tcb)), seL4_NoError);
    cf_is((uint64_t)cf_empty(saved), 1);
    seL4_Send(saved, seL4_MessageInfo_new(3, 0, 0, 0));
    cf_settle();
    cf_is(caller->progress, 0);
}

static void message_of_suspended_thread_vanishes(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *w = cf_start(cf_do_call, client_cap(endpoint, 5), 0);
    cf_settle();
    cf_is(cr_suspend(w->tcb), seL4_NoError);
    cf_is(cf_receive(endpoint).badge, 0);
    /* After it is resumed, it sends again. */
    cf_is(cr_resume(w->tcb), seL4_NoError);
    cf_is(cf_receive(endpoint).badge, 5);
}

static void message_of_destroyed_thread_vanishes(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *a = cf_start(cf_do_call, client_cap(endpoint, 5), 0);
    cf_settle();
    volatile cf_worker *b = cf_start(cf_do_call, client_cap(endpoint, 6), 0);
    cf_settle();
    cf_is(cr_delete(cr_slot_at(a->tcb)), seL4_NoError);
    cf_is(cf_receive(endpoint).badge, 6);
    cf_is(cf_receive(endpoint).badge, 0);
    cf_is(b->progress, 0);
}

const cf_check cf_ipc_checks[] = {
    {"message-in-registers", message_in_registers},
    {"message-of-full-length", message_of_full_length},
    {"message-to-a-waiting-receiver", message_to_a_waiting_receiver},
    {"senders-are-served-in-order", senders_are_served_in_order},
    {"nonblocking-send-to-nobody", nonblocking_send_to_nobody},
    {"send-blocks-until-received", send_blocks_until_received},
    {"receive-without-sender", receive_without_sender},
    {"reply-without-caller", reply_without_caller},
    {"reply-is-good-once", reply_is_good_once},
    {"reply-and-receive", reply_and_receive},
    {"next-receive-forgets-the-caller", next_receive_forgets_the_caller},
    {"receive-of-a-send-forgets-the-caller", receive_of_a_send_forgets_the_caller},
    {"polling-keeps-the-caller", polling_keeps_the_caller},
    {"server-asks-another-before-it-answers", server_asks_another_before_it_answers},
    {"saved-caller-is-answered-later", saved_caller_is_answered_later},
    {"caller-is-not-saved-to-occupied-slot", caller_is_not_saved_to_occupied_slot},
    {"call-without-right-to-be-answered", call_without_right_to_be_answered},
    {"call-of-empty-slot", call_of_empty_slot},
    {"send-without-right", send_without_right},
    {"signal-without-right", signal_without_right},
    {"receive-from-empty-slot", receive_from_empty_slot},
    {"receive-without-right", receive_without_right},
    {"receive-from-what-is-no-endpoint", receive_from_what_is_no_endpoint},
    {"receive-from-anothers-bound-notification", receive_from_anothers_bound_notification},
    {"receive-beyond-the-cspace", receive_beyond_the_cspace},
    {"call-beyond-the-cspace", call_beyond_the_cspace},
    {"capability-to-same-endpoint-is-unwrapped", capability_to_same_endpoint_is_unwrapped},
    {"capability-to-another-endpoint-is-not-passed", capability_to_another_endpoint_is_not_passed},
    {"capability-is-passed-with-grant-only", capability_is_passed_with_grant_only},
    {"empty-slot-in-a-message", empty_slot_in_a_message},
    {"bad-address-in-a-message", bad_address_in_a_message},
    {"signals-add-up", signals_add_up},
    {"signal-wakes-a-waiting-thread", signal_wakes_a_waiting_thread},
    {"signal-before-waiting-is-kept", signal_before_waiting_is_kept},
    {"bound-signal-wakes-a-receiver", bound_signal_wakes_a_receiver},
    {"bound-signal-while-busy-is-kept", bound_signal_while_busy_is_kept},
    {"own-bound-notification-is-polled", own_bound_notification_is_polled},
    {"root-task-receives-its-bound-signals", root_task_receives_its_bound_signals},
    {"one-notification-one-thread", one_notification_one_thread},
    {"bound-notification-can-go", bound_notification_can_go},
    {"notification-is-free-when-its-thread-goes", notification_is_free_when_its_thread_goes},
    {"sender-when-endpoint-goes", sender_when_endpoint_goes},
    {"receiver-when-endpoint-goes", receiver_when_endpoint_goes},
    {"waiter-when-notification-goes", waiter_when_notification_goes},
    {"receiver-keeps-waiting-without-capability", receiver_keeps_waiting_without_capability},
    {"caller-stays-blocked-when-server-goes", caller_stays_blocked_when_server_goes},
    {"resumed-caller-repeats-its-call", resumed_caller_repeats_its_call},
    {"resumed-caller-of-nothing-fails", resumed_caller_of_nothing_fails},
    {"server-cannot-answer-a-resumed-caller", server_cannot_answer_a_resumed_caller},
    {"caller-stays-blocked-when-saved-reply-goes", caller_stays_blocked_when_saved_reply_goes},
    {"message-of-suspended-thread-vanishes", message_of_suspended_thread_vanishes},
    {"message-of-destroyed-thread-vanishes", message_of_destroyed_thread_vanishes},
    {0, 0},
};

/* Only of kernels without MCS: these keep a caller in the thread, and look the endpoint for faults
 * up in its CSpace. mcs.c has what there is instead. */
const cf_check cf_plain_ipc_checks[] = {
    {"slot-of-used-reply-is-free", slot_of_used_reply_is_free},
    {"reply-capability-goes-with-the-caller", reply_capability_goes_with_the_caller},
    {0, 0},
};
