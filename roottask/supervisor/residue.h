/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The steps that cleanups left, and later runs of them. A step that fails in the second run over
 * its phase stays left, with the steps that depend on it. The cleanup settles without them. Its
 * nodes that are not destroyed remain doomed, the tombstones of the others are kept, and the
 * notices that are not queued stay owed. A later run carries out what was left: after each later
 * cleanup, when a cleanup has to wait for it, and after a time that doubles.
 *
 * What is left holds up nobody. For a later cleanup its nodes are gone already: they are doomed. A
 * notice that is owed is forgotten when its receiver is gone. While CR_MAX_RESIDUES cleanups have
 * later runs, what one more leaves is left for good: no later run follows. */
#ifndef CELLREAP_SUPERVISOR_RESIDUE_H
#define CELLREAP_SUPERVISOR_RESIDUE_H

#include "cleaner.h"

enum { CR_RESIDUE_DELAY_MS_MAX = 60000 };

typedef struct cr_residues {
    uint32_t for_good;  /* cleanups that left something and have no later run */
    uint64_t occasions; /* at each of which what is left is tried again */
} cr_residues;

/* Whether a cleanup left something. */
int cr_residue_any(void);

/* The cleanup that is being carried out settles. Whether it leaves something for a later run. */
int cr_residue_leaves(void);
/* Keeps what the cleanup that has settled leaves. */
void cr_residue_keep(void);
/* Whether a later run is due. The cleanup is then the one that is being carried out. */
int cr_residue_take_due(void);
/* The earliest time at which one is due for the time that has passed. 0: never. */
uint64_t cr_residue_due(void);
/* A later run of each is due now: a cleanup settled for the first time, a trigger came, which may
 * have to wait for it, or nothing else goes on. */
void cr_residue_try_all(void);

#endif
