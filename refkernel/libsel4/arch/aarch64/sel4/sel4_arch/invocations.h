/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REFKERNEL_SEL4_ARCH_INVOCATIONS_H
#define REFKERNEL_SEL4_ARCH_INVOCATIONS_H

LIBSEL4_INLINE_FUNC seL4_Error seL4_ARM_PageTable_Map(seL4_ARM_PageTable service, seL4_CPtr vspace,
                                                      seL4_Word vaddr,
                                                      seL4_ARM_VMAttributes attributes)
{
    seL4_SetCap(0, vspace);
    return refkernel_call(service, ARMPageTableMap, 1, 2, vaddr, attributes, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_ARM_PageTable_Unmap(seL4_ARM_PageTable service)
{
    return refkernel_call(service, ARMPageTableUnmap, 0, 0, 0, 0, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_ARM_Page_Map(seL4_ARM_Page service, seL4_CPtr vspace,
                                                 seL4_Word vaddr, seL4_CapRights_t rights,
                                                 seL4_ARM_VMAttributes attributes)
{
    seL4_SetCap(0, vspace);
    return refkernel_call(service, ARMPageMap, 1, 3, vaddr, rights.words[0], attributes, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_ARM_Page_Unmap(seL4_ARM_Page service)
{
    return refkernel_call(service, ARMPageUnmap, 0, 0, 0, 0, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_ARM_Page_Unify_Instruction(seL4_ARM_Page service,
                                                               seL4_Word start, seL4_Word end)
{
    return refkernel_call(service, ARMPageUnify_Instruction, 0, 2, start, end, 0, 0);
}

typedef struct seL4_ARM_Page_GetAddress {
    int error;
    seL4_Word paddr;
} seL4_ARM_Page_GetAddress_t;

LIBSEL4_INLINE_FUNC seL4_ARM_Page_GetAddress_t seL4_ARM_Page_GetAddress(seL4_ARM_Page service)
{
    seL4_MessageInfo_t info = refkernel_invoke(service, ARMPageGetAddress, 0, 0, 0, 0, 0, 0);
    return (seL4_ARM_Page_GetAddress_t){(int)seL4_MessageInfo_get_label(info), seL4_GetMR(0)};
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_ARM_ASIDPool_Assign(seL4_ARM_ASIDPool service, seL4_CPtr vspace)
{
    seL4_SetCap(0, vspace);
    return refkernel_call(service, ARMASIDPoolAssign, 1, 0, 0, 0, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_ARM_ASIDControl_MakePool(seL4_ARM_ASIDControl service,
                                                             seL4_Untyped untyped, seL4_CNode root,
                                                             seL4_Word index, seL4_Uint8 depth)
{
    seL4_SetCap(0, untyped);
    seL4_SetCap(1, root);
    return refkernel_call(service, ARMASIDControlMakePool, 2, 2, index, depth, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_IRQControl_GetTrigger(seL4_IRQControl service, seL4_Word irq,
                                                          seL4_Word trigger, seL4_CNode root,
                                                          seL4_Word index, seL4_Uint8 depth)
{
    seL4_SetCap(0, root);
    return refkernel_call(service, ARMIRQIssueIRQHandlerTrigger, 1, 4, irq, trigger, index, depth);
}

#endif
