/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The model state as CSV rows in the trace: after each cleanup, and before one and at the end of the run if the model
 * has changed since, so that every change shows in a printed state. Costs the size of the model. */
#ifndef CELLREAP_SYSTEM_STATE_H
#define CELLREAP_SYSTEM_STATE_H

#include "system.h"

/* Prints the state with what is doomed, as extraction x; returns the number of rows. */
uint32_t cr_print_model(uint32_t x);
/* One more row of extraction x: a MAP edge. */
void cr_print_model_map(uint32_t x, cr_ref from, cr_ref to);
/* Prints the state; `number`: of the cleanup that is over, 0 for none. */
void cr_print_state(uint32_t number, uint64_t cycles);
/* Prints accounts and state if the model has changed since it was printed last. */
void cr_print_if_changed(void);

#endif
