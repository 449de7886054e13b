/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Invocations of kernel objects: a call with a label, message words and capabilities. The kernel
 * answers with an error. */
#ifndef REFKERNEL_SEL4_INVOCATIONS_H
#define REFKERNEL_SEL4_INVOCATIONS_H

#include <sel4/syscalls.h>

/* The caller must have put the words beyond the fourth, and the capabilities, into the IPC
 * buffer. */
LIBSEL4_INLINE_FUNC seL4_MessageInfo_t refkernel_invoke(seL4_CPtr service, seL4_Word label,
                                                        seL4_Word caps, seL4_Word words,
                                                        seL4_Word a, seL4_Word b, seL4_Word c,
                                                        seL4_Word d)
{
    struct refkernel_registers r = {
        service, seL4_MessageInfo_new(label, 0, caps, words).words[0], {a, b, c, d}};
    refkernel_syscall(seL4_SysCall, &r);
    seL4_MessageInfo_t info = {{r.info}};
    /* The further words of an error or a result are read with seL4_GetMR. */
    if (seL4_MessageInfo_get_label(info) != seL4_NoError ||
        seL4_MessageInfo_get_length(info) != 0) {
        refkernel_store(&r);
    }
    return info;
}

LIBSEL4_INLINE_FUNC seL4_Error refkernel_call(seL4_CPtr service, seL4_Word label, seL4_Word caps,
                                              seL4_Word words, seL4_Word a, seL4_Word b,
                                              seL4_Word c, seL4_Word d)
{
    return (seL4_Error)seL4_MessageInfo_get_label(
        refkernel_invoke(service, label, caps, words, a, b, c, d));
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_Untyped_Retype(seL4_Untyped service, seL4_Word type,
                                                   seL4_Word size_bits, seL4_CNode root,
                                                   seL4_Word node_index, seL4_Word node_depth,
                                                   seL4_Word node_offset, seL4_Word num_objects)
{
    seL4_SetCap(0, root);
    seL4_SetMR(4, node_offset);
    seL4_SetMR(5, num_objects);
    return refkernel_call(service, UntypedRetype, 1, 6, type, size_bits, node_index, node_depth);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_CNode_Copy(seL4_CNode service, seL4_Word dest_index,
                                               seL4_Uint8 dest_depth, seL4_CNode src_root,
                                               seL4_Word src_index, seL4_Uint8 src_depth,
                                               seL4_CapRights_t rights)
{
    seL4_SetCap(0, src_root);
    seL4_SetMR(4, rights.words[0]);
    return refkernel_call(service, CNodeCopy, 1, 5, dest_index, dest_depth, src_index, src_depth);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_CNode_Mint(seL4_CNode service, seL4_Word dest_index,
                                               seL4_Uint8 dest_depth, seL4_CNode src_root,
                                               seL4_Word src_index, seL4_Uint8 src_depth,
                                               seL4_CapRights_t rights, seL4_Word badge)
{
    seL4_SetCap(0, src_root);
    seL4_SetMR(4, rights.words[0]);
    seL4_SetMR(5, badge);
    return refkernel_call(service, CNodeMint, 1, 6, dest_index, dest_depth, src_index, src_depth);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_CNode_Move(seL4_CNode service, seL4_Word dest_index,
                                               seL4_Uint8 dest_depth, seL4_CNode src_root,
                                               seL4_Word src_index, seL4_Uint8 src_depth)
{
    seL4_SetCap(0, src_root);
    return refkernel_call(service, CNodeMove, 1, 4, dest_index, dest_depth, src_index, src_depth);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_CNode_Mutate(seL4_CNode service, seL4_Word dest_index,
                                                 seL4_Uint8 dest_depth, seL4_CNode src_root,
                                                 seL4_Word src_index, seL4_Uint8 src_depth,
                                                 seL4_Word badge)
{
    seL4_SetCap(0, src_root);
    seL4_SetMR(4, badge);
    return refkernel_call(service, CNodeMutate, 1, 5, dest_index, dest_depth, src_index, src_depth);
}

#define REFKERNEL_CNODE_SLOT(name, label)                                                          \
    LIBSEL4_INLINE_FUNC seL4_Error name(seL4_CNode service, seL4_Word index, seL4_Uint8 depth)     \
    {                                                                                              \
        return refkernel_call(service, label, 0, 2, index, depth, 0, 0);                           \
    }

REFKERNEL_CNODE_SLOT(seL4_CNode_Delete, CNodeDelete)
REFKERNEL_CNODE_SLOT(seL4_CNode_Revoke, CNodeRevoke)
REFKERNEL_CNODE_SLOT(seL4_CNode_CancelBadgedSends, CNodeCancelBadgedSends)
REFKERNEL_CNODE_SLOT(seL4_CNode_SaveCaller, CNodeSaveCaller)

LIBSEL4_INLINE_FUNC seL4_Error seL4_TCB_Configure(seL4_TCB service, seL4_Word fault_ep,
                                                  seL4_CNode cspace_root,
                                                  seL4_Word cspace_root_data, seL4_CPtr vspace_root,
                                                  seL4_Word vspace_root_data, seL4_Word buffer,
                                                  seL4_CPtr bufferFrame)
{
    seL4_SetCap(0, cspace_root);
    seL4_SetCap(1, vspace_root);
    seL4_SetCap(2, bufferFrame);
    return refkernel_call(service, TCBConfigure, 3, 4, fault_ep, cspace_root_data, vspace_root_data,
                          buffer);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_TCB_SetSpace(seL4_TCB service, seL4_Word fault_ep,
                                                 seL4_CNode cspace_root, seL4_Word cspace_root_data,
                                                 seL4_CPtr vspace_root, seL4_Word vspace_root_data)
{
    seL4_SetCap(0, cspace_root);
    seL4_SetCap(1, vspace_root);
    return refkernel_call(service, TCBSetSpace, 2, 3, fault_ep, cspace_root_data, vspace_root_data,
                          0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_TCB_SetIPCBuffer(seL4_TCB service, seL4_Word buffer,
                                                     seL4_CPtr bufferFrame)
{
    seL4_SetCap(0, bufferFrame);
    return refkernel_call(service, TCBSetIPCBuffer, 1, 1, buffer, 0, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_TCB_SetPriority(seL4_TCB service, seL4_CPtr authority,
                                                    seL4_Word priority)
{
    seL4_SetCap(0, authority);
    return refkernel_call(service, TCBSetPriority, 1, 1, priority, 0, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_TCB_SetMCPriority(seL4_TCB service, seL4_CPtr authority,
                                                      seL4_Word mcp)
{
    seL4_SetCap(0, authority);
    return refkernel_call(service, TCBSetMCPriority, 1, 1, mcp, 0, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_TCB_SetSchedParams(seL4_TCB service, seL4_CPtr authority,
                                                       seL4_Word mcp, seL4_Word priority)
{
    seL4_SetCap(0, authority);
    return refkernel_call(service, TCBSetSchedParams, 1, 2, mcp, priority, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_TCB_Suspend(seL4_TCB service)
{
    return refkernel_call(service, TCBSuspend, 0, 0, 0, 0, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_TCB_Resume(seL4_TCB service)
{
    return refkernel_call(service, TCBResume, 0, 0, 0, 0, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_TCB_BindNotification(seL4_TCB service, seL4_CPtr notification)
{
    seL4_SetCap(0, notification);
    return refkernel_call(service, TCBBindNotification, 1, 0, 0, 0, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_TCB_UnbindNotification(seL4_TCB service)
{
    return refkernel_call(service, TCBUnbindNotification, 0, 0, 0, 0, 0, 0);
}

/* The registers of a user context follow one another in the message, in the order of the
 * structure. */
LIBSEL4_INLINE_FUNC seL4_Error seL4_TCB_ReadRegisters(seL4_TCB service, seL4_Bool suspend_source,
                                                      seL4_Uint8 arch_flags, seL4_Word count,
                                                      seL4_UserContext *regs)
{
    seL4_Word first = (seL4_Word)(suspend_source & 1) | (seL4_Word)arch_flags << 8;
    seL4_MessageInfo_t info = refkernel_invoke(service, TCBReadRegisters, 0, 2, first, count, 0, 0);
    seL4_Error error = (seL4_Error)seL4_MessageInfo_get_label(info);
    seL4_Word *out = (seL4_Word *)regs;
    for (seL4_Word i = 0; error == seL4_NoError && i < sizeof(*regs) / sizeof(seL4_Word); i++) {
        out[i] = i < seL4_MessageInfo_get_length(info) ? seL4_GetMR((int)i) : 0;
    }
    return error;
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_TCB_WriteRegisters(seL4_TCB service, seL4_Bool resume_target,
                                                       seL4_Uint8 arch_flags, seL4_Word count,
                                                       seL4_UserContext *regs)
{
    const seL4_Word *in = (const seL4_Word *)regs;
    seL4_Word total = sizeof(*regs) / sizeof(seL4_Word);
    seL4_Word first = (seL4_Word)(resume_target & 1) | (seL4_Word)arch_flags << 8;
    for (seL4_Word i = 2; i < total; i++) {
        seL4_SetMR((int)i + 2, in[i]);
    }
    return refkernel_call(service, TCBWriteRegisters, 0, total + 2, first, count, in[0], in[1]);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_IRQControl_Get(seL4_IRQControl service, seL4_Word irq,
                                                   seL4_CNode root, seL4_Word index,
                                                   seL4_Uint8 depth)
{
    seL4_SetCap(0, root);
    return refkernel_call(service, IRQIssueIRQHandler, 1, 3, irq, index, depth, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_IRQHandler_Ack(seL4_IRQHandler service)
{
    return refkernel_call(service, IRQAckIRQ, 0, 0, 0, 0, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_IRQHandler_SetNotification(seL4_IRQHandler service,
                                                               seL4_CPtr notification)
{
    seL4_SetCap(0, notification);
    return refkernel_call(service, IRQSetIRQHandler, 1, 0, 0, 0, 0, 0);
}

LIBSEL4_INLINE_FUNC seL4_Error seL4_IRQHandler_Clear(seL4_IRQHandler service)
{
    return refkernel_call(service, IRQClearIRQHandler, 0, 0, 0, 0, 0, 0);
}

#include <sel4/sel4_arch/invocations.h>

#endif
