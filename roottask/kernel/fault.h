/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads fault messages. On every architecture, libsel4 gives their fields the same names. */
#ifndef CELLREAP_SEL4_FAULT_H
#define CELLREAP_SEL4_FAULT_H

#include "compat.h"
#include <cellreap/protocol.h>

/* Reads a fault message from the IPC buffer. `address` is the address accessed, the capability
 * address, the number of the exception (on aarch64 its syndrome), the number of the system call or
 * whose time was used up (cr_give_time). `ip` is nothing for this one: the message has none.
 * Returns 0 if the message is not a known fault. */
int cr_decode_fault(seL4_MessageInfo_t tag, cr_fault_kind *kind, uint64_t *address, uint64_t *ip);

#endif
