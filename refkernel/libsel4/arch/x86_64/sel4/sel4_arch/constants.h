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
#define seL4_PageDirBits 12
#define seL4_PDPTBits 12
#define seL4_PML4Bits 12
#define seL4_VSpaceBits seL4_PML4Bits
#define seL4_ASIDPoolBits 12
#define seL4_ASIDPoolIndexBits 9
#define seL4_LargePageBits 21
#define seL4_HugePageBits 30
#define seL4_MinUntypedBits 4
#define seL4_MaxUntypedBits 47
#define seL4_IPCBufferSizeBits 10
#define seL4_FastMessageRegisters 4
#define seL4_UserTop 0x00007ffffffff000ul
#define seL4_UserVSpaceTop (seL4_UserTop - 1)

typedef enum {
    seL4_UnknownSyscall_RAX,
    seL4_UnknownSyscall_RBX,
    seL4_UnknownSyscall_RCX,
    seL4_UnknownSyscall_RDX,
    seL4_UnknownSyscall_RSI,
    seL4_UnknownSyscall_RDI,
    seL4_UnknownSyscall_RBP,
    seL4_UnknownSyscall_R8,
    seL4_UnknownSyscall_R9,
    seL4_UnknownSyscall_R10,
    seL4_UnknownSyscall_R11,
    seL4_UnknownSyscall_R12,
    seL4_UnknownSyscall_R13,
    seL4_UnknownSyscall_R14,
    seL4_UnknownSyscall_R15,
    seL4_UnknownSyscall_FaultIP,
    seL4_UnknownSyscall_SP,
    seL4_UnknownSyscall_FLAGS,
    seL4_UnknownSyscall_Syscall,
    seL4_UnknownSyscall_Length
} seL4_UnknownSyscall_Msg;

typedef enum {
    seL4_UserException_FaultIP,
    seL4_UserException_SP,
    seL4_UserException_FLAGS,
    seL4_UserException_Number,
    seL4_UserException_Code,
    seL4_UserException_Length
} seL4_UserException_Msg;

/* Object types. The types that refkernel does not have are numbered too. */
enum {
    seL4_X86_PDPTObject = seL4_NonArchObjectTypeCount,
    seL4_X64_PML4Object,
    seL4_X64_HugePageObject,
    seL4_X86_4K,
    seL4_X86_LargePageObject,
    seL4_X86_PageTableObject,
    seL4_X86_PageDirectoryObject,
    seL4_X86_IOPageTableObject,
    seL4_ObjectTypeCount
};

enum arch_invocation_label {
    X86PDPTMap = nInvocationLabels,
    X86PDPTUnmap,
    X86PageDirectoryMap,
    X86PageDirectoryUnmap,
    X86PageTableMap,
    X86PageTableUnmap,
    X86PageMap,
    X86PageUnmap,
    X86PageGetAddress,
    X86ASIDPoolAssign,
    X86ASIDControlMakePool,
    X86IRQIssueIRQHandlerIOAPIC,
    X86IOPortControlIssue,
    X86IOPortIn8,
    X86IOPortIn16,
    X86IOPortOut8,
    X86IOPortOut16,
    nArchInvocationLabels
};

#endif
