/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The population: which configured PDs exist. It creates PDs at the start and respawns PDs that are
 * marked for it, each within its budget (image.h). It must not create a PD that is tied to a doomed
 * one. At the start, a PD that cannot be created stops the system. Later the attempt is traced as a
 * refusal and made again: after a while, and after the next cleanup. */
#ifndef CELLREAP_SUPERVISOR_POPULATION_H
#define CELLREAP_SUPERVISOR_POPULATION_H

#include "system/system.h"

/* A configured PD. Times are those of the clock; 0: none. */
typedef struct cr_population_entry {
    int coming;      /* it is to be created */
    int refused;     /* it is to be created, and at the last attempt there was no room */
    int stays_down;  /* its budget is used up, or its respawn was cancelled */
    uint32_t count;  /* its respawns in the window that is open, the coming one included */
    uint32_t tries;  /* refused attempts to create it */
    uint64_t window; /* the end of the window; UINT64_MAX: the end of the run; 0: none is open */
    uint64_t not_before; /* it is not created before this time */
} cr_population_entry;

typedef struct cr_population {
    int late_begun;       /* PDs that begin late may exist */
    uint32_t coming;      /* number of entries with `coming`: mostly none, and then none is read */
    uint32_t followed_up; /* number of the last cleanup after which missing PDs were looked for */
    cr_population_entry *entries; /* by index in the configuration */
} cr_population;

/* Creates all configured PDs except those that begin late. Stops the system if one cannot be
 * created. */
void cr_population_start(void);
/* After a cleanup: decides which of the destroyed PDs are respawned and when. After any message:
 * creates the PDs whose time has come, in the order of the configuration. */
void cr_population_follow_up(void);
/* Lets the PDs be created that begin late. Returns 0 if they were already begun. */
int cr_population_begin_late(void);
/* Whether a PD may cancel the respawn of the configured PD of this name, which *config receives.
 * CR_RESULT_NO_SUCH: there is none. DENIED: the configuration does not give it the capability to
 * that PD. GONE: no respawn of it is due. */
cr_result cr_population_may_cancel(const cr_pd *from, const char *name, uint32_t *config);
/* The PD stays down. */
void cr_population_cancel(uint32_t config);
/* Called after time has passed. */
void cr_population_expire(uint64_t now);
/* The next time at which cr_population_expire has an effect. 0: never. */
uint64_t cr_population_next_due(void);
/* Whether a PD is to be created for which there was room so far. */
int cr_population_pending(void);

#endif
