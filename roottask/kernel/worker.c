/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The worker. See worker.h. Its calls are not counted, except those of its job.
 *
 * libsel4 finds the IPC buffer through one variable for all threads (compat.h). The main thread
 * sets it whenever the processor passes from one to the other. The worker may be at any instruction
 * when the main thread wakes up, so nothing here may use the IPC buffer before it is set. */
#include "worker.h"
#include "arch/arch.h"
#include "debug.h"
#include <cellreap/protocol.h>

enum { PAGE = 4096 };

/* No PD has these badges: the index of the root task is 0. */
#define DONE cr_badge(CR_BADGE_PD, 0, 0)
#define FAULT cr_badge(CR_BADGE_FAULT, 0, 0)

/* Pages of the root task's own image. The first one is unmapped at boot. */
static _Alignas(4096) struct {
    uint8_t guard[PAGE];
    char stack[CR_WORKER_STACK];
    uint8_t buffer[PAGE];
} own;

static struct {
    seL4_CPtr tcb;
    seL4_CPtr own_endpoint;
    seL4_CPtr endpoint; /* where its events arrive */
    uint32_t priority;
    seL4_CPtr done; /* for the worker, to the endpoint */
    void (*job)(void);
    seL4_IPCBuffer *main_buffer;
    seL4_Word ip; /* where it faulted last */
} worker;

static seL4_CPtr frame_of(const seL4_BootInfo *info, uintptr_t image_start, const void *page)
{
    const seL4_CPtr frame = cr_image_frame(info, image_start, page);
    if (frame == 0) {
        cr_panic("a page of the root task has no frame", (uintptr_t)page);
    }
    return frame;
}

static seL4_CPtr mint(seL4_Word badge)
{
    seL4_CPtr cap = cr_pool_cap();
    cr_must(cr_mint(cr_slot_at(cap), cr_slot_at(worker.endpoint), seL4_CapRights_new(1, 0, 0, 1),
                    badge),
            "a capability of the worker cannot be minted");
    return cap;
}

/* The main thread waits for messages while the worker runs. It hears of a panic, and does not wait
 * again. */
static void tell_of_panic(void)
{
    if (seL4_GetIPCBuffer() == (seL4_IPCBuffer *)(void *)own.buffer) {
        seL4_Send(worker.done, seL4_MessageInfo_new(0, 0, 0, 0));
    }
}

void cr_worker_init(const seL4_BootInfo *info, uintptr_t image_start, seL4_CPtr untyped,
                    seL4_CPtr endpoint, void (*job)(void))
{
    worker.own_endpoint = cr_pool_make(untyped, seL4_EndpointObject, "no endpoint for the worker");
    worker.tcb = cr_pool_make(untyped, seL4_TCBObject, "no TCB for the worker");
    worker.endpoint = endpoint != 0 ? endpoint : worker.own_endpoint;
    worker.done = mint(DONE);
    worker.job = job;
    cr_after_panic(tell_of_panic);
    worker.main_buffer = seL4_GetIPCBuffer();
    cr_must(cr_arch_unmap_frame(frame_of(info, image_start, own.guard)),
            "the page below the worker's stack is not unmapped");
    const seL4_CPtr fault = mint(FAULT);
    cr_must(cr_set_spaces(worker.tcb, fault, cr_l1_cnode(), cr_l1_data(), seL4_CapInitThreadVSpace,
                          (seL4_Word)own.buffer, frame_of(info, image_start, own.buffer)),
            "the worker has no space");
    cr_must(cr_set_priority(worker.tcb, CR_WORKER_PRIORITY, cr_make_sc(untyped), fault),
            "the worker has no priority");
    worker.priority = CR_WORKER_PRIORITY;
    cr_debug_name(worker.tcb, "rootserver"); /* as in cr_start_thread */
}

int cr_worker_is_apart(void)
{
    return worker.endpoint == worker.own_endpoint;
}

void cr_worker_priority(uint32_t priority)
{
    if (worker.priority != priority) {
        cr_must(seL4_TCB_SetPriority(worker.tcb, seL4_CapInitThreadTCB, priority),
                "the worker does not change its priority");
        worker.priority = priority;
    }
}

_Noreturn void cr_worker_main(void)
{
    worker.job();
    for (;;) {
        seL4_Send(worker.done, seL4_MessageInfo_new(0, 0, 0, 0));
    }
}

void cr_worker_start(void)
{
    seL4_UserContext registers;
    cr_make_kept_answer(); /* The worker cannot make it, and PDs may run before it ends. */
    cr_arch_start_registers(&registers, (seL4_Word)cr_worker_begin,
                            (seL4_Word)own.stack + sizeof(own.stack));
    cr_must(seL4_TCB_WriteRegisters(worker.tcb, 1, 0, sizeof(registers) / sizeof(seL4_Word),
                                    &registers),
            "the worker does not start");
    /* The worker does not run before the main thread waits. */
}

static cr_worker_event event_of(uint64_t badge)
{
    return badge == DONE                                       ? CR_WORKER_DONE
           : badge == FAULT                                    ? CR_WORKER_FAULT
           : cr_badge_is_signal(badge) || cr_worker_is_apart() ? CR_WORKER_SIGNAL
                                                               : CR_WORKER_MESSAGE;
}

cr_worker_arrival cr_worker_wait(void)
{
    enum { IN_REGISTERS = 4 };
    seL4_Word from;
    seL4_Word first[IN_REGISTERS] = {0};
    cr_worker_arrival out;
    seL4_SetIPCBuffer((seL4_IPCBuffer *)(void *)own.buffer);
    out.tag = cr_receive_words(worker.endpoint, &from, first);
    while (cr_has_panicked()) {
    }
    seL4_SetIPCBuffer(worker.main_buffer);
    for (int i = 0; i < IN_REGISTERS; i++) {
        seL4_SetMR(i, first[i]);
    }
    out.badge = from;
    out.event = event_of(from);
    if (out.event == CR_WORKER_FAULT) {
        worker.ip = first[0];
    }
    return out;
}

uint64_t cr_worker_ip(void)
{
    return worker.ip;
}

void cr_worker_stop(void)
{
    cr_must(seL4_TCB_Suspend(worker.tcb), "the worker does not stop");
}

/* A write below the stack, as when a stack is too small. */
_Noreturn void cr_worker_fault(void)
{
    for (;;) {
        *(volatile uint8_t *)&own.guard[PAGE - 1] = 1;
    }
}

_Noreturn void cr_worker_hang(void)
{
    for (;;) {
        __asm__ volatile("" : : : "memory");
    }
}
