/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Kernels with scheduling contexts (MCS): where time goes that a caller lent to a passive server,
 * and what becomes of the caller. An active server keeps its own time and its caller keeps his, so
 * what ipc.c checks holds for them. */
#include "conformance.h"

#define CLIENT seL4_CapRights_new(1, 0, 0, 1)

enum { BUDGET_US = 1000, PERIOD_US = 10000, PAYER = 77 };

/* A server without time of its own that waits at `endpoint`. */
static volatile cf_worker *passive(void (*run)(volatile cf_worker *self), seL4_CPtr endpoint)
{
    volatile cf_worker *server = cf_start(run, endpoint, 0);
    cf_settle();
    cf_is(cr_unbind_sc(server->sc, server->tcb), seL4_NoError);
    return server;
}

/* Receives, calls `other`, and then waits for ever. */
static void receive_and_call(volatile cf_worker *self)
{
    seL4_Word badge, words[4];
    (void)cr_recv_with(self->cap, &badge, words, self->reply);
    (void)seL4_CallWithMRs(self->other, seL4_MessageInfo_new(2, 0, 0, 0), 0, 0, 0, 0);
    self->progress++;
}

/* A client whose call a passive server has received. */
typedef struct lent {
    seL4_CPtr endpoint;
    volatile cf_worker *server;
    volatile cf_worker *client;
} lent;

static lent lend(void)
{
    lent l = {.endpoint = cf_endpoint()};
    l.server = passive(cf_do_recv, l.endpoint);
    l.client = cf_start(cf_do_call, cf_mint(l.endpoint, CLIENT, 5), 0);
    cf_settle();
    cf_is(l.server->progress, 1);
    cf_is(l.server->badge, 5);
    cf_is(l.client->progress, 0);
    return l;
}

static void destroy(seL4_CPtr object)
{
    cf_is(cr_delete(cr_slot_at(object)), seL4_NoError);
}

static void resume(volatile cf_worker *worker)
{
    cf_is(cr_resume(worker->tcb), seL4_NoError);
}

static void bind(volatile cf_worker *worker)
{
    cf_is(cr_bind_sc(worker->sc, worker->tcb), seL4_NoError);
}

/* The call arrives once more, and is answered. */
static void repeats(volatile cf_worker *client, seL4_CPtr endpoint)
{
    cf_is(cf_receive(endpoint).badge, 5);
    cf_reply(7, 0);
    cf_is(client->progress, 1);
    cf_is(client->label, 7);
}

static void does_not_run(volatile cf_worker *client, seL4_CPtr endpoint)
{
    cf_is(cf_receive(endpoint).badge, 0);
    cf_is(client->progress, 0);
}

/* Receives, waits for a signal, and then uses the time that it has for ever. */
static void receive_and_spin(volatile cf_worker *self)
{
    seL4_Word badge, words[4];
    (void)cr_recv_with(self->cap, &badge, words, self->reply);
    cr_wait_for(self->other);
    cf_do_spin(self);
}

static void send_leaves_a_passive_server_without_time(void)
{
    seL4_CPtr endpoint = cf_endpoint();
    volatile cf_worker *server = passive(cf_do_recv, endpoint);
    seL4_NBSend(cf_mint(endpoint, CLIENT, 6), seL4_MessageInfo_new(1, 0, 0, 0));
    cf_settle();
    cf_is(server->progress, 0); /* It has the message, and no time. */
    bind(server);
    cf_settle();
    cf_is(server->progress, 1);
    cf_is(server->badge, 6);
}

static void caller_when_passive_server_and_reply_go(void)
{
    lent l = lend();
    cf_is(cr_suspend(l.server->tcb), seL4_NoError);
    destroy(l.server->tcb);
    destroy(l.server->reply);
    does_not_run(l.client, l.endpoint);
    resume(l.client);
    repeats(l.client, l.endpoint);
}

static void caller_when_reply_of_passive_server_goes(void)
{
    lent l = lend();
    destroy(l.server->reply);
    does_not_run(l.client, l.endpoint);
    resume(l.client);
    repeats(l.client, l.endpoint);
    /* The server has no time any more. */
    bind(l.server);
}

static void caller_when_passive_server_goes_alone(void)
{
    lent l = lend();
    destroy(l.server->tcb);
    resume(l.client);
    does_not_run(l.client, l.endpoint);
    bind(l.client);
    repeats(l.client, l.endpoint);
}

static void caller_when_passive_server_is_suspended(void)
{
    lent l = lend();
    cf_is(cr_suspend(l.server->tcb), seL4_NoError);
    resume(l.client);
    does_not_run(l.client, l.endpoint);
    cf_is((uint64_t)(cr_bind_sc(l.client->sc, l.client->tcb) != seL4_NoError), 1);
    cf_is(cr_unbind_sc(l.client->sc, l.server->tcb), seL4_NoError);
    bind(l.client);
    repeats(l.client, l.endpoint);
}

static void caller_when_next_server_takes_the_reply(void)
{
    lent l = lend();
    destroy(l.server->tcb);
    volatile cf_worker *next = cf_worker_make(cf_do_recv, l.endpoint, 0);
    next->reply = l.server->reply;
    cf_go(next);
    cf_settle();
    resume(l.client);
    cf_settle();
    cf_is(next->progress, 0); /* The client has no time. */
    bind(l.client);
    cf_settle();
    cf_is(next->progress, 1);
    cf_is(next->badge, 5);
    cf_is(l.client->progress, 0);
}

/* A client whose time two passive servers have passed on. */
typedef struct chain {
    seL4_CPtr first;
    seL4_CPtr second;
    volatile cf_worker *a;
    volatile cf_worker *b;
    volatile cf_worker *client;
} chain;

static chain lend_on(void)
{
    chain c = {.first = cf_endpoint(), .second = cf_endpoint()};
    c.b = passive(cf_do_recv, c.second);
    c.a = passive(receive_and_call, c.first);
    c.a->other = cf_mint(c.second, CLIENT, 6);
    c.client = cf_start(cf_do_call, cf_mint(c.first, CLIENT, 5), 0);
    cf_settle();
    cf_is(c.b->progress, 1);
    cf_is(c.b->badge, 6);
    return c;
}

static void caller_when_the_middle_of_a_chain_goes(void)
{
    chain c = lend_on();
    destroy(c.a->tcb);
    destroy(c.a->reply);
    resume(c.client);
    does_not_run(c.client, c.first);
    cf_is(cr_unbind_sc(c.client->sc, c.b->tcb), seL4_NoError);
    bind(c.client);
    repeats(c.client, c.first);
}

static void caller_when_the_end_of_a_chain_goes(void)
{
    chain c = lend_on();
    destroy(c.b->tcb);
    destroy(c.b->reply);
    cf_is(cf_receive(c.second).badge, 0);
    resume(c.a);
    cf_is(cf_receive(c.second).badge, 6);
    cf_reply(7, 0);
    cf_is(c.a->progress, 1);
    cf_is(c.client->progress, 0);
}

static void caller_when_its_time_goes(void)
{
    lent l = lend();
    destroy(l.client->sc);
    destroy(l.server->reply);
    resume(l.client);
    does_not_run(l.client, l.endpoint);
}

/* Where kernels tell it at all. */
static void who_has_time_can_be_asked(void)
{
    lent l = lend();
    if (!cr_tells_time()) {
        return;
    }
    cf_is((uint64_t)cr_has_time(l.client->sc, l.server->tcb), 1);
    cf_is((uint64_t)cr_has_time(l.client->sc, l.client->tcb), 0);
    cf_is((uint64_t)cr_has_time(l.server->sc, l.server->tcb), 0);
    destroy(l.server->reply);
    cf_is((uint64_t)cr_has_time(l.client->sc, l.server->tcb), 0);
    cf_is((uint64_t)cr_has_time(l.client->sc, l.client->tcb), 1);
    resume(l.client);
    repeats(l.client, l.endpoint);
}

/* Whose budget is used up is told, and only in a thread with such an endpoint. */
static void timeout_names_who_pays(void)
{
    seL4_CPtr handler = cf_endpoint();
    volatile cf_worker *w = cf_worker_make(cf_do_spin, 0, 0);
    cf_is(cr_give_time(w->sc, (cr_time){BUDGET_US, PERIOD_US, 0}, PAYER), seL4_NoError);
    cf_is(cr_set_timeout(w->tcb, cf_fault_cap(handler, 9)), seL4_NoError);
    cf_go(w);
    cf_message m = cf_receive(handler);
    cf_is(m.badge, 9);
    cf_is(m.label, (uint64_t)CR_TIMEOUT_FAULT);
    cf_is(m.words[CR_TIMEOUT_PAYER], PAYER);
}

/* It is raised where the time is used: in a passive server, with the badge of its caller's time. */
static void timeout_is_raised_in_who_runs(void)
{
    seL4_CPtr endpoint = cf_endpoint(), handler = cf_endpoint();
    volatile cf_worker *server = passive(receive_and_spin, endpoint);
    server->other = cf_notification();
    cf_is(cr_set_timeout(server->tcb, cf_fault_cap(handler, 9)), seL4_NoError);
    volatile cf_worker *client = cf_start(cf_do_call, cf_mint(endpoint, CLIENT, 5), 0);
    cf_settle();
    cf_is(cr_give_time(client->sc, (cr_time){BUDGET_US, PERIOD_US, 0}, PAYER), seL4_NoError);
    seL4_Signal(server->other);
    cf_message m = cf_receive(handler);
    cf_is(m.badge, 9);
    cf_is(m.label, (uint64_t)CR_TIMEOUT_FAULT);
    cf_is(m.words[CR_TIMEOUT_PAYER], PAYER);
    cf_is(client->progress, 0);
}

static uint64_t takes_faults(volatile cf_worker *worker, seL4_CPtr handler)
{
    return seL4_TCB_SetSpace(worker->tcb, handler, cr_l1_cnode(), cr_l1_data(),
                             seL4_CapInitThreadVSpace, 0) == seL4_NoError;
}

static void fault_handler_is_taken_when_it_is_set(void)
{
    seL4_CPtr handler = cf_endpoint();
    seL4_CPtr fault = cf_fault_cap(handler, 9);
    volatile cf_worker *w = cf_worker_make(cf_do_read, 0, fault);
    cf_is(takes_faults(w, cf_mint(handler, seL4_CapRights_new(1, 1, 1, 0), 9)), 0);
    cf_is(takes_faults(w, cf_notification()), 0);
    destroy(fault);
    w->address = (uintptr_t)cf_window;
    cf_go(w);
    cf_expect_vm_fault(handler, 9, (uintptr_t)cf_window);
}

const cf_check cf_mcs_checks[] = {
    {"send-leaves-a-passive-server-without-time", send_leaves_a_passive_server_without_time},
    {"caller-when-passive-server-and-reply-go", caller_when_passive_server_and_reply_go},
    {"caller-when-reply-of-passive-server-goes", caller_when_reply_of_passive_server_goes},
    {"caller-when-passive-server-goes-alone", caller_when_passive_server_goes_alone},
    {"caller-when-passive-server-is-suspended", caller_when_passive_server_is_suspended},
    {"caller-when-next-server-takes-the-reply", caller_when_next_server_takes_the_reply},
    {"caller-when-the-middle-of-a-chain-goes", caller_when_the_middle_of_a_chain_goes},
    {"caller-when-the-end-of-a-chain-goes", caller_when_the_end_of_a_chain_goes},
    {"caller-when-its-time-goes", caller_when_its_time_goes},
    {"who-has-time-can-be-asked", who_has_time_can_be_asked},
    {"timeout-names-who-pays", timeout_names_who_pays},
    {"timeout-is-raised-in-who-runs", timeout_is_raised_in_who_runs},
    {"fault-handler-is-taken-when-it-is-set", fault_handler_is_taken_when_it_is_set},
    {0, 0},
};
