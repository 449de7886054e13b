/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints the model state as CSV rows in the trace. The whole state is printed at the beginning and
 * at the end of a run, which costs time in proportion to the size of the model. After a cleanup
 * only the rows are printed that the cleanup removed, which costs what the cleanup did. The digest
 * of all rows (digest.h) before and after a cleanup makes every other change visible. */
#ifndef CELLREAP_SYSTEM_STATE_H
#define CELLREAP_SYSTEM_STATE_H

#include "system.h"

/* Prints the state, including doomed nodes, as extraction x. Returns the number of rows. */
uint32_t cr_print_model(uint32_t x);
/* Prints one more row of extraction x: a MAP edge. */
void cr_print_model_map(uint32_t x, cr_ref from, cr_ref to);
/* Prints the rows that the cleanup of that number removed since the last ones were printed, or the
 * whole state if they were too many to be noted. `number` 0: prints the whole state. Returns the
 * number of rows. */
uint64_t cr_print_gone(uint32_t number);
/* The same at its end, with SETTLED. */
void cr_print_state(uint32_t number, uint64_t cycles);
/* Prints the accounts, if they have changed since the last print, and the whole state. */
void cr_print_whole(void);
/* Adds the digest of the state to the line that has begun. */
void cr_trace_state_digest(void);
/* Adds any digest to a line. */
void cr_trace_digest(uint64_t digest);

/* Note the rows of a node or an edge that the cleanup removes. For rows.c only. */
void cr_note_gone_node(cr_ref node, const cr_node_info *info);
void cr_note_gone_edge(const cr_edge_info *edge);

/* Adds kinds of kernel objects with their numbers to the line that has begun. */
void cr_trace_objects(const cr_objects *objects);

#endif
