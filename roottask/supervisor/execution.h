/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Carries out the steps of the cleanup that is under way (cr_sup.cleaner.now), on the cleaner's own
 * thread. Each step is written into the journal before it is carried out, and again when it is
 * done. So the thread may die anywhere in a kernel call, between two of them, or behind the last
 * one: the next thread repeats the step that has begun. All that a step does between two kernel
 * calls is in memory, and is done as a whole. */
#ifndef CELLREAP_SUPERVISOR_EXECUTION_H
#define CELLREAP_SUPERVISOR_EXECUTION_H

#include "cleaner.h"

/* What the thread does: it takes steps until none is left, one awaits subscribers or fails, or an
 * operation is to be served (interleaved.h), and leaves the reason in cr_sup.cleaner.ended. */
void cr_execute_steps(void);
/* Begins a line of the trace about the cleanup that is under way: its first field is the number. */
void cr_execution_begin_line(cr_event event);
/* Ends the counting of the kernel calls of the step that is under way, and adds them to a line. */
void cr_execution_trace_calls(void);
/* Adds these calls by kind to a line. */
void cr_execution_trace_kinds(const uint64_t calls[CR_CALL_COUNT]);
/* Whether a subscriber that the cleanup told has not acknowledged yet and still can. */
int cr_execution_awaits(const cr_cleanup *cleanup);
/* Nobody is awaited any more for what the cleanup told. */
void cr_execution_forget_told(void);
/* Stops a PD. From here on its operations are not served, and no PD waits for it. Its notices end
 * now: it will not answer them. CR_ERR_KERNEL. */
cr_status cr_execution_stop(cr_pd *pd);
/* Whether the step that has begun is done, although no cleaner came to its end. Ends a step that
 * lacks only the signal, and one of several notices or resources with those that are done. */
int cr_execution_is_complete(const cr_step *step);
/* Records such a step as done. */
cr_status cr_execution_finish(const cr_step *step);
/* The consequences of a plan for the other PDs. */
void cr_trace_plan(const cr_plan *plan);

#endif
