/* SPDX-License-Identifier: BSD-2-Clause
 *
 * 256 priorities with round robin within each. The running thread is in no queue. */
#include "kernel.h"

enum { PRIORITIES = CONFIG_NUM_PRIORITIES };

struct tcb *current;
static struct queue ready[PRIORITIES];
static word occupied[PRIORITIES / 64]; /* one bit for each queue: set if it is not empty */
/* What the current kernel entry has done: woken one thread, which is not in its queue yet, or
 * more than that. Users can observe the order in which threads run. As in seL4, a woken thread
 * goes before the others of its priority, but not before the thread that woke it. */
static struct tcb *woken;
static bool choose_anew;

static void enqueue(struct tcb *tcb, bool front)
{
    struct queue *queue = &ready[tcb->priority];
    if (tcb->ready) {
        return;
    }
    tcb->ready = true;
    tcb->ready_prev = front ? 0 : queue->tail;
    tcb->ready_next = front ? queue->head : 0;
    *(tcb->ready_prev != 0 ? &tcb->ready_prev->ready_next : &queue->head) = tcb;
    *(tcb->ready_next != 0 ? &tcb->ready_next->ready_prev : &queue->tail) = tcb;
    occupied[tcb->priority / 64] |= BIT(tcb->priority % 64);
}

static void dequeue(struct tcb *tcb)
{
    struct queue *queue = &ready[tcb->priority];
    if (!tcb->ready) {
        return;
    }
    tcb->ready = false;
    *(tcb->ready_prev != 0 ? &tcb->ready_prev->ready_next : &queue->head) = tcb->ready_next;
    *(tcb->ready_next != 0 ? &tcb->ready_next->ready_prev : &queue->tail) = tcb->ready_prev;
    if (queue->head == 0) {
        occupied[tcb->priority / 64] &= ~BIT(tcb->priority % 64);
    }
}

void sched_wake(struct tcb *tcb)
{
    tcb->state = STATE_RUNNING;
    if (tcb == current) {
        return;
    }
    if (woken == 0 && !choose_anew) {
        woken = tcb;
        return;
    }
    if (woken != 0) {
        enqueue(woken, true);
    }
    woken = 0;
    choose_anew = true;
    enqueue(tcb, true);
}

void sched_restart(struct tcb *tcb)
{
    if (tcb != current) {
        enqueue(tcb, true);
    }
    sched_wake(tcb);
}

void sched_stop(struct tcb *tcb)
{
    dequeue(tcb);
    if (woken == tcb) {
        woken = 0;
    }
}

void sched_set_priority(struct tcb *tcb, uint32_t priority)
{
    dequeue(tcb);
    tcb->priority = priority;
    if (tcb == current) {
        choose_anew = true;
    } else if (tcb->state == STATE_RUNNING && tcb != woken) {
        sched_wake(tcb);
    }
}

void sched_yield(void)
{
    current->slice = CONFIG_TIME_SLICE;
    enqueue(current, false);
    choose_anew = true;
}

void sched_tick(void)
{
    if (current != 0 && --current->slice == 0) {
        sched_yield();
    }
}

/* The highest priority of a ready thread; -1: none is ready. */
static int highest(void)
{
    for (int i = PRIORITIES / 64 - 1; i >= 0; i--) {
        if (occupied[i] != 0) {
            return i * 64 + 63 - __builtin_clzl(occupied[i]);
        }
    }
    return -1;
}

void sched_choose(void)
{
    struct tcb *next = woken;
    bool runs = current != 0 && current->state == STATE_RUNNING;
    if (runs && next == 0 && !choose_anew) {
        return;
    }
    if (runs) {
        enqueue(current, true); /* it has not used up its time slice */
    }
    if (next != 0 && (runs || (int)next->priority < highest())) {
        bool before = !runs || next->priority != current->priority;
        enqueue(next, before);
        next = 0;
    }
    if (next == 0) {
        int top = highest();
        next = top >= 0 ? ready[top].head : 0;
    }
    if (next != 0) {
        dequeue(next);
    }
    current = next;
    woken = 0;
    choose_anew = false;
}
