/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reports: what listeners are told of cleanups and of what could not be made. The root task keeps
 * the last CR_MAX_REPORTS of them, whether or not anybody listens. A listener fetches them with an
 * operation when it wants to. So nothing waits for a listener, and one that fetches nothing costs
 * nothing. */
#ifndef CELLREAP_SUPERVISOR_REPORTS_H
#define CELLREAP_SUPERVISOR_REPORTS_H

#include "system/system.h"
#include <cellreap/make_steps.h>

typedef struct cr_report {
    uint64_t words[CR_REPORT_WORDS]; /* as the listener gets them */
} cr_report;

typedef struct cr_reports {
    cr_report at[CR_MAX_REPORTS]; /* report n is at n % CR_MAX_REPORTS */
    uint64_t last;                /* reports are numbered from 1 */
    uint64_t seen;                /* `last` at the last look for listeners to signal */
    uint32_t *places;
} cr_reports;

/* The number of steps that the plan takes if no PD changes anything while it waits, and none is
 * served between two steps. */
uint32_t cr_reports_count_steps(const cr_plan *plan);

/* The cleanup that is being carried out begins, and ends. */
void cr_report_start(void);
void cr_report_end(void);
/* Its cleaner died at a step, of this number from 1. leaves: the step is left for later. */
void cr_report_death(const cr_step *step, uint32_t number, uint32_t attempts, int leaves);
/* A step of making something failed. */
void cr_report_unmade(cr_made made, const cr_make_result *result);

/* The report that a listener gets that knows those up to `seen`. 0: there is none. */
const cr_report *cr_report_after(uint64_t seen);

/* Signals each listener that was told that there are no more, if there are now. */
void cr_reports_follow_up(void);

#endif
