/* SPDX-License-Identifier: BSD-2-Clause
 *
 * 256 priorities, round robin within each. The thread that runs is in no queue. */
#include "kernel.h"

enum { PRIORITIES = CONFIG_NUM_PRIORITIES };

struct tcb *current;
static struct queue ready[PRIORITIES];
static word occupied[PRIORITIES / 64]; /* a bit for each queue that is not empty */
/* The thread woken first by the kernel entry under way: among equals it runs first if the current one stops. */
static struct tcb *woken;

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
    if (tcb != current) {
        enqueue(tcb, false);
        woken = woken == 0 ? tcb : woken;
    }
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
    bool was_ready = tcb->ready;
    dequeue(tcb);
    tcb->priority = priority;
    if (was_ready) {
        enqueue(tcb, false);
    }
}

static void rotate(void)
{
    current->slice = CONFIG_TIME_SLICE;
    enqueue(current, false);
    current = 0;
}

void sched_yield(void)
{
    rotate();
}

void sched_tick(void)
{
    if (current != 0 && current->state == STATE_RUNNING && --current->slice == 0) {
        rotate();
    }
}

/* The highest priority that somebody waits with; -1: nobody. */
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
    int top = highest();
    if (current != 0 && current->state == STATE_RUNNING) {
        if ((int)current->priority >= top) {
            woken = 0;
            return;
        }
        enqueue(current, true); /* It has not used up its time. */
    }
    current = 0;
    if (top >= 0) {
        current = woken != 0 && woken->ready && (int)woken->priority == top ? woken : ready[top].head;
        dequeue(current);
    }
    woken = 0;
}
