/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The writer and the pump. See writer.h. Their calls are not counted: nobody waits for them, except
 * for those of cr_writer_wait, which come when there is no room left, at the end, and before a
 * panic. No function here uses the IPC buffer. */
#include "writer.h"
#include "arch/arch.h"

enum { STACK = 4096, PRIORITY = seL4_MaxPrio, PRIORITY_OF_PUMP = 0 };

static _Alignas(16) char stack[STACK];
static _Alignas(16) char stack_of_pump[STACK];

static struct {
    seL4_CPtr work; /* for the pump: there may be something to write */
    seL4_CPtr one;  /* for the writer: it writes one piece, or what is awaited */
    seL4_CPtr done; /* for who awaits it: nothing is left */
    uint32_t (*write)(uint32_t most);
    int (*is_left)(void);
    volatile int sleeps;       /* the pump waits for `work`, or is about to */
    volatile uint32_t awaited; /* so many lines; somebody waits for `done` */
    volatile uint32_t emptied; /* how often the pump has found nothing left */
    uint32_t seen;             /* `emptied` when cr_writer_lend was called last */
    volatile uint64_t lines;   /* that were written */
    uint64_t recorded;         /* lines, when cr_writer_keep_up was called last */
    uint64_t allowed;          /* lines that may wait */
} writer;

_Noreturn void cr_writer_main(void)
{
    for (;;) {
        cr_wait_for(writer.one);
        const uint32_t awaited = writer.awaited;
        uint32_t written = 0;
        do {
            const uint32_t now = writer.write(awaited != 0 ? awaited - written : UINT32_MAX);
            written += now;
            writer.lines += now;
        } while (written < awaited && writer.is_left());
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
            cr_wait_for(writer.work);
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

void cr_writer_init(seL4_CPtr untyped, uint32_t (*write)(uint32_t most), int (*is_left)(void))
{
    const seL4_CPtr tcb = cr_pool_make(untyped, seL4_TCBObject, "no TCB for the writer");
    const seL4_CPtr pump = cr_pool_make(untyped, seL4_TCBObject, "no TCB for the pump");
    writer.work = make_notification(untyped);
    writer.one = make_notification(untyped);
    writer.done = make_notification(untyped);
    writer.write = write;
    writer.is_left = is_left;
    cr_start_thread(tcb, cr_make_sc(untyped), PRIORITY, cr_writer_start, stack + STACK, 0);
    cr_start_thread(pump, cr_make_sc(untyped), PRIORITY_OF_PUMP, cr_pump_start,
                    stack_of_pump + STACK, 0);
}

void cr_writer_wake(void)
{
    if (writer.sleeps && writer.is_left()) {
        writer.sleeps = 0; /* though it may not get the processor: cr_writer_lend */
        seL4_Signal(writer.work);
    }
}

static void await(uint32_t lines)
{
    cr_make_kept_answer(); /* Nobody waits for the console. */
    writer.awaited = lines;
    seL4_Signal(writer.one);
    cr_wait_for(writer.done);
}

/* An earlier caller may have been stopped while it waited, and its signal be left. */
void cr_writer_wait(uint64_t lines)
{
    const uint64_t before = writer.lines;
    uint64_t done = 0;
    for (; done < lines && writer.is_left(); done = writer.lines - before) {
        await(lines - done < UINT32_MAX ? (uint32_t)(lines - done) : UINT32_MAX);
    }
}

void cr_writer_lend(void)
{
    if (!writer.sleeps && writer.emptied == writer.seen && writer.is_left()) {
        cr_writer_wait(CR_TRACE_FEW);
    }
    writer.seen = writer.emptied;
}

void cr_writer_keep_up(uint64_t recorded, uint64_t waiting)
{
    const uint64_t latest = recorded - writer.recorded;
    const uint64_t added = latest < waiting ? latest : waiting;
    writer.recorded = recorded;
    if (waiting <= added + CR_TRACE_BEHIND) {
        writer.allowed = CR_TRACE_BEHIND; /* What was spared before is written. */
    }
    if (added > CR_TRACE_FEW) {
        writer.allowed += 2 * added; /* as many for the fetching and finishing of notices */
    }
    if (waiting > writer.allowed) {
        const uint64_t more = waiting - writer.allowed;
        cr_writer_wait(more > CR_TRACE_FEW ? more : CR_TRACE_FEW);
    }
}

int cr_writer_is_behind(void)
{
    return !writer.sleeps && writer.is_left();
}
