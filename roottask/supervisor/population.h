/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The population: which configured PDs exist. It creates PDs at the start and respawns PDs that are
 * marked for it. It must not create a PD while a cleanup is under way. At the start, a PD that
 * cannot be created stops the system. Later the attempt is traced as a refusal. */
#ifndef CELLREAP_SUPERVISOR_POPULATION_H
#define CELLREAP_SUPERVISOR_POPULATION_H

#include "system/system.h"

typedef struct cr_population {
    int late_begun;       /* PDs that begin late may exist */
    uint32_t followed_up; /* number of the last cleanup after which PDs were respawned */
} cr_population;

/* Creates all configured PDs except those that begin late. Stops the system if one cannot be
 * created. */
void cr_population_start(void);
/* After a cleanup: respawns configured PDs that are marked for it, in the order of the
 * configuration. If there is no room for a PD, it is tried again after the next cleanup. */
void cr_population_follow_up(void);
/* Creates the PDs that begin late. Returns 0 if they were already begun. */
int cr_population_begin_late(void);

#endif
