/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Decodes fault messages. See fault.h. PDs can send any message, so this file must not trust the
 * length of a message. */
#include "fault.h"

/* Reads both registers. Returns 0 if the message is too short; the kernel did not send such a
 * message. */
static int read(seL4_MessageInfo_t tag, int address_at, int ip_at, uint64_t *address, uint64_t *ip)
{
    int last = address_at > ip_at ? address_at : ip_at;
    if (seL4_MessageInfo_get_length(tag) <= (seL4_Word)last) {
        return 0;
    }
    *address = seL4_GetMR(address_at);
    *ip = seL4_GetMR(ip_at);
    return 1;
}

int cr_decode_fault(seL4_MessageInfo_t tag, cr_fault_kind *kind, uint64_t *address, uint64_t *ip)
{
    if (CR_MCS && seL4_MessageInfo_get_label(tag) == (seL4_Word)CR_TIMEOUT_FAULT) {
        *kind = CR_FAULT_TIMEOUT;
        return read(tag, CR_TIMEOUT_PAYER, CR_TIMEOUT_PAYER, address, ip);
    }
    switch (seL4_MessageInfo_get_label(tag)) {
    case seL4_Fault_VMFault:
        *kind = CR_FAULT_VM;
        return read(tag, seL4_VMFault_Addr, seL4_VMFault_IP, address, ip);
    case seL4_Fault_CapFault:
        *kind = CR_FAULT_CAP;
        return read(tag, seL4_CapFault_Addr, seL4_CapFault_IP, address, ip);
    case seL4_Fault_UserException:
        *kind = CR_FAULT_EXCEPTION;
        return read(tag, seL4_UserException_Number, seL4_UserException_FaultIP, address, ip);
    case seL4_Fault_UnknownSyscall:
        *kind = CR_FAULT_SYSCALL;
        return read(tag, seL4_UnknownSyscall_Syscall, seL4_UnknownSyscall_FaultIP, address, ip);
    default:
        return 0;
    }
}
