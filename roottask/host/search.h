/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Yardsticks for the planner, for tools/bench: two ways to find what a crash dooms at unlimited
 * depths, over the same arrays, and nothing else of a plan. Not part of a root task. Parsed by the
 * host tooling. */
#ifndef CELLREAP_HOST_SEARCH_H
#define CELLREAP_HOST_SEARCH_H

#include <cellreap/model.h>

/* A breadth-first search. marks: one entry a node, none of which is `fresh` or fresh + 1; queue:
 * twice as long. Returns the number of doomed PDs and spaces, which are first in `queue`. The arena
 * must be sound. */
uint32_t cr_search_bare(const cr_model *model, cr_ref trigger, uint32_t *marks, uint32_t *queue,
                        uint32_t fresh);

/* As cr_search_bare, but it looks at every PD of the system for each doomed space, as CellulOS
 * does. */
uint32_t cr_search_scan(const cr_model *model, cr_ref trigger, uint32_t *marks, uint32_t *queue,
                        uint32_t fresh);

#endif
