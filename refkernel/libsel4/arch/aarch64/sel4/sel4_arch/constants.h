/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REFKERNEL_SEL4_ARCH_CONSTANTS_H
#define REFKERNEL_SEL4_ARCH_CONSTANTS_H

#define seL4_WordBits 64
#define seL4_WordSizeBits 3
#define seL4_PageBits 12
#define seL4_SlotBits 5
#define seL4_TCBBits 11
#define seL4_EndpointBits 4
#define seL4_NotificationBits 5
#define seL4_PageTableBits 12
#define seL4_PageTableIndexBits 9
#define seL4_VSpaceBits 12
#define seL4_VSpaceIndexBits 9
#define seL4_ASIDPoolBits 12
#define seL4_ASIDPoolIndexBits 9
#define seL4_LargePageBits 21
#define seL4_HugePageBits 30
#define seL4_MinUntypedBits 4
#define seL4_MaxUntypedBits 47
#define seL4_IPCBufferSizeBits 10
#define seL4_FastMessageRegisters 4
#define seL4_UserTop 0x00007ffffffffffful
#define seL4_UserVSpaceTop seL4_UserTop

typedef enum {
    seL4_UnknownSyscall_X0,
    seL4_UnknownSyscall_X1,
    seL4_UnknownSyscall_X2,
    seL4_UnknownSyscall_X3,
    seL4_UnknownSyscall_X4,
    seL4_UnknownSyscall_X5,
    seL4_UnknownSyscall_X6,
    seL4_UnknownSyscall_X7,
    seL4_UnknownSyscall_FaultIP,
    seL4_UnknownSyscall_SP,
    seL4_UnknownSyscall_LR,
    seL4_UnknownSyscall_SPSR,
    seL4_UnknownSyscall_Syscall,
    seL4_UnknownSyscall_Length
} seL4_UnknownSyscall_Msg;

typedef enum {
    seL4_UserException_FaultIP,
    seL4_UserException_SP,
    seL4_UserException_SPSR,
    seL4_UserException_Number,
    seL4_UserException_Code,
    seL4_UserException_Length
} seL4_UserException_Msg;

/* Object types. The types that refkernel does not have are numbered too. */
enum {
    seL4_ARM_HugePageObject = seL4_NonArchObjectTypeCount,
    seL4_ARM_VSpaceObject,
    seL4_ARM_SmallPageObject,
    seL4_ARM_LargePageObject,
    seL4_ARM_PageTableObject,
    seL4_ObjectTypeCount
};

enum arch_invocation_label {
    ARMPageTableMap = nInvocationLabels,
    ARMPageTableUnmap,
    ARMPageMap,
    ARMPageUnmap,
    ARMPageUnify_Instruction,
    ARMPageGetAddress,
    ARMASIDPoolAssign,
    ARMASIDControlMakePool,
    ARMIRQIssueIRQHandlerTrigger,
    nArchInvocationLabels
};

#endif
