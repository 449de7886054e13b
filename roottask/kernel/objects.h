/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Counts kernel objects by kind, where they are made and where they are destroyed. It counts a
 * retype that the kernel carried out, an ASID that it assigned, an interrupt handler that it gave,
 * a revoked untyped, a deleted object. So the sums show what a cleanup leaves behind.
 *
 * Not counted: untypeds, which the allocator counts, the objects that the kernel gave at boot, and
 * the CNodes of the root task's CSpace. */
#ifndef CELLREAP_SEL4_OBJECTS_H
#define CELLREAP_SEL4_OBJECTS_H

#include "kernel.h"
#include <cellreap/trace_events.h>

typedef struct cr_objects {
    uint64_t of[CR_OBJECT_COUNT];
} cr_objects;

/* Makes the table of what was made of each block. Of blocks that were in use before, nothing is
 * known. */
void cr_objects_tables(void);
/* All that there are. */
extern cr_objects cr_objects_used;

/* Objects of this seL4 type were retyped from this untyped. */
void cr_objects_retyped(seL4_CPtr untyped, seL4_Word type, uint32_t count);
/* One object that is retyped from nothing. It goes with the block. CR_BLOCK_NONE: with none. */
void cr_objects_add(uint32_t block, cr_object kind);
/* The objects of this kind of the block were destroyed. To say it again has no effect. */
void cr_objects_remove(uint32_t block, cr_object kind);
/* The block was revoked: all its objects were destroyed. */
void cr_objects_revoked(uint32_t block);
/* What was made of a block and is there. */
const cr_objects *cr_objects_of(uint32_t block);

#endif
