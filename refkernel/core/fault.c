/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Faults: messages that the kernel sends to the fault handler of a thread, in the name of the
 * thread. */
#include "kernel.h"

static void tell_unhandled(const struct tcb *tcb, const struct fault *fault, const char *why)
{
    static const char *const names[] = {"no fault",       "cap fault", "unknown syscall",
                                        "user exception", "",          "vm fault"};
    print("refkernel: ");
    print(fault->label < sizeof(names) / sizeof(names[0]) ? names[fault->label] : "fault");
    for (word i = 0; i < fault->length && i < 4; i++) {
        print(" ");
        print_hex(fault->words[i]);
    }
    print(", and ");
    print(why);
    print("\nin thread ");
    print_hex((word)tcb);
    print(" \"");
    print(tcb->name);
    print("\" at address ");
    print_hex(*arch_instruction(&((struct tcb *)tcb)->context));
    print("\n");
}

void fault_send(struct tcb *tcb, const struct fault *fault)
{
    struct lookup_failure failure;
    word left;
    struct slot *handler =
        slot_resolve(&tcb->slots[TCB_CSPACE], tcb->fault_handler, seL4_WordBits, &left, &failure);
    const uint8_t grants = RIGHT_GRANT | RIGHT_GRANT_REPLY;
    if (handler == 0 || handler->type != CAP_ENDPOINT || (handler->rights & RIGHT_WRITE) == 0 ||
        (handler->rights & grants) == 0) {
        tell_unhandled(tcb, fault, "no fault handler");
        tcb->state = STATE_INACTIVE;
        sched_stop(tcb);
        return;
    }
    tcb->fault = *fault;
    endpoint_send(tcb, handler, true, true);
}

void fault_capability(struct tcb *tcb, word cptr, bool receiving,
                      const struct lookup_failure *failure)
{
    struct fault fault = {.label = seL4_Fault_CapFault};
    fault.words[seL4_CapFault_IP] = *arch_instruction(&tcb->context);
    fault.words[seL4_CapFault_Addr] = cptr;
    fault.words[seL4_CapFault_InRecvPhase] = receiving;
    fault.length = 3 + slot_failure_words(failure, &fault.words[seL4_CapFault_LookupFailureType]);
    fault_send(tcb, &fault);
}

bool fault_reply(struct tcb *handler, struct tcb *tcb)
{
    seL4_MessageInfo_t info = {{*arch_info_register(&handler->context)}};
    word label = tcb->fault.label;
    word length = seL4_MessageInfo_get_length(info);
    tcb->fault.label = seL4_Fault_NullFault;
    if (label != seL4_Fault_UnknownSyscall && label != seL4_Fault_UserException) {
        return true;
    }
    for (word i = 0; i < length; i++) {
        word *reg = arch_fault_register(&tcb->context, label, i);
        if (reg != 0) {
            *reg = message_get(handler, i);
        }
    }
    arch_sanitise(&tcb->context);
    return seL4_MessageInfo_get_label(info) == 0;
}
