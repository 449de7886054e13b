/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What cleanups left. A step that fails in the second run over its phase stays left, with the steps
 * that depend on it. The cleanup settles without them. Its nodes that are not destroyed remain
 * doomed, the tombstones of the others are kept, and the notices that are not queued stay owed. A
 * later run carries out what was left: after each later cleanup, when a cleanup has to wait for it,
 * and after a time that doubles.
 *
 * What is left holds up nobody. For a later cleanup its nodes are gone already: they are doomed. A
 * notice that is owed is forgotten when its receiver is gone. If there is no room for what one more
 * cleanup leaves, or for a record, the newest is left for good: no later run follows. */
#ifndef CELLREAP_SUPERVISOR_RESIDUE_H
#define CELLREAP_SUPERVISOR_RESIDUE_H

#include "cleaner.h"

enum {
    /* Cleanups that left something and have later runs, and records of cleanups under way. */
    CR_MAX_RESIDUES = CR_MAX_CLEANUPS + 1,
    /* A cleanup owes at most CR_MAX_PLAN notices, and so do all cleanups under way together. Those
     * that left something owe one for an edge of a node that they left, and one for a step that
     * failed. */
    CR_RESIDUE_NOTICES = 2 * CR_MAX_PLAN,
    CR_RESIDUE_DELAY_MS_MAX = 60000
};

/* The arrays of the plan are kept as they were, except for the notices. So the entries have the
 * same places in the journal. */
typedef enum cr_residue_use {
    CR_RESIDUE_FREE = 0,
    CR_RESIDUE_LEFT,  /* what a cleanup left */
    CR_RESIDUE_RECORD /* of a cleanup under way */
} cr_residue_use;

typedef struct cr_residue {
    cr_residue_use use;
    cr_cleanup cleanup; /* LEFT */
    uint32_t first_notice;
    uint64_t settled;  /* cr_residues.settled when it was tried last */
    uint64_t triggers; /* likewise */
    uint32_t delay_ms;
    uint64_t due;      /* 0: there is no timer */
    cr_doomed doomed[CR_KEPT_DOOMED];
    cr_ref core[CR_MAX_NODES];
} cr_residue;

typedef struct cr_residues {
    cr_residue at[CR_MAX_RESIDUES];
    uint32_t for_good; /* cleanups that left something and have no later run */
    uint32_t current;  /* the one that is carried out, or CR_MAX_RESIDUES */
    uint64_t settled;  /* cleanups that have settled for the first time */
    uint64_t triggers; /* calls of cr_residue_try_all */
    cr_notice notices[CR_RESIDUE_NOTICES];
    uint32_t n_notices;
} cr_residues;

void cr_residue_init(void);
/* Whether a cleanup left something. */
int cr_residue_any(void);

/* A cleanup waits while it destroys. What survivors are owed can no longer be planned, so it has a
 * record until its end. */
void cr_residue_record(cr_cleanup *waits);
/* A cleanup goes on. If it has a record, its plan is there. */
void cr_residue_take_up(cr_cleanup *goes_on);

/* The cleanup that is being carried out has no steps left, and settles. Writes each step that it
 * leaves into the trace. Returns whether it leaves something for a later run. */
int cr_residue_tell(void);
/* Keeps what the cleanup that has settled leaves. */
void cr_residue_keep(void);
/* Forgets the cleanup that has settled: it leaves nothing for a later run. */
void cr_residue_forget(void);
/* A cleanup settled for the first time. */
void cr_residue_note_settled(void);

/* Whether a later run is due. The cleanup is then the one that is being carried out. */
int cr_residue_take_due(void);
/* The earliest time at which one is due for the time that has passed. 0: never. */
uint64_t cr_residue_due(void);
/* A later run of each is due now: a trigger came, which may have to wait for it, or nothing else
 * goes on. */
void cr_residue_try_all(void);

#endif
