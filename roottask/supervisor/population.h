/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which PDs of the configuration are there: making them at the start, and anew those that are wanted back. */
#ifndef CELLREAP_SUPERVISOR_POPULATION_H
#define CELLREAP_SUPERVISOR_POPULATION_H

#include "system/system.h"

typedef struct cr_population {
    int late_begun;       /* PDs that begin late may be there */
    uint32_t followed_up; /* number of the last cleanup after which PDs were made anew */
} cr_population;

/* Makes all PDs of the configuration but those that begin late. Stops the system if one cannot be made. */
void cr_population_start(void);
/* After a cleanup: makes those anew that the configuration wants back, in its order. One that finds no room is tried again
 * after the next cleanup. */
void cr_population_follow_up(void);
/* Makes those that begin late. Returns whether there was something to do. */
int cr_population_begin_late(void);

#endif
