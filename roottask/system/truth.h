/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The kernel's word: what capabilities there are, asked of the kernel and not of the model. The
 * trace has the answers, and the host compares them with the model that it keeps.
 *
 * To ask changes nothing that a PD or the allocator could notice: no object is made, no capability
 * of a PD is copied, and no untyped is used up. */
#ifndef CELLREAP_SEL4_TRUTH_H
#define CELLREAP_SEL4_TRUTH_H

#include "system.h"

/* What snapshots cost: a block with room for 2^CR_PROBES_BITS probes and one address space, and a
 * slot for each of them. */
enum { CR_PROBES_BITS = 7 + CELLREAP_DOUBLINGS };
/* A kernel keeps 256 CSpaces and address spaces of a snapshot and the next one in mind: two of each
 * PD, and two for the pool. So a snapshot is always taken while at most as many PDs were ever
 * created, with the root task. */
enum { CR_SEEN_MAX = 128 };

/* Prepares what is needed, if the configuration asks for the kernel's word. `notification`: one of
 * the root task's. */
void cr_truth_init(seL4_CPtr notification);

/* The name of a PD's thread for the kernel: that of the PD, or the one that keeps it out of
 * snapshots. */
const char *cr_truth_thread_name(const char *name);

/* Puts into the trace what the kernel says. Does nothing if the configuration does not ask for it.
 * It must be called when the trace says everything about the state of the kernel's objects: between
 * operations, before a PD is stopped, and after a cleanup. The first call must come before any PD
 * runs. */
void cr_truth(void);

#endif
