/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Endpoints, replies and notifications. */
#include "kernel.h"

#define NOTIFICATION_ACTIVE ((struct tcb *)1)

static void enqueue(struct queue *queue, struct tcb *tcb)
{
    tcb->queue_prev = queue->tail;
    tcb->queue_next = 0;
    *(queue->tail != 0 ? &queue->tail->queue_next : &queue->head) = tcb;
    queue->tail = tcb;
}

static void dequeue(struct queue *queue, struct tcb *tcb)
{
    *(tcb->queue_prev != 0 ? &tcb->queue_prev->queue_next : &queue->head) = tcb->queue_next;
    *(tcb->queue_next != 0 ? &tcb->queue_next->queue_prev : &queue->tail) = tcb->queue_prev;
}

static void block(struct tcb *tcb, thread_state state, struct queue *queue, word on)
{
    tcb->state = state;
    tcb->blocked_on = on;
    enqueue(queue, tcb);
    sched_stop(tcb);
}

/* -- endpoints */

/* After the message of a call or a fault was delivered: gives the reply capability to the
 * receiver. */
static void await_reply(struct tcb *caller, struct tcb *receiver, bool may, bool grant)
{
    sched_stop(caller);
    if (!may) {
        caller->state = STATE_INACTIVE; /* No thread could ever answer. */
        return;
    }
    struct slot *slot = &receiver->slots[TCB_REPLY];
    slot_drop_reply(slot);
    caller->state = STATE_CALLING;
    caller->reply_slot = slot;
    *slot =
        (struct slot){.object = (word)caller, .type = CAP_REPLY, .rights = grant ? RIGHT_GRANT : 0};
}

void endpoint_send(struct tcb *from, struct slot *cap, bool blocking, bool call)
{
    struct endpoint *endpoint = (struct endpoint *)cap->object;
    struct tcb *to = endpoint->queue.head;
    bool grant = (cap->rights & RIGHT_GRANT) != 0;
    bool grant_reply = (cap->rights & RIGHT_GRANT_REPLY) != 0;
    if (to != 0 && to->state == STATE_RECEIVING) {
        dequeue(&endpoint->queue, to);
        message_transfer(from, to, endpoint, cap->data, grant);
        tcb_complete(to);
        sched_wake(to);
        if (call) {
            await_reply(from, to, grant || grant_reply, to->grant);
        }
    } else if (blocking) {
        from->badge = cap->data;
        from->call = call;
        from->grant = grant;
        from->grant_reply = grant_reply;
        block(from, STATE_SENDING, &endpoint->queue, (word)endpoint);
    }
}

static bool take_signal(struct tcb *to, struct notification *notification)
{
    if (notification == 0 || notification->queue.head != 0 ||
        notification->queue.tail != NOTIFICATION_ACTIVE) {
        return false;
    }
    notification->queue.tail = 0;
    *arch_cap_register(&to->context) = notification->badge;
    return true;
}

void endpoint_receive(struct tcb *to, struct slot *cap, bool blocking)
{
    struct endpoint *endpoint = (struct endpoint *)cap->object;
    struct tcb *from = endpoint->queue.head;
    bool grant = (cap->rights & RIGHT_GRANT) != 0;
    if (take_signal(to, to->bound)) {
        return;
    }
    if (from != 0 && from->state == STATE_SENDING) {
        dequeue(&endpoint->queue, from);
        message_transfer(from, to, endpoint, from->badge, from->grant);
        if (from->call) {
            await_reply(from, to, from->grant || from->grant_reply, grant);
        } else {
            tcb_complete(from);
            sched_wake(from);
        }
    } else if (blocking) {
        to->grant = grant;
        block(to, STATE_RECEIVING, &endpoint->queue, (word)endpoint);
    } else {
        *arch_cap_register(&to->context) = 0;
    }
}

void endpoint_cancel_badge(struct endpoint *endpoint, word badge)
{
    struct tcb *next;
    for (struct tcb *tcb = endpoint->queue.head; tcb != 0; tcb = next) {
        next = tcb->queue_next;
        if (tcb->state == STATE_SENDING && tcb->badge == badge) {
            tcb_restart(tcb);
        }
    }
}

void endpoint_cancel_all(struct endpoint *endpoint)
{
    while (endpoint->queue.head != 0) {
        tcb_restart(endpoint->queue.head);
    }
}

/* -- replies */

void reply_send(struct tcb *from, struct slot *slot)
{
    struct tcb *caller = (struct tcb *)slot->object;
    bool grant = (slot->rights & RIGHT_GRANT) != 0;
    bool goes_on = true;
    if (slot->type != CAP_REPLY) {
        return;
    }
    slot_drop_reply(slot);
    if (caller->fault.label == seL4_Fault_NullFault) {
        message_transfer(from, caller, 0, 0, grant);
        tcb_complete(caller);
    } else {
        goes_on = fault_reply(from, caller);
    }
    if (goes_on) {
        sched_wake(caller);
    } else {
        caller->state = STATE_INACTIVE;
    }
}

/* -- notifications */

void notification_signal(struct notification *notification, word badge)
{
    struct tcb *to = notification->queue.head;
    if (to == 0 && notification->queue.tail == NOTIFICATION_ACTIVE) {
        notification->badge |= badge;
        return;
    }
    if (to != 0) {
        dequeue(&notification->queue, to);
    } else if (notification->bound != 0 && notification->bound->state == STATE_RECEIVING) {
        to = notification->bound;
        dequeue(&((struct endpoint *)to->blocked_on)->queue, to);
    }
    if (to == 0) {
        notification->badge = badge;
        notification->queue.tail = NOTIFICATION_ACTIVE;
        return;
    }
    *arch_cap_register(&to->context) = badge;
    tcb_complete(to);
    sched_wake(to);
}

void notification_receive(struct tcb *to, struct slot *cap, bool blocking)
{
    struct notification *notification = (struct notification *)cap->object;
    if (take_signal(to, notification)) {
        return;
    }
    if (blocking) {
        block(to, STATE_WAITING, &notification->queue, (word)notification);
    } else {
        *arch_cap_register(&to->context) = 0;
    }
}

bool notification_is_idle(const struct notification *notification)
{
    return notification->bound == 0 && notification->queue.head == 0;
}

void notification_cancel_all(struct notification *notification)
{
    while (notification->queue.head != 0) {
        tcb_restart(notification->queue.head);
    }
}

/* -- endpoints, replies and notifications together */

void ipc_cancel(struct tcb *tcb)
{
    switch (tcb->state) {
    case STATE_SENDING:
    case STATE_RECEIVING:
        dequeue(&((struct endpoint *)tcb->blocked_on)->queue, tcb);
        break;
    case STATE_WAITING:
        dequeue(&((struct notification *)tcb->blocked_on)->queue, tcb);
        break;
    case STATE_CALLING:
        if (tcb->reply_slot != 0) {
            slot_drop_reply(tcb->reply_slot);
        }
        break;
    case STATE_INACTIVE:
    case STATE_RUNNING:
        break;
    }
    tcb->fault.label = seL4_Fault_NullFault;
}
