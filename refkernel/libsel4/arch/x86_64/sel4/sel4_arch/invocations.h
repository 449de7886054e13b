/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REFKERNEL_SEL4_ARCH_INVOCATIONS_H
#define REFKERNEL_SEL4_ARCH_INVOCATIONS_H

#define REFKERNEL_TABLE_MAP(name, label)                                                           \
    LIBSEL4_INLINE_FUNC seL4_Error name(seL4_CPtr service, seL4_CPtr vspace, seL4_Word vaddr,      \
                                        seL4_X86_VMAttributes attributes)                          \
    {                                                                                              \
        seL4_SetCap(0, vspace);                                                                    \
        return refkernel_call(service, label, 1, 2, vaddr, attributes, 0, 0);                      \
    }
#define REFKERNEL_UNMAP(name, label)                                                               \
    LIBSEL4_INLINE_FUNC seL4_Error name(seL4_CPtr service)                                         \
    {                                                                                              \
        return refkernel_call(service, label, 0, 0, 0, 0, 0, 0);                                   \
    }

REFKERNEL_TABLE_MAP(seL4_X86_PDPT_Map, X86PDPTMap)
REFKERNEL_TABLE_MAP(seL4_X86_PageDirectory_Map, X86PageDirectoryMap)
REFKERNEL_TABLE_MAP(seL4_X86_PageTable_Map, X86PageTableMap)
REFKERNEL_UNMAP(seL4_X86_PDPT_Unmap, X86PDPTUnmap)
REFKERNEL_UNMAP(seL4_X86_PageDirectory_Unmap, X86PageDirectoryUnmap)
REFKERNEL_UNMAP(seL4_X86_PageTable_Unmap, X86PageTableUnmap)
REFKERNEL_UNMAP(seL4_X86_Page_Unmap, X86PageUnmap)

LIBSEL4_INLINE_FUNC seL4_Error seL4_X86_Page_Map(seL4_X86_Page service, seL4_CPtr vspace,
                                                 seL4_Word vaddr, seL4_CapRights_t rights,
                                                 seL4_X86_VMAttributes attributes)
{
    seL4_SetCap(0, vspace);
    return refkernel_call(service, X86PageMap, 1, 3, vaddr, rights.words[0], attributes, 0);
}

typedef struct seL4_X86_Page_GetAddress {
    int error;
    seL4_Word paddr;
} seL4_X86_Page_GetAddress_t;

LIBSEL4_INLINE_FUNC seL4_X86_Page_GetAddress_t seL4_X86_Page_GetAddress(seL4_X86_Page service)
{
    seL4_MessageInfo_t info = refkernel_invoke(service, X86PageGetAddress, 0, 0, 0, 0, 0, 0);
    return (seL4_X86_Page_GetAddress_t){(int)seL4_MessageInfo_get_label(info), seL4_GetMR(0)};
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_X86_ASIDPool_Assign(seL4_X86_ASIDPool service, seL4_CPtr vspace)
{
    seL4_SetCap(0, vspace);
    return refkernel_call(service, X86ASIDPoolAssign, 1, 0, 0, 0, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_X86_ASIDControl_MakePool(seL4_X86_ASIDControl service,
                                                             seL4_Untyped untyped, seL4_CNode root,
                                                             seL4_Word index, seL4_Uint8 depth)
{
    seL4_SetCap(0, untyped);
    seL4_SetCap(1, root);
    return refkernel_call(service, X86ASIDControlMakePool, 2, 2, index, depth, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_IRQControl_GetIOAPIC(seL4_IRQControl service, seL4_CNode root,
                                                         seL4_Word index, seL4_Uint8 depth,
                                                         seL4_Word ioapic, seL4_Word pin,
                                                         seL4_Word level, seL4_Word polarity,
                                                         seL4_Word vector)
{
    seL4_SetCap(0, root);
    seL4_SetMR(4, level);
    seL4_SetMR(5, polarity);
    seL4_SetMR(6, vector);
    return refkernel_call(service, X86IRQIssueIRQHandlerIOAPIC, 1, 7, index, depth, ioapic, pin);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_X86_IOPortControl_Issue(seL4_X86_IOPortControl service,
                                                            seL4_Word first_port,
                                                            seL4_Word last_port, seL4_CNode root,
                                                            seL4_Word index, seL4_Uint8 depth)
{
    seL4_SetCap(0, root);
    return refkernel_call(service, X86IOPortControlIssue, 1, 4, first_port, last_port, index,
                          depth);
}

typedef struct seL4_X86_IOPort_In8 {
    int error;
    seL4_Uint8 result;
} seL4_X86_IOPort_In8_t;

/* Leaves the IPC buffer alone, like every call that is answered in registers. */
LIBSEL4_INLINE_FUNC seL4_X86_IOPort_In8_t seL4_X86_IOPort_In8(seL4_X86_IOPort service,
                                                              seL4_Uint16 port)
{
    struct refkernel_registers r = {
        service, seL4_MessageInfo_new(X86IOPortIn8, 0, 0, 1).words[0], {port, 0, 0, 0}};
    refkernel_syscall(seL4_SysCall, &r);
    return (seL4_X86_IOPort_In8_t){(int)seL4_MessageInfo_get_label((seL4_MessageInfo_t){{r.info}}),
                                   (seL4_Uint8)r.mr[0]};
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_X86_IOPort_Out8(seL4_X86_IOPort service, seL4_Word port,
                                                    seL4_Word data)
{
    return refkernel_call(service, X86IOPortOut8, 0, 2, port, data, 0, 0);
}

typedef struct seL4_X86_IOPort_In16 {
    int error;
    seL4_Uint16 result;
} seL4_X86_IOPort_In16_t;

LIBSEL4_INLINE_FUNC seL4_X86_IOPort_In16_t seL4_X86_IOPort_In16(seL4_X86_IOPort service,
                                                                seL4_Uint16 port)
{
    struct refkernel_registers r = {
        service, seL4_MessageInfo_new(X86IOPortIn16, 0, 0, 1).words[0], {port, 0, 0, 0}};
    refkernel_syscall(seL4_SysCall, &r);
    return (seL4_X86_IOPort_In16_t){(int)seL4_MessageInfo_get_label((seL4_MessageInfo_t){{r.info}}),
                                    (seL4_Uint16)r.mr[0]};
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_X86_IOPort_Out16(seL4_X86_IOPort service, seL4_Word port,
                                                     seL4_Word data)
{
    return refkernel_call(service, X86IOPortOut16, 0, 2, port, data, 0, 0);
}

#endif
