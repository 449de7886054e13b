/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The part of libsel4 that refkernel supports. */
#ifndef REFKERNEL_SEL4_SEL4_H
#define REFKERNEL_SEL4_SEL4_H

#include <sel4/types.h>
#include <sel4/syscalls.h>
#include <sel4/invocations.h>

#endif
