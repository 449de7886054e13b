/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints the model state as CSV rows in the trace. The state is printed after each cleanup. It is
 * also printed before a cleanup and at the end of the run if the model has changed since the last
 * print. Every change is therefore visible in a printed state. Printing costs time in proportion to
 * the size of the model. */
#ifndef CELLREAP_SYSTEM_STATE_H
#define CELLREAP_SYSTEM_STATE_H

#include "system.h"

/* Prints the state, including doomed nodes, as extraction x. Returns the number of rows. */
uint32_t cr_print_model(uint32_t x);
/* Prints one more row of extraction x: a MAP edge. */
void cr_print_model_map(uint32_t x, cr_ref from, cr_ref to);
/* Prints the state. `number` is the number of the cleanup that has ended, or 0 if there is none. */
void cr_print_state(uint32_t number, uint64_t cycles);
/* Prints the accounts and the state if the model has changed since the last print. */
void cr_print_if_changed(void);

/* Adds kinds of kernel objects with their numbers to the line that has begun. */
void cr_trace_objects(const cr_objects *objects);

#endif
