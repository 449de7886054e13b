/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Cleanups that are not being carried out: they await subscribers, or left something. The planner
 * has memory for one plan, so the rows of theirs are in one pool. A row tells whether it is done
 * (steps.h), and one that is done is kept only if it is a doomed node. */
#ifndef CELLREAP_SUPERVISOR_KEPT_H
#define CELLREAP_SUPERVISOR_KEPT_H

#include "cleaner.h"

/* Keeps the cleanup that is being carried out: it waits, or has left something. */
void cr_kept_put(int left);
/* A cleanup that is kept is carried out again: the one at this place. */
void cr_kept_take(uint32_t at);
/* The rows of the cleanup that is being carried out are not in the pool any more. */
void cr_kept_release(void);
/* How many cleanups wait, or left something. */
uint32_t cr_kept_count(int left);

#endif
