/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations between the steps of a cleanup. See interleaved.h.
 *
 * cr_interleaved_take runs while the cleaner may be at any instruction. It may read only what the
 * cleaner does not change: the entry of a PD that just sent a message, and the marks of
 * independent.c. It must write nothing but its own table, and no line of the trace. */
#include "interleaved.h"
#include "answer.h"
#include "arena.h"
#include "execution.h"
#include "kernel/arch/arch.h"
#include "kernel/fault.h"
#include "system/charge.h"

/* Whether an operation is served between steps if nothing that it names concerns the cleanup. */
static int is_served(uint64_t op)
{
    switch (op) {
    case CR_OP_SAY:
    case CR_OP_CREATE_RESOURCE:
    case CR_OP_GIVE:
    case CR_OP_RELEASE:
    case CR_OP_HOLDS:
    case CR_OP_MAP:
    case CR_OP_UNMAP:
    case CR_OP_LOOK:
    case CR_OP_PROGRESS:
        return 1;
    default:
        return 0;
    }
}

void cr_take_message(seL4_MessageInfo_t tag, cr_message *out)
{
    uint32_t length = (uint32_t)seL4_MessageInfo_get_length(tag);
    if (length > seL4_MsgMaxLength) {
        cr_panic("the kernel delivered more registers than there are", length);
    }
    out->raw = (cr_raw_message){
        .label = seL4_MessageInfo_get_label(tag),
        .length = length,
        .extra = (uint32_t)seL4_MessageInfo_get_extraCaps(tag),
        .unwrapped = (seL4_MessageInfo_get_capsUnwrapped(tag) & 1u) != 0
                         ? seL4_GetIPCBuffer()->caps_or_badges[0]
                         : 0,
        .words = out->words,
    };
    for (uint32_t i = 0; i < length; i++) {
        out->words[i] = seL4_GetMR((int)i);
    }
}

/* -- what the cleanup concerns */

static int is_free_pd(const cr_pd *pd)
{
    return cr_pd_is_served(pd) && !cr_is_doomed(pd) && !cr_cleaner_concerns(pd->node);
}

static int is_free_space(uint32_t number)
{
    cr_ref space;
    if (cr_find_space(number, &space) != CR_RESULT_OK || cr_cleaner_concerns(space)) {
        return 0;
    }
    const cr_pd *manager = cr_manager_of(space);
    return manager != 0 && manager != cr_pd_of(cr_sys.root) && is_free_pd(manager);
}

static int is_free_client(uint64_t badge)
{
    cr_request_entry *entry;
    return cr_find_request(badge, &entry) == CR_RESULT_OK && is_free_pd(&cr_sys.pds[entry->pd]);
}

static int is_independent(const cr_pd *from, const cr_message *message)
{
    cr_operation_args args;
    if (!is_free_pd(from) || cr_decode_operation(&message->raw, &args) != CR_RESULT_OK ||
        !is_served(args.op) || (args.op == CR_OP_LOOK && args.space == 0 /* it is about a PD */)) {
        return 0;
    }
    return (args.space == 0 || is_free_space(args.space)) &&
           (args.target_space == 0 || is_free_space(args.target_space)) &&
           (args.badge == 0 || is_free_client(args.badge));
}

/* -- arrival */

static void want(cr_kept *kept, const cr_pd *pd)
{
    const uint64_t op = kept->message.raw.label;
    if (is_served(op) && !cr_cleaner_concerns(pd->node)) {
        cr_sup.between.wanted = 1;
    } else {
        kept->later = 1;
    }
}

static void keep_operation(seL4_MessageInfo_t tag, uint64_t badge)
{
    cr_pd *pd;
    if (cr_find_badged(badge, CR_BADGE_PD, &pd) != CR_RESULT_OK || !cr_pd_is_served(pd)) {
        return;
    }
    cr_kept *kept = &cr_sup.between.kept[cr_receiver(pd)];
    if (kept->number != 0 && kept->badge == badge) {
        kept->busy++;
        kept->busy_op = seL4_MessageInfo_get_label(tag);
        cr_answer_now(seL4_MessageInfo_new(CR_RESULT_BUSY, 0, 0, 0));
        return;
    }
    cr_sup.between.n_kept += kept->number == 0; /* Else its PD is gone. */
    kept->number = ++cr_sup.between.last;
    kept->badge = badge;
    kept->later = 0;
    kept->busy = 0;
    kept->since = cr_calls_sum();
    cr_take_message(tag, &kept->message);
    kept->way = cr_keep_caller(pd) ? CR_WAY_SAVED : CR_WAY_SENT;
    want(kept, pd);
}

static int is_fault(seL4_MessageInfo_t tag, const cr_pd *pd, cr_kept_fault *out)
{
    seL4_UserContext registers;
    if (!cr_decode_fault(tag, &out->kind, &out->address, &out->ip)) {
        return 0;
    }
    if (out->kind == CR_FAULT_TIMEOUT) {
        if (!cr_time_ends(pd->time) || out->address != pd->number) {
            return 0;
        }
        cr_must(cr_read_registers(cr_body_cap(&pd->body, CR_BODY_TCB), &registers),
                "the registers of a PD that faulted cannot be read");
        out->ip = cr_arch_ip(&registers);
    }
    return 1;
}

int cr_take_fault(seL4_MessageInfo_t tag, uint64_t badge, cr_pd **pd, cr_kept_fault *out)
{
    *out = (cr_kept_fault){.badge = badge};
    if (cr_find_badged(badge, CR_BADGE_FAULT, pd) != CR_RESULT_OK || !cr_pd_is_served(*pd)) {
        return 0;
    }
    if (!is_fault(tag, *pd, out)) {
        cr_keep_answer(CR_RESULT_FAILED, 0, 0); /* It may be a call. */
        return 0;
    }
    return 1;
}

/* A PD can send messages that look like faults. The first one ends it or suspends it. */
static void keep_fault(seL4_MessageInfo_t tag, uint64_t badge)
{
    cr_kept_fault found;
    cr_pd *pd;
    if (!cr_take_fault(tag, badge, &pd, &found)) {
        cr_make_kept_answer();
        return;
    }
    cr_kept_fault *fault = &cr_sup.between.faults[cr_receiver(pd)];
    if (fault->number != 0 && fault->badge == badge) {
        return;
    }
    cr_sup.between.n_kept += fault->number == 0;
    *fault = found;
    fault->number = ++cr_sup.between.last;
}

void cr_interleaved_take(seL4_MessageInfo_t tag, uint64_t badge)
{
    cr_calls_kept calls;
    cr_calls_aside(&calls);
    switch (cr_badge_kind_of(badge)) {
    case CR_BADGE_PD:
        keep_operation(tag, badge);
        break;
    case CR_BADGE_FAULT:
        keep_fault(tag, badge);
        break;
    default:
        cr_panic("a message with a badge that was never minted", badge);
    }
    cr_calls_back(&calls, 0);
}

/* -- service */

static cr_pd *asker_of(const cr_kept *kept)
{
    cr_pd *pd;
    return cr_find_badged(kept->badge, CR_BADGE_PD, &pd) == CR_RESULT_OK ? pd : 0;
}

void cr_interleaved_begin(void)
{
    cr_interleaved *between = &cr_sup.between;
    between->wanted = 0;
    for (uint32_t i = 0; between->n_kept > 0 && i < cr_most.pds; i++) {
        cr_kept *kept = &between->kept[i];
        const cr_pd *pd = kept->number != 0 ? asker_of(kept) : 0;
        if (pd != 0) {
            kept->since = cr_calls_sum();
            kept->later = 0;
            want(kept, pd);
        }
    }
}

/* The oldest operation that can be served now. Those that cannot wait until the cleanup is over. */
static cr_kept *next_independent(void)
{
    cr_interleaved *between = &cr_sup.between;
    cr_kept *found = 0;
    for (uint32_t i = 0; i < cr_most.pds; i++) {
        cr_kept *kept = &between->kept[i];
        if (kept->number == 0 || kept->later) {
            continue;
        }
        const cr_pd *pd = asker_of(kept);
        if (pd == 0 || between->faults[i].number != 0 || !is_independent(pd, &kept->message)) {
            kept->later = 1;
        } else if (found == 0 || kept->number < found->number) {
            found = kept;
        }
    }
    return found;
}

/* What was not kept behind the message is refused after it. */
static void refuse_rest(cr_pd *pd, cr_kept *kept)
{
    for (; kept->busy > 0; kept->busy--) {
        cr_trace_refuse(pd, kept->busy_op, CR_RESULT_BUSY);
    }
}

static int serve_one(cr_kept *kept)
{
    cr_calls_kept calls;
    uint64_t made[CR_CALL_COUNT];
    cr_pd *pd = asker_of(kept);
    if (pd == 0) {
        return 0;
    }
    const uint64_t waited = cr_calls_sum() - kept->since;
    cr_calls_aside(&calls);
    cr_charge_may_merge(0);
    const int served = cr_sup.between.serve(pd, kept);
    cr_charge_may_merge(1);
    cr_calls_back(&calls, made);
    if (served) {
        refuse_rest(pd, kept);
        cr_execution_begin_line(CR_EV_SERVED);
        cr_trace_pd(pd);
        cr_trace_number(&cr_sys.trace, waited);
        cr_execution_trace_kinds(made);
        cr_trace_end(&cr_sys.trace);
    }
    return served;
}

void cr_interleaved_serve(void)
{
    cr_kept *kept;
    cr_sup.between.wanted = 0;
    /* The loop is bounded: each turn serves a message, or keeps it for later. No PD runs. */
    while ((kept = next_independent()) != 0) {
        if (serve_one(kept)) {
            cr_interleaved_forget(kept, 0);
        } else {
            kept->later = 1;
        }
    }
}

void cr_interleaved_oldest(cr_kept **kept, cr_kept_fault **fault)
{
    cr_interleaved *between = &cr_sup.between;
    uint64_t first = 0;
    *kept = 0;
    *fault = 0;
    for (uint32_t i = 0; between->n_kept > 0 && i < cr_most.pds; i++) {
        const uint64_t number = between->kept[i].number;
        const uint64_t fault_number = between->faults[i].number;
        if (number != 0 && (first == 0 || number < first)) {
            first = number;
            *kept = &between->kept[i];
            *fault = 0;
        }
        if (fault_number != 0 && (first == 0 || fault_number < first)) {
            first = fault_number;
            *kept = 0;
            *fault = &between->faults[i];
        }
    }
}

void cr_interleaved_forget(cr_kept *kept, cr_kept_fault *fault)
{
    if (kept != 0) {
        cr_pd *pd = asker_of(kept);
        if (pd != 0) {
            refuse_rest(pd, kept);
        }
        kept->number = 0;
    }
    if (fault != 0) {
        fault->number = 0;
    }
    cr_sup.between.n_kept--;
}
