/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The calls of a debug kernel (KernelDebugBuild). Another kernel has none of them: then names are
 * not given, and the tools build no image that asks for the rest. */
#ifndef CELLREAP_SEL4_DEBUG_H
#define CELLREAP_SEL4_DEBUG_H

#include "kernel/kernel.h"

static inline void cr_debug_name(seL4_CPtr tcb, const char *name)
{
#ifdef CONFIG_DEBUG_BUILD
    seL4_DebugNameThread(tcb, name);
#else
    (void)tcb;
    (void)name;
#endif
}

/* Stops the machine if the kernel can. Otherwise it returns. */
static inline void cr_debug_halt(void)
{
#ifdef CONFIG_DEBUG_BUILD
    seL4_DebugHalt();
#endif
}

/* The kernel's number for the type of a capability. */
static inline uint32_t cr_debug_identify(seL4_CPtr cap)
{
#ifdef CONFIG_DEBUG_BUILD
    return seL4_DebugCapIdentify(cap);
#else
    cr_panic("this kernel does not tell the types of capabilities", cap);
#endif
}

/* The kernel prints all objects and capabilities. */
static inline void cr_debug_snapshot(void)
{
#ifdef CONFIG_DEBUG_BUILD
    seL4_DebugSnapshot();
#else
    cr_panic("this kernel prints no snapshot", 0);
#endif
}

/* The kernel prints all threads. */
static inline void cr_debug_threads(void)
{
#ifdef CONFIG_PRINTING
    seL4_DebugDumpScheduler();
#else
    cr_panic("this kernel prints no list of threads", 0);
#endif
}

#endif
