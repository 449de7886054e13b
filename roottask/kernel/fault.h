/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Fault messages, as the kernel sends them to whoever handles a thread's faults: the root task, or a PD. libsel4
 * gives the fields the same names on every architecture. */
#ifndef CELLREAP_SEL4_FAULT_H
#define CELLREAP_SEL4_FAULT_H

#include "compat.h"
#include <cellreap/protocol.h>

/* Reads a fault message out of the IPC buffer. `address`: the address accessed, the capability address, the
 * exception's number (aarch64: its syndrome), or the system call's number. Returns 0 if the message is no fault
 * that is known. */
int cr_decode_fault(seL4_MessageInfo_t tag, cr_fault_kind *kind, uint64_t *address, uint64_t *ip);

#endif
