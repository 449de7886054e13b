/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The writer and the pump. See writer.h. Their calls are not counted: nobody waits for them, except
 * for those of cr_writer_wait, which come when there is no room left, at the end, and before a
 * panic. No function here uses the IPC buffer. */
#include "writer.h"
#include "arch/arch.h"

enum { STACK = 4096, PRIORITY = seL4_MaxPrio, PRIORITY_OF_PUMP = 0, LENT = 16 };

static _Alignas(16) char stack[STACK];
static _Alignas(16) char stack_of_pump[STACK];

static struct {
    seL4_CPtr work; /* for the pump: there may be something to write */
    seL4_CPtr one;  /* for the writer: it writes one piece, or all of them */
    seL4_CPtr done; /* for who awaits it: nothing is left */
    void (*write)(void);
    int (*is_left)(void);
    volatile int sleeps; /* the pump waits for `work`, or is about to */
    volatile uint32_t awaited; /* so many pieces; somebody waits for `done` */
    volatile uint32_t emptied; /* how often the pump has found nothing left */
    uint32_t seen;             /* `emptied` when cr_writer_lend was called last */
} writer;

static void wait_for(seL4_CPtr notification)
{
    seL4_Word badge;
    (void)seL4_RecvWithMRs(notification, &badge, 0, 0, 0, 0);
}

_Noreturn void cr_writer_main(void)
{
    for (;;) {
        wait_for(writer.one);
        const uint32_t awaited = writer.awaited;
        for (uint32_t i = 0; i < (awaited != 0 ? awaited : 1) && writer.is_left(); i++) {
            writer.write();
        }
        if (awaited != 0) {
            writer.awaited = 0;
            seL4_Signal(writer.done);
        }
    }
}

/* Who records something while `sleeps` is set signals `work`, so nothing is missed after the last
 * look. */
_Noreturn void cr_pump_main(void)
{
    for (;;) {
        writer.sleeps = 1;
        if (!writer.is_left()) {
            writer.emptied++;
            wait_for(writer.work);
        }
        writer.sleeps = 0;
        while (writer.is_left()) {
            seL4_Signal(writer.one);
        }
    }
}

static seL4_CPtr make_notification(seL4_CPtr untyped)
{
    return cr_pool_make(untyped, seL4_NotificationObject, "no notification for the writer");
}

void cr_writer_init(seL4_CPtr untyped, void (*write)(void), int (*is_left)(void))
{
    const seL4_CPtr tcb = cr_pool_make(untyped, seL4_TCBObject, "no TCB for the writer");
    const seL4_CPtr pump = cr_pool_make(untyped, seL4_TCBObject, "no TCB for the pump");
    writer.work = make_notification(untyped);
    writer.one = make_notification(untyped);
    writer.done = make_notification(untyped);
    writer.write = write;
    writer.is_left = is_left;
    cr_start_thread(tcb, PRIORITY, cr_writer_start, stack + STACK, 0);
    cr_start_thread(pump, PRIORITY_OF_PUMP, cr_pump_start, stack_of_pump + STACK, 0);
}

void cr_writer_wake(void)
{
    if (writer.sleeps && writer.is_left()) {
        seL4_Signal(writer.work);
    }
}

static void await(uint32_t pieces)
{
    cr_make_kept_answer(); /* Nobody waits for the console. */
    writer.awaited = pieces;
    seL4_Signal(writer.one);
    wait_for(writer.done);
}

void cr_writer_wait(void)
{
    /* An earlier caller may have been stopped while it waited, and its signal be left. */
    while (writer.is_left()) {
        await(UINT32_MAX);
    }
}

void cr_writer_lend(void)
{
    if (!writer.sleeps && writer.emptied == writer.seen && writer.is_left()) {
        await(LENT);
    }
    writer.seen = writer.emptied;
}

int cr_writer_is_behind(void)
{
    return !writer.sleeps && writer.is_left();
}
