/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The differences between versions of seL4 (13.0 and later, non-MCS), for the root task and the
 * PDs. No other file may include <sel4/sel4.h> or depend on a version of seL4.
 *
 * libsel4 keeps the address of the IPC buffer in a thread-local variable. Before version 15.0 it
 * always does so. Since 15.0 it does so only if its configuration says so. In each address space of
 * this project only one thread at a time uses an IPC buffer (worker.h), so a plain variable is
 * sufficient and no thread needs a TLS area. This file therefore removes the storage class from
 * the declaration. */
#ifndef CELLREAP_SEL4_COMPAT_H
#define CELLREAP_SEL4_COMPAT_H

#include <sel4/config.h>

/* libsel4's own headers convert signs implicitly. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifdef CELLREAP_ROOT_TASK
/* A root task that includes the component may have libsel4's variable too, of either class. */
#define __sel4_ipc_buffer cr_ipc_buffer
#endif
#define __thread
#include <sel4/sel4.h>
#undef __thread
#pragma GCC diagnostic pop

#ifdef CONFIG_KERNEL_MCS
#error "MCS kernels are not supported"
#endif
#if CONFIG_MAX_NUM_NODES != 1
#error \
    "SMP kernels are not supported: quiescence is found by priority on one core (KernelMaxNumNodes)"
#endif

#endif
