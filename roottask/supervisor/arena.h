/* SPDX-License-Identifier: BSD-2-Clause
 *
 * All of the supervisor's state, in one arena. Each file changes its own part of it and no other. */
#ifndef CELLREAP_SUPERVISOR_ARENA_H
#define CELLREAP_SUPERVISOR_ARENA_H

#include "cleaner.h"
#include "clock.h"
#include "extract.h"
#include "hooks.h"
#include "operations.h"
#include "population.h"
#include "tickets.h"

typedef struct cr_supervisor {
    const cr_hooks *hooks; /* 0: none */
    uint64_t changes;      /* cr_notices_changed has been called so often */
    cr_clock clock;
    cr_tickets tickets;
    cr_extractions extract;
    cr_cleaner cleaner;
    cr_population population;
    cr_operations operations;
} cr_supervisor;

extern cr_supervisor cr_sup;

#endif
