/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The only file that includes <sel4/sel4.h>, for the root task and the PDs, and the only one that knows what
 * differs between versions of seL4 (13.0 and later, non-MCS).
 *
 * libsel4 keeps the address of the IPC buffer in a thread-local variable (since 15.0 only if its configuration
 * says so, before that always). Every address space of ours has one thread that uses the IPC buffer, so a
 * plain variable does, and nobody needs a TLS area: the storage class is taken out of its declaration. */
#ifndef CELLREAP_SEL4_COMPAT_H
#define CELLREAP_SEL4_COMPAT_H

#include <sel4/config.h>

/* libsel4's own headers convert signs freely. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define __thread
#include <sel4/sel4.h>
#undef __thread
#pragma GCC diagnostic pop

#ifdef CONFIG_KERNEL_MCS
#error "MCS kernels are not supported"
#endif
#ifndef CONFIG_PRINTING
#error "the kernel must be built with printing (KernelPrinting)"
#endif
#if CONFIG_MAX_NUM_NODES != 1
#error "SMP kernels are not supported: quiescence is found by priority on one core (KernelMaxNumNodes)"
#endif

#endif
