/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Routes faults. See faults.h. A faulting thread waits in the kernel for an answer to its fault
 * message. The root task does not answer it: resuming the thread repeats the instruction that
 * faulted. The thread is suspended while its fault is held, because a PD can send a message that
 * looks like a fault, and would run on. */
#include "faults.h"
#include "arena.h"
#include "cleaner.h"
#include "kernel/arch/arch.h"
#include "notices.h"

void cr_trace_registers(const seL4_UserContext *registers)
{
    cr_trace_numbers(&cr_sys.trace, cr_arch_registers(registers),
                     registers != 0 ? CR_REGISTER_COUNT : 0);
}

static void trace_registers_at(const cr_pd *pd, const cr_held_fault *fault)
{
    seL4_UserContext registers;
    cr_must(cr_read_registers(cr_body_cap(&pd->body, CR_BODY_TCB), &registers),
            "the registers of a PD that faulted cannot be read");
    cr_end_note_fault(pd, fault->kind, fault->address, fault->ip, &registers);
    /* The kernel has the thread wait at the instruction that it names. Elsewhere, the PD sent the
     * message itself, and its registers are not those of a fault. */
    cr_trace_registers(cr_arch_ip(&registers) == fault->ip ? &registers : 0);
}

/* The registers are read for each of the two events, and not kept. The thread of a held fault is
 * suspended, so they are the same. */
static void trace_fault(const cr_pd *pd, const cr_pd *handler, const cr_held_fault *fault)
{
    cr_trace_begin(&cr_sys.trace, handler != 0 ? CR_EV_FAULT_HELD : CR_EV_FAULT);
    cr_trace_pd(pd);
    if (handler != 0) {
        cr_trace_pd(handler);
    }
    cr_trace_string(&cr_sys.trace, cr_fault_name(fault->kind));
    cr_trace_address(&cr_sys.trace, fault->address);
    cr_trace_address(&cr_sys.trace, fault->ip);
    trace_registers_at(pd, fault);
    cr_trace_end(&cr_sys.trace);
}

cr_pd *cr_fault_handler(const cr_pd *pd)
{
    cr_edge_info info;
    uint32_t edge = cr_model_first(cr_sys.model, pd->node, CR_EDGE_FAULT, CR_OUT);
    return edge != CR_NONE && cr_model_edge(cr_sys.model, edge, &info) == CR_OK ? cr_pd_of(info.to)
                                                                                : 0;
}

/* The handler that is told of a fault of the PD, or 0. A handler that goes down takes the PD along,
 * so it is not asked. Nor is one that still has the notice of a fault of the PD or of its
 * predecessor: so each configured PD has at most one such notice. */
static cr_pd *handler_to_tell(const cr_pd *pd)
{
    cr_pd *handler = pd->config != CR_IMAGE_NONE ? cr_fault_handler(pd) : 0;
    if (handler == 0 || !cr_pd_is_up(handler) || cr_is_doomed(handler) ||
        cr_work_has(cr_sys.work, cr_sup.faults.of[pd->config].token)) {
        return 0;
    }
    return handler;
}

void cr_fault_occurs(cr_pd *pd, cr_fault_kind kind, uint64_t address, uint64_t ip)
{
    const cr_held_fault fault = {.kind = kind, .address = address, .ip = ip};
    cr_pd *handler = handler_to_tell(pd);
    trace_fault(pd, handler, &fault);
    if (handler == 0) {
        cr_trigger(pd, CR_CAUSE_FAULT);
        return;
    }
    cr_must(cr_suspend(cr_body_cap(&pd->body, CR_BODY_TCB)), "a thread cannot be suspended");
    cr_pd_become(pd, CR_LIFE_FAULTED);
    cr_notices_changed(); /* The PD may have been awaited. */
    const cr_notice notice = {.kind = CR_NOTICE_FAULT, .node = pd->node, .from = {CR_NONE, 0}};
    cr_notice_put(handler, &notice, 0);
    cr_sup.faults.of[pd->config] = fault;
    cr_sup.faults.of[pd->config].token = handler->last_token;
}

const cr_held_fault *cr_fault_of_notice(const cr_work_notice *notice)
{
    for (uint32_t i = 0; notice->kind == CR_NOTICE_FAULT && i < cr_sys.image->pds.count; i++) {
        if (cr_sup.faults.of[i].token == notice->token) {
            return &cr_sup.faults.of[i];
        }
    }
    return 0;
}

void cr_fault_take_over(cr_pd *pd)
{
    trace_fault(pd, 0, &cr_sup.faults.of[pd->config]);
    cr_trigger(pd, CR_CAUSE_FAULT);
}

static void go_on(cr_pd *pd)
{
    cr_pd_become(pd, CR_LIFE_RUNS);
    cr_notices_changed(); /* The PD may be awaited again. */
    cr_trace_thread(CR_CHANGE_RESUMED, pd, 0);
    cr_must(cr_resume(cr_body_cap(&pd->body, CR_BODY_TCB)), "a thread cannot be resumed");
}

void cr_fault_answered(const cr_work_notice *notice, int failed)
{
    cr_pd *pd = cr_notice_held_fault(notice);
    if (pd == 0) {
        return;
    }
    if (failed) {
        cr_fault_take_over(pd);
    } else {
        go_on(pd);
    }
}
