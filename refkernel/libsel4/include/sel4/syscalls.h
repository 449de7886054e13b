/* SPDX-License-Identifier: BSD-2-Clause
 *
 * System calls. One function of the architecture, refkernel_syscall, enters the kernel. struct
 * refkernel_registers tells what the registers carry. The first four message words are in
 * registers, the others in the IPC buffer. */
#ifndef REFKERNEL_SEL4_SYSCALLS_H
#define REFKERNEL_SEL4_SYSCALLS_H

#include <sel4/types.h>

extern __thread seL4_IPCBuffer *__sel4_ipc_buffer;

struct refkernel_registers {
    seL4_Word cap; /* in: the capability invoked; out: the badge received */
    seL4_Word info;
    seL4_Word mr[seL4_FastMessageRegisters];
};

#include <sel4/sel4_arch/syscalls.h>

LIBSEL4_INLINE_FUNC void seL4_SetIPCBuffer(seL4_IPCBuffer *buffer)
{
    __sel4_ipc_buffer = buffer;
}

LIBSEL4_INLINE_FUNC seL4_IPCBuffer *seL4_GetIPCBuffer(void)
{
    return __sel4_ipc_buffer;
}

LIBSEL4_INLINE_FUNC seL4_Word seL4_GetMR(int i)
{
    return seL4_GetIPCBuffer()->msg[i];
}

LIBSEL4_INLINE_FUNC void seL4_SetMR(int i, seL4_Word value)
{
    seL4_GetIPCBuffer()->msg[i] = value;
}

LIBSEL4_INLINE_FUNC seL4_Word seL4_GetBadge(int i)
{
    return seL4_GetIPCBuffer()->caps_or_badges[i];
}

LIBSEL4_INLINE_FUNC void seL4_SetCap(int i, seL4_CPtr cap)
{
    seL4_GetIPCBuffer()->caps_or_badges[i] = cap;
}

LIBSEL4_INLINE_FUNC seL4_CPtr seL4_GetCap(int i)
{
    return seL4_GetIPCBuffer()->caps_or_badges[i];
}

LIBSEL4_INLINE_FUNC seL4_Word seL4_GetUserData(void)
{
    return seL4_GetIPCBuffer()->userData;
}

LIBSEL4_INLINE_FUNC void seL4_SetUserData(seL4_Word data)
{
    seL4_GetIPCBuffer()->userData = data;
}

LIBSEL4_INLINE_FUNC void seL4_SetCapReceivePath(seL4_CPtr cnode, seL4_CPtr index, seL4_Word depth)
{
    seL4_IPCBuffer *buffer = seL4_GetIPCBuffer();
    buffer->receiveCNode = cnode;
    buffer->receiveIndex = index;
    buffer->receiveDepth = depth;
}

/* Copy the first message words between the IPC buffer and registers. */
LIBSEL4_INLINE_FUNC void refkernel_load(struct refkernel_registers *r)
{
    for (int i = 0; i < seL4_FastMessageRegisters; i++) {
        r->mr[i] = seL4_GetMR(i);
    }
}

LIBSEL4_INLINE_FUNC void refkernel_store(const struct refkernel_registers *r)
{
    for (int i = 0; i < seL4_FastMessageRegisters; i++) {
        seL4_SetMR(i, r->mr[i]);
    }
}

LIBSEL4_INLINE_FUNC void refkernel_load_words(struct refkernel_registers *r,
                                              const seL4_Word *const mr[4])
{
    for (int i = 0; i < seL4_FastMessageRegisters; i++) {
        r->mr[i] = mr[i] != 0 ? *mr[i] : 0;
    }
}

LIBSEL4_INLINE_FUNC void refkernel_store_words(const struct refkernel_registers *r,
                                               seL4_Word *const mr[4])
{
    for (int i = 0; i < seL4_FastMessageRegisters; i++) {
        if (mr[i] != 0) {
            *mr[i] = r->mr[i];
        }
    }
}

LIBSEL4_INLINE_FUNC void refkernel_send(seL4_Syscall_ID call, seL4_CPtr dest,
                                        seL4_MessageInfo_t info)
{
    struct refkernel_registers r = {dest, info.words[0], {0}};
    refkernel_load(&r);
    refkernel_syscall(call, &r);
}

LIBSEL4_INLINE_FUNC seL4_MessageInfo_t refkernel_receive(seL4_Syscall_ID call, seL4_CPtr from,
                                                         seL4_Word *sender)
{
    struct refkernel_registers r = {from, 0, {0}};
    refkernel_syscall(call, &r);
    refkernel_store(&r);
    if (sender != 0) {
        *sender = r.cap;
    }
    return (seL4_MessageInfo_t){{r.info}};
}

LIBSEL4_INLINE_FUNC void seL4_Send(seL4_CPtr dest, seL4_MessageInfo_t info)
{
    refkernel_send(seL4_SysSend, dest, info);
}

LIBSEL4_INLINE_FUNC void seL4_NBSend(seL4_CPtr dest, seL4_MessageInfo_t info)
{
    refkernel_send(seL4_SysNBSend, dest, info);
}

LIBSEL4_INLINE_FUNC void seL4_Reply(seL4_MessageInfo_t info)
{
    refkernel_send(seL4_SysReply, 0, info);
}

/* Does not use the IPC buffer. */
LIBSEL4_INLINE_FUNC void seL4_Signal(seL4_CPtr dest)
{
    struct refkernel_registers r = {dest, 0, {0}};
    refkernel_syscall(seL4_SysSend, &r);
}

LIBSEL4_INLINE_FUNC seL4_MessageInfo_t seL4_Recv(seL4_CPtr from, seL4_Word *sender)
{
    return refkernel_receive(seL4_SysRecv, from, sender);
}

LIBSEL4_INLINE_FUNC seL4_MessageInfo_t seL4_NBRecv(seL4_CPtr from, seL4_Word *sender)
{
    return refkernel_receive(seL4_SysNBRecv, from, sender);
}

LIBSEL4_INLINE_FUNC seL4_MessageInfo_t seL4_Wait(seL4_CPtr from, seL4_Word *sender)
{
    return seL4_Recv(from, sender);
}

LIBSEL4_INLINE_FUNC seL4_MessageInfo_t seL4_Poll(seL4_CPtr from, seL4_Word *sender)
{
    return seL4_NBRecv(from, sender);
}

/* The functions with message words as arguments do not use the IPC buffer. A null pointer means
 * that the caller does not want this word. */
LIBSEL4_INLINE_FUNC seL4_MessageInfo_t seL4_RecvWithMRs(seL4_CPtr from, seL4_Word *sender,
                                                        seL4_Word *mr0, seL4_Word *mr1,
                                                        seL4_Word *mr2, seL4_Word *mr3)
{
    struct refkernel_registers r = {from, 0, {0}};
    refkernel_syscall(seL4_SysRecv, &r);
    refkernel_store_words(&r, (seL4_Word *const[4]){mr0, mr1, mr2, mr3});
    if (sender != 0) {
        *sender = r.cap;
    }
    return (seL4_MessageInfo_t){{r.info}};
}

LIBSEL4_INLINE_FUNC void refkernel_send_words(seL4_Syscall_ID call, seL4_CPtr dest,
                                              seL4_MessageInfo_t info, const seL4_Word *const mr[4])
{
    struct refkernel_registers r = {dest, info.words[0], {0}};
    refkernel_load_words(&r, mr);
    refkernel_syscall(call, &r);
}

LIBSEL4_INLINE_FUNC void seL4_SendWithMRs(seL4_CPtr dest, seL4_MessageInfo_t info, seL4_Word *mr0,
                                          seL4_Word *mr1, seL4_Word *mr2, seL4_Word *mr3)
{
    refkernel_send_words(seL4_SysSend, dest, info, (const seL4_Word *const[4]){mr0, mr1, mr2, mr3});
}

LIBSEL4_INLINE_FUNC void seL4_NBSendWithMRs(seL4_CPtr dest, seL4_MessageInfo_t info, seL4_Word *mr0,
                                            seL4_Word *mr1, seL4_Word *mr2, seL4_Word *mr3)
{
    refkernel_send_words(seL4_SysNBSend, dest, info,
                         (const seL4_Word *const[4]){mr0, mr1, mr2, mr3});
}

LIBSEL4_INLINE_FUNC void seL4_ReplyWithMRs(seL4_MessageInfo_t info, seL4_Word *mr0, seL4_Word *mr1,
                                           seL4_Word *mr2, seL4_Word *mr3)
{
    refkernel_send_words(seL4_SysReply, 0, info, (const seL4_Word *const[4]){mr0, mr1, mr2, mr3});
}

LIBSEL4_INLINE_FUNC seL4_MessageInfo_t seL4_CallWithMRs(seL4_CPtr dest, seL4_MessageInfo_t info,
                                                        seL4_Word *mr0, seL4_Word *mr1,
                                                        seL4_Word *mr2, seL4_Word *mr3)
{
    struct refkernel_registers r = {dest, info.words[0], {0}};
    refkernel_load_words(&r, (const seL4_Word *const[4]){mr0, mr1, mr2, mr3});
    refkernel_syscall(seL4_SysCall, &r);
    refkernel_store_words(&r, (seL4_Word *const[4]){mr0, mr1, mr2, mr3});
    return (seL4_MessageInfo_t){{r.info}};
}

LIBSEL4_INLINE_FUNC seL4_MessageInfo_t seL4_ReplyRecvWithMRs(seL4_CPtr from,
                                                             seL4_MessageInfo_t info,
                                                             seL4_Word *sender, seL4_Word *mr0,
                                                             seL4_Word *mr1, seL4_Word *mr2,
                                                             seL4_Word *mr3)
{
    struct refkernel_registers r = {from, info.words[0], {0}};
    refkernel_load_words(&r, (const seL4_Word *const[4]){mr0, mr1, mr2, mr3});
    refkernel_syscall(seL4_SysReplyRecv, &r);
    refkernel_store_words(&r, (seL4_Word *const[4]){mr0, mr1, mr2, mr3});
    if (sender != 0) {
        *sender = r.cap;
    }
    return (seL4_MessageInfo_t){{r.info}};
}

LIBSEL4_INLINE_FUNC seL4_MessageInfo_t seL4_Call(seL4_CPtr dest, seL4_MessageInfo_t info)
{
    struct refkernel_registers r = {dest, info.words[0], {0}};
    refkernel_load(&r);
    refkernel_syscall(seL4_SysCall, &r);
    refkernel_store(&r);
    return (seL4_MessageInfo_t){{r.info}};
}

LIBSEL4_INLINE_FUNC seL4_MessageInfo_t seL4_ReplyRecv(seL4_CPtr from, seL4_MessageInfo_t info,
                                                      seL4_Word *sender)
{
    struct refkernel_registers r = {from, info.words[0], {0}};
    refkernel_load(&r);
    refkernel_syscall(seL4_SysReplyRecv, &r);
    refkernel_store(&r);
    if (sender != 0) {
        *sender = r.cap;
    }
    return (seL4_MessageInfo_t){{r.info}};
}

LIBSEL4_INLINE_FUNC void refkernel_plain(seL4_Syscall_ID call, seL4_Word argument)
{
    struct refkernel_registers r = {argument, 0, {0}};
    refkernel_syscall(call, &r);
}

LIBSEL4_INLINE_FUNC void seL4_Yield(void)
{
    refkernel_plain(seL4_SysYield, 0);
}

LIBSEL4_INLINE_FUNC void seL4_DebugPutChar(char c)
{
    refkernel_plain(seL4_SysDebugPutChar, (seL4_Word)(unsigned char)c);
}

LIBSEL4_INLINE_FUNC void seL4_DebugPutString(char *text)
{
    for (; *text != '\0'; text++) {
        seL4_DebugPutChar(*text);
    }
}

LIBSEL4_INLINE_FUNC void seL4_DebugHalt(void)
{
    refkernel_plain(seL4_SysDebugHalt, 0);
}

LIBSEL4_INLINE_FUNC void seL4_DebugSnapshot(void)
{
    refkernel_plain(seL4_SysDebugSnapshot, 0);
}

LIBSEL4_INLINE_FUNC void seL4_DebugDumpScheduler(void)
{
    refkernel_plain(seL4_SysDebugDumpScheduler, 0);
}

LIBSEL4_INLINE_FUNC seL4_Uint32 seL4_DebugCapIdentify(seL4_CPtr cap)
{
    struct refkernel_registers r = {cap, 0, {0}};
    refkernel_syscall(seL4_SysDebugCapIdentify, &r);
    return (seL4_Uint32)r.cap;
}

/* The name is sent in the IPC buffer. */
LIBSEL4_INLINE_FUNC void seL4_DebugNameThread(seL4_CPtr tcb, const char *name)
{
    char *out = (char *)seL4_GetIPCBuffer()->msg;
    unsigned at = 0;
    for (; name[at] != '\0' && at < seL4_MsgMaxLength * sizeof(seL4_Word) - 1; at++) {
        out[at] = name[at];
    }
    out[at] = '\0';
    refkernel_plain(seL4_SysDebugNameThread, tcb);
}

#endif
