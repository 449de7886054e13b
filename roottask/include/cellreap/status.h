/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a cellreap function answers. Every function that can fail returns one of these and writes its
 * results through out-pointers; a caller that ignores one has a bug.
 * Parsed by the host tooling too: plain enums only. */
#ifndef CELLREAP_STATUS_H
#define CELLREAP_STATUS_H

typedef enum cr_status {
    CR_OK = 0,
    CR_ERR_ARG = 1,        /* an argument is out of its stated range */
    CR_ERR_STALE = 2,      /* the reference's generation is over: the node it named is gone */
    CR_ERR_KIND = 3,       /* the node or edge exists but is of the wrong kind for this */
    CR_ERR_STATE = 4,      /* the node is doomed or destroyed */
    CR_ERR_EXISTS = 5,     /* already there, and it may be there only once */
    CR_ERR_ABSENT = 6,     /* not there */
    CR_ERR_FULL_NODES = 7, /* the arena has no node left */
    CR_ERR_FULL_EDGES = 8, /* the arena has no edge left */
    CR_ERR_FULL_PLAN = 9,  /* the plan's memory is too small for this plan */
    CR_ERR_MEMORY = 10,    /* the memory given is too small or misaligned */
    CR_ERR_CORRUPT = 11,   /* an invariant of the arena does not hold */
    CR_ERR_ROOT = 12,      /* the root task can be neither doomed nor removed */
    CR_ERR_BUSY = 13,      /* something is under way that this would disturb */
    CR_STATUS_COUNT = 14
} cr_status;

#endif
