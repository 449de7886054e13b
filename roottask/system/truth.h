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

/* A kernel keeps 256 CSpaces and address spaces of a snapshot and the next one in mind: two of each
 * PD, and two for the pool. So a snapshot is always taken while at most as many PDs were ever
 * created, with the root task. */
enum { CR_SEEN_MAX = 128 };

/* The probes that this image needs: one for each place that a PD can have, and the pool's at the
 * root task's. */
uint32_t cr_probes_needed(const cr_image_header *image);
/* Prepares what is needed, if the configuration asks for the kernel's word. `notification`: one of
 * the root task's. */
void cr_truth_init(seL4_CPtr notification);

/* Keeps a thread out of snapshots for good. It must be called before a PD is stopped: if its thread
 * stayed, a snapshot would stop the kernel in an assertion. */
void cr_truth_leave_out(seL4_CPtr tcb);

typedef enum cr_truth_when {
    CR_TRUTH_FIRST, /* before any PD runs */
    CR_TRUTH_BETWEEN,
    CR_TRUTH_LAST
} cr_truth_when;

/* Puts into the trace what the kernel says. Does nothing if the configuration does not ask for it.
 * It must be called when the trace says everything about the state of the kernel's objects: between
 * operations, before a PD is stopped, and after a cleanup. Unless the configuration asks for all,
 * there are snapshots only at the first and the last call, and no slots are looked into that the
 * root task never used: to look into all of its slots takes longer than the rest of a small run. */
void cr_truth(cr_truth_when when);

#endif
