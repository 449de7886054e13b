/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The sleeper: a thread of the root task that signals a notification after a given time. A kernel
 * with scheduling contexts (MCS) needs no device for that, where it is exact (CR_MCS_IS_EXACT). The
 * thread uses up its budget at once, and the kernel has it run again when its period is over: the
 * period is the time that was set.
 *
 * The functions do what those of timer.h do. Only timer.c may call them. */
#ifndef CELLREAP_SEL4_SLEEPER_H
#define CELLREAP_SEL4_SLEEPER_H

#include "kernel.h"
#include <cellreap/status.h>

enum { CR_SLEEPER_SLOTS = 2 }; /* its TCB and the signal; its scheduling context comes on top */

cr_status cr_sleeper_init(seL4_CPtr notification, seL4_Word badge);
uint64_t cr_sleeper_start(uint64_t ns);
uint64_t cr_sleeper_elapsed(void);

#endif
