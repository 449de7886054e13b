/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What is known of destroyed PDs and spaces while somebody refers to them (docs/semantics.md,
 * "Tombstones"). A PD refers to a destroyed node from the first notice about its loss that is
 * queued to the PD until the PD has finished the last of them.
 *
 * A tombstone keeps its entry in the model. Beside the entries for what lives, the model has some
 * for them, and each PD refers to at most CR_TOMBSTONES_EACH. So tombstones take no room from what
 * lives, and no PD takes any from another one. */
#ifndef CELLREAP_SYSTEM_TOMBSTONES_H
#define CELLREAP_SYSTEM_TOMBSTONES_H

#include "kernel/arch/arch.h"
#include "kernel/tables.h"
#include <cellreap/limits.h>
#include <cellreap/model.h>
#include <cellreap/protocol.h>
#include <cellreap/work.h>

/* The entries for nodes in the model. */
static inline uint32_t cr_node_entries(void)
{
    return cr_most.nodes + cr_most.tombstones;
}

/* The tombstones that are kept, and those of nodes whose cleanup is under way. */
static inline uint32_t cr_tombstone_entries(void)
{
    return cr_most.tombstones + cr_most.pds + cr_most.spaces;
}

/* How a PD went down. */
typedef struct cr_end_of {
    cr_ending how;
    uint64_t code; /* of EXIT */
    int faulted;
    cr_fault_kind kind; /* of its last fault */
    uint64_t address;
    uint64_t ip;
    seL4_UserContext registers;
} cr_end_of;

typedef struct cr_tombstone {
    int used;
    cr_ref node;
    int is_pd;
    uint32_t number;
    uint32_t refs; /* PDs that refer to it */
    int settled;   /* its cleanup has settled */
    char name[CR_NAME_BYTES];
    char type[CR_TYPE_BYTES];
    cr_end_of end;
} cr_tombstone;

/* One PD refers to one tombstone. */
typedef struct cr_tombstone_ref {
    uint32_t entry;   /* plus 1; 0: none */
    uint32_t notices; /* about it that the PD has not finished */
    uint64_t since;   /* the token of the first of them */
} cr_tombstone_ref;

typedef struct cr_tombstones {
    cr_tombstone *at;
    uint16_t *of_node;                            /* by index of a node: entry plus 1; 0: none */
    uint32_t used;                                /* no entry behind these was ever used */
    uint32_t due;                                 /* settled, and nobody refers to them */
    cr_end_of *ends;                              /* of the PDs that exist, by index */
    cr_tombstone_ref (*refs)[CR_TOMBSTONES_EACH]; /* likewise; oldest first */
} cr_tombstones;

struct cr_pd;

/* The PD goes down, or has a fault. */
void cr_end_note(const struct cr_pd *pd, cr_ending how);
cr_ending cr_end_how(const struct cr_pd *pd);
void cr_end_note_exit(const struct cr_pd *pd, uint64_t code);
void cr_end_note_fault(const struct cr_pd *pd, cr_fault_kind kind, uint64_t address, uint64_t ip,
                       const seL4_UserContext *registers);

/* A cleanup is about to destroy the node. `pd`: if it is one. */
void cr_tombstone_make(cr_ref node, const struct cr_pd *pd);
/* A notice about the loss of the node was queued to the PD, as its last one. If nothing is known of
 * the node, this has no effect. */
void cr_tombstone_owed(const struct cr_pd *to, cr_ref node);
void cr_tombstone_owed_pd(const struct cr_pd *to, uint32_t number);
/* The PD has finished such a notice, or it was taken back. */
void cr_tombstone_told(const struct cr_pd *pd, const cr_work_notice *notice);
/* The PD refers to nothing any more. */
void cr_tombstone_forget(const struct cr_pd *pd);
/* The cleanup of this node has settled. Frees its entry in the model if nobody refers to it. */
cr_status cr_tombstone_settle(cr_ref node);
/* Frees what nobody refers to any more. USAGE never counts it. No step may be under way: it would
 * not be done again if the cleaner died. */
void cr_tombstones_release(void);

/* The tombstone of a space, or with space 0 of a PD, to which the PD refers. 0: there is none. */
const cr_tombstone *cr_tombstone_of(const struct cr_pd *by, uint32_t space, uint32_t pd);

#endif
