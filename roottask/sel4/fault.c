/* SPDX-License-Identifier: BSD-2-Clause */
#include "fault.h"

int cr_decode_fault(seL4_MessageInfo_t tag, cr_fault_kind *kind, uint64_t *address, uint64_t *ip)
{
    switch (seL4_MessageInfo_get_label(tag)) {
    case seL4_Fault_VMFault:
        *kind = CR_FAULT_VM;
        *address = seL4_GetMR(seL4_VMFault_Addr);
        *ip = seL4_GetMR(seL4_VMFault_IP);
        return 1;
    case seL4_Fault_CapFault:
        *kind = CR_FAULT_CAP;
        *address = seL4_GetMR(seL4_CapFault_Addr);
        *ip = seL4_GetMR(seL4_CapFault_IP);
        return 1;
    case seL4_Fault_UserException:
        *kind = CR_FAULT_EXCEPTION;
        *address = seL4_GetMR(seL4_UserException_Number);
        *ip = seL4_GetMR(seL4_UserException_FaultIP);
        return 1;
    case seL4_Fault_UnknownSyscall:
        *kind = CR_FAULT_SYSCALL;
        *address = seL4_GetMR(seL4_UnknownSyscall_Syscall);
        *ip = seL4_GetMR(seL4_UnknownSyscall_FaultIP);
        return 1;
    default:
        return 0;
    }
}
