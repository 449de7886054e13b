/* SPDX-License-Identifier: BSD-2-Clause
 *
 * All state of the supervisor, in one arena. A file may read all parts and must change only its own
 * part. This keeps it clear which code can put a part into a wrong state. */
#ifndef CELLREAP_SUPERVISOR_ARENA_H
#define CELLREAP_SUPERVISOR_ARENA_H

#include "interleaved.h"
#include "cleaner.h"
#include "clock.h"
#include "closeness.h"
#include "extract.h"
#include "faults.h"
#include "hooks.h"
#include "hung.h"
#include "operations.h"
#include "population.h"
#include "progress.h"
#include "residue.h"
#include "reports.h"
#include "share.h"
#include "silence.h"
#include "tickets.h"

typedef struct cr_supervisor {
    const cr_hooks *hooks; /* 0: none */
    uint64_t changes;      /* number of calls of cr_notices_changed */
    int begun;             /* the state at the beginning was printed */
    cr_clock clock;
    cr_tickets tickets;
    cr_extractions extract;
    cr_cleaner cleaner;
    cr_residues residues;
    cr_interleaved between;
    cr_faults faults;
    cr_hung hung;
    cr_progress progress;
    cr_population population;
    cr_operations operations;
    cr_silence silence;
    cr_share share;
    cr_reports reports;
    cr_closeness_state closeness;
} cr_supervisor;

extern cr_supervisor cr_sup;

#endif
