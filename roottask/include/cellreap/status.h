/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The status that a cellreap function returns. Every function that can fail returns one of these
 * and writes its results through out-pointers. A caller must not ignore the status. The host
 * tooling parses this file: plain enums only. */
#ifndef CELLREAP_STATUS_H
#define CELLREAP_STATUS_H

typedef enum cr_status {
    CR_OK = 0,
    CR_ERR_ARG = 1,        /* an argument is out of its stated range */
    CR_ERR_STALE = 2,      /* the slot has another generation: the node no longer exists */
    CR_ERR_KIND = 3,       /* the node or edge has the wrong kind for this operation */
    CR_ERR_STATE = 4,      /* the node is doomed or destroyed */
    CR_ERR_EXISTS = 5,     /* the object already exists, and can exist only once */
    CR_ERR_ABSENT = 6,     /* the object does not exist */
    CR_ERR_FULL_NODES = 7, /* the arena has no node left */
    CR_ERR_FULL_EDGES = 8, /* the arena has no edge left */
    CR_ERR_FULL_PLAN = 9,  /* the plan's memory is too small for this plan */
    CR_ERR_MEMORY = 10,    /* the memory provided is too small or misaligned */
    CR_ERR_CORRUPT = 11,   /* an invariant of the arena does not hold */
    CR_ERR_ROOT = 12,      /* the root task cannot be doomed or removed, or have this edge */
    CR_ERR_BUSY = 13,      /* the node is still in use */
    CR_ERR_VERSION = 14,   /* a later version wrote it */
    CR_ERR_EPOCH = 15,     /* the writer belongs to an earlier epoch */
    CR_ERR_KERNEL = 16,    /* the kernel refused a call */
    CR_STATUS_COUNT = 17
} cr_status;

#endif
