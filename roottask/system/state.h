/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints the model state as CSV rows in the trace. The whole state is printed at the beginning and
 * at the end of a run, which costs time in proportion to the size of the model. After a cleanup
 * no rows are printed: which ones are gone follows from the plan. Their number, and the digest of
 * all rows (digest.h) before and after the cleanup, make every other change visible. */
#ifndef CELLREAP_SYSTEM_STATE_H
#define CELLREAP_SYSTEM_STATE_H

#include "system.h"

/* Returns the number of rows that the cleanup under way has removed since it began, or since it
 * last waited for destructors, and counts from 0 on. */
uint64_t cr_count_gone(void);
/* Prints the end of the cleanup of that number, with the number of these rows. */
void cr_print_settled(uint32_t number, uint64_t calls, uint64_t cycles);
/* Prints what is in use, if that has changed since the last print, and the whole state. */
void cr_print_whole(void);
/* Adds the digest of the state to the line that has begun. */
void cr_trace_state_digest(void);

/* The number of rows of an edge: its count, or 0 if other rows say the same. */
static inline uint32_t cr_rows_of_edge(const cr_edge_info *edge)
{
    static const uint8_t named[] = {
#define CR_EDGE_KIND(enumerator, number, name, meaning) [enumerator] = sizeof(name) > 1,
        CR_EDGE_KINDS
#undef CR_EDGE_KIND
    };
    return named[edge->kind] ? edge->count : 0;
}

/* Adds kinds of kernel objects with their numbers to the line that has begun. */
void cr_trace_objects(const cr_objects *objects);
/* The same for all bytes, slots and kernel objects in use. */
void cr_trace_memory(void);
/* BODY: the untyped that a node is made from. `slots`: of the root task's CSpace. */
void cr_trace_body(cr_ref node, uint32_t block, uint32_t slots);
/* Prints a setting, or in an INJECTED one that takes effect now. */
void cr_trace_setting(cr_event event, cr_setting what, const char *word, uint64_t value,
                      uint64_t second, uint64_t third);
/* Prints what is in use. */
void cr_trace_usage(void);

#endif
