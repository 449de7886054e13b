/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The differences between versions of seL4 (13.0 and later), and between kernels with scheduling
 * contexts (MCS) and without, for the root task and the PDs. No other file may include
 * <sel4/sel4.h> or depend on a version of seL4.
 *
 * libsel4 keeps the address of the IPC buffer in a thread-local variable. Before version 15.0 it
 * always does so. Since 15.0 it does so only if its configuration says so. No thread of this
 * project has a TLS area, so this file removes the storage class from the declaration. In the root
 * task only one thread at a time uses an IPC buffer (worker.h), so a plain variable is sufficient.
 * A PD finds the address in the startup page of the thread that runs: its declaration becomes that
 * of the function which returns the place. */
#ifndef CELLREAP_SEL4_COMPAT_H
#define CELLREAP_SEL4_COMPAT_H

#include <sel4/config.h>
#include <stddef.h>
#include <stdint.h>

/* libsel4's own headers convert signs implicitly. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifdef CELLREAP_ROOT_TASK
/* A root task that includes the component may have libsel4's variable too, of either class. */
#define __sel4_ipc_buffer cr_ipc_buffer
#else
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <cellreap/protocol.h>
#include <sel4/types.h>
extern inline __attribute__((gnu_inline, always_inline)) seL4_IPCBuffer **cr_ipc_buffer_place(void)
{
    const uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
    return (seL4_IPCBuffer **)((stack >> CR_THREAD_SPAN_BITS << CR_THREAD_SPAN_BITS) +
                               offsetof(cr_startup, ipc_buffer));
}
#define __sel4_ipc_buffer (*cr_ipc_buffer_place())
#endif
#define __thread
#include <sel4/sel4.h>
#undef __thread
#pragma GCC diagnostic pop

#if CONFIG_MAX_NUM_NODES != 1
#error                                                                                             \
    "SMP kernels are not supported: quiescence is found by priority on one core (KernelMaxNumNodes)"
#endif

/* Whether an interrupt waits until the last one was acknowledged. For QEMU's virt machine of
 * riscv64 the kernel tells the interrupt controller that it is done as soon as it has signalled,
 * and an acknowledgement does nothing. */
#ifdef CONFIG_PLAT_QEMU_RISCV_VIRT
enum { CR_INTERRUPTS_WAIT = 0 };
#else
enum { CR_INTERRUPTS_WAIT = 1 };
#endif

/* With MCS, who receives a call names the reply object that keeps its caller, and answers with it.
 * Without, the kernel keeps the caller in the thread. `reply` is 0 then. */
#ifdef CONFIG_KERNEL_MCS
#define CR_WITH_MCS(...) __VA_ARGS__ /* rows of a table that only such a kernel has */
enum {
    CR_MCS = 1,
    CR_SC_OBJECT = seL4_SchedContextObject,
    CR_SC_BITS = seL4_MinSchedContextBits,
    CR_REPLY_OBJECT = seL4_ReplyObject,
    CR_REPLY_BITS = seL4_ReplyBits,
    CR_SYS_WAIT = seL4_SysWait, /* without a place for a caller */
    CR_SYS_NBSEND_RECV = seL4_SysNBSendRecv,
    CR_SYS_NBSEND_WAIT = seL4_SysNBSendWait,
    CR_SLICE_US = CONFIG_BOOT_THREAD_TIME_SLICE * 1000, /* that of the root task's first thread */
    CR_BUDGET_MIN_US = 20 * CONFIG_KERNEL_WCET_SCALE,   /* the kernel refuses less */
    CR_SPORADIC = seL4_SchedContext_Sporadic,
    CR_TIMEOUT_FAULT = seL4_Fault_Timeout, /* the label */
    CR_TIMEOUT_PAYER = seL4_Timeout_Data   /* the word with the badge of the scheduling context */
};

static inline seL4_MessageInfo_t cr_recv(seL4_CPtr from, seL4_Word *badge, seL4_CPtr reply)
{
    return seL4_Recv(from, badge, reply);
}

static inline seL4_MessageInfo_t cr_nb_recv(seL4_CPtr from, seL4_Word *badge, seL4_CPtr reply)
{
    return seL4_NBRecv(from, badge, reply);
}

static inline seL4_MessageInfo_t cr_recv_with(seL4_CPtr from, seL4_Word *badge, seL4_Word words[4],
                                              seL4_CPtr reply)
{
#ifdef CONFIG_ARCH_X86 /* The order of the parameters differs. */
    return seL4_RecvWithMRs(from, badge, &words[0], &words[1], &words[2], &words[3], reply);
#else
    return seL4_RecvWithMRs(from, badge, reply, &words[0], &words[1], &words[2], &words[3]);
#endif
}

static inline void cr_reply(seL4_CPtr reply, seL4_MessageInfo_t answer)
{
    seL4_Send(reply, answer);
}

static inline seL4_MessageInfo_t cr_reply_recv(seL4_CPtr from, seL4_MessageInfo_t answer,
                                               seL4_Word *badge, seL4_CPtr reply)
{
    return seL4_ReplyRecv(from, answer, badge, reply);
}

/* The same two with a word in a register. They use no IPC buffer. */
static inline void cr_reply_with(seL4_CPtr reply, seL4_MessageInfo_t answer, seL4_Word word)
{
    seL4_SendWithMRs(reply, answer, &word, 0, 0, 0);
}

static inline seL4_MessageInfo_t cr_reply_recv_with(seL4_CPtr from, seL4_MessageInfo_t answer,
                                                    seL4_Word *badge, seL4_Word *word,
                                                    seL4_CPtr reply)
{
    return seL4_ReplyRecvWithMRs(from, answer, badge, word, 0, 0, 0, reply);
}

/* Waits for a signal. Uses no IPC buffer. */
static inline void cr_wait_for(seL4_CPtr notification)
{
    seL4_Word badge;
    (void)seL4_WaitWithMRs(notification, &badge, 0, 0, 0, 0);
}

/* `fault`: of the fault endpoint, in the CSpace of the thread; cr_set_priority takes it here. */
static inline seL4_Error cr_set_spaces(seL4_CPtr tcb, seL4_CPtr fault, seL4_CPtr cnode,
                                       seL4_Word data, seL4_CPtr vspace, seL4_Word buffer,
                                       seL4_CPtr frame)
{
    (void)fault;
    return (seL4_Error)seL4_TCB_Configure(tcb, cnode, data, vspace, 0, buffer, frame);
}

/* `fault`: of the fault endpoint, in the CSpace of the caller. */
static inline seL4_Error cr_set_priority(seL4_CPtr tcb, seL4_Word priority, seL4_CPtr sc,
                                         seL4_CPtr fault)
{
    return (seL4_Error)seL4_TCB_SetSchedParams(tcb, seL4_CapInitThreadTCB, 0, priority, sc, fault);
}

static inline seL4_Error cr_set_time(seL4_CPtr control, seL4_CPtr sc, uint32_t budget_us,
                                     uint32_t period_us, seL4_Word badge, seL4_Word flags)
{
    return (seL4_Error)seL4_SchedControl_ConfigureFlags(control, sc, budget_us, period_us, 0, badge,
                                                        flags);
}

static inline seL4_Error cr_set_timeout(seL4_CPtr tcb, seL4_CPtr fault)
{
    return (seL4_Error)seL4_TCB_SetTimeoutEndpoint(tcb, fault);
}

/* `to`: a thread or a notification. */
static inline seL4_Error cr_bind_sc(seL4_CPtr sc, seL4_CPtr to)
{
    return (seL4_Error)seL4_SchedContext_Bind(sc, to);
}

static inline seL4_Error cr_unbind_sc(seL4_CPtr sc, seL4_CPtr from)
{
    return (seL4_Error)seL4_SchedContext_UnbindObject(sc, from);
}

/* In microseconds, since the last call. */
static inline uint64_t cr_sc_used(seL4_CPtr sc)
{
    return seL4_SchedContext_Consumed(sc).consumed;
}

/* Never changes anything: no thread is a fault handler. That is refused only after the scheduling
 * context is, which the thread must have, or can be given. */
static inline seL4_Error cr_ask_sc(seL4_CPtr sc, seL4_CPtr tcb)
{
    return (seL4_Error)seL4_TCB_SetSchedParams(tcb, seL4_CapInitThreadTCB, 0, 0, sc,
                                               seL4_CapInitThreadTCB);
}

static inline seL4_CPtr cr_sched_control(const seL4_BootInfo *info)
{
    return info->schedcontrol.start;
}

static inline seL4_Error cr_save_reply(seL4_CPtr root, seL4_Word index, uint8_t depth)
{
    (void)root, (void)index, (void)depth;
    return seL4_IllegalOperation; /* The reply object is the caller's place: nothing is saved. */
}
#else
#define CR_WITH_MCS(...)
/* No object has these types. */
enum { CR_MCS = 0, CR_SC_OBJECT = -1, CR_SC_BITS = 0, CR_REPLY_OBJECT = -1, CR_REPLY_BITS = 0 };
enum { CR_SYS_WAIT = seL4_SysRecv, CR_SYS_NBSEND_RECV = seL4_SysRecv };
enum {
    CR_SYS_NBSEND_WAIT = seL4_SysRecv,
    CR_SLICE_US = 0,
    CR_TIMEOUT_FAULT = -1,
    CR_TIMEOUT_PAYER = 0
};
enum { CR_BUDGET_MIN_US = 0, CR_SPORADIC = 0 };

static inline seL4_MessageInfo_t cr_recv(seL4_CPtr from, seL4_Word *badge, seL4_CPtr reply)
{
    (void)reply;
    return seL4_Recv(from, badge);
}

static inline seL4_MessageInfo_t cr_nb_recv(seL4_CPtr from, seL4_Word *badge, seL4_CPtr reply)
{
    (void)reply;
    return seL4_NBRecv(from, badge);
}

static inline seL4_MessageInfo_t cr_recv_with(seL4_CPtr from, seL4_Word *badge, seL4_Word words[4],
                                              seL4_CPtr reply)
{
    (void)reply;
    return seL4_RecvWithMRs(from, badge, &words[0], &words[1], &words[2], &words[3]);
}

static inline void cr_reply(seL4_CPtr reply, seL4_MessageInfo_t answer)
{
    (void)reply;
    seL4_Reply(answer);
}

static inline seL4_MessageInfo_t cr_reply_recv(seL4_CPtr from, seL4_MessageInfo_t answer,
                                               seL4_Word *badge, seL4_CPtr reply)
{
    (void)reply;
    return seL4_ReplyRecv(from, answer, badge);
}

static inline void cr_reply_with(seL4_CPtr reply, seL4_MessageInfo_t answer, seL4_Word word)
{
    (void)reply;
    seL4_ReplyWithMRs(answer, &word, 0, 0, 0);
}

static inline seL4_MessageInfo_t cr_reply_recv_with(seL4_CPtr from, seL4_MessageInfo_t answer,
                                                    seL4_Word *badge, seL4_Word *word,
                                                    seL4_CPtr reply)
{
    (void)reply;
    return seL4_ReplyRecvWithMRs(from, answer, badge, word, 0, 0, 0);
}

/* Waits for a signal. Uses no IPC buffer. */
static inline void cr_wait_for(seL4_CPtr notification)
{
    seL4_Word badge;
    (void)seL4_RecvWithMRs(notification, &badge, 0, 0, 0, 0);
}

static inline seL4_Error cr_set_spaces(seL4_CPtr tcb, seL4_CPtr fault, seL4_CPtr cnode,
                                       seL4_Word data, seL4_CPtr vspace, seL4_Word buffer,
                                       seL4_CPtr frame)
{
    return (seL4_Error)seL4_TCB_Configure(tcb, fault, cnode, data, vspace, 0, buffer, frame);
}

static inline seL4_Error cr_set_priority(seL4_CPtr tcb, seL4_Word priority, seL4_CPtr sc,
                                         seL4_CPtr fault)
{
    (void)sc, (void)fault;
    return (seL4_Error)seL4_TCB_SetSchedParams(tcb, seL4_CapInitThreadTCB, 0, priority);
}

static inline seL4_Error cr_set_time(seL4_CPtr control, seL4_CPtr sc, uint32_t budget_us,
                                     uint32_t period_us, seL4_Word badge, seL4_Word flags)
{
    (void)control, (void)sc, (void)budget_us, (void)period_us, (void)badge, (void)flags;
    return seL4_NoError;
}

static inline seL4_Error cr_set_timeout(seL4_CPtr tcb, seL4_CPtr fault)
{
    (void)tcb, (void)fault;
    return seL4_NoError;
}

static inline seL4_Error cr_bind_sc(seL4_CPtr sc, seL4_CPtr to)
{
    (void)sc, (void)to;
    return seL4_IllegalOperation;
}

static inline seL4_Error cr_unbind_sc(seL4_CPtr sc, seL4_CPtr from)
{
    (void)sc, (void)from;
    return seL4_IllegalOperation;
}

static inline uint64_t cr_sc_used(seL4_CPtr sc)
{
    (void)sc;
    return 0;
}

static inline seL4_Error cr_ask_sc(seL4_CPtr sc, seL4_CPtr tcb)
{
    (void)sc, (void)tcb;
    return seL4_IllegalOperation;
}

static inline seL4_CPtr cr_sched_control(const seL4_BootInfo *info)
{
    (void)info;
    return 0;
}

static inline seL4_Error cr_save_reply(seL4_CPtr root, seL4_Word index, uint8_t depth)
{
    return (seL4_Error)seL4_CNode_SaveCaller(root, index, depth);
}
#endif

#endif
