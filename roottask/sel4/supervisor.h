/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The parts of the root task above the system's tables: who serves requests, who cleans up, and who drives
 * the scenario of the configuration. */
#ifndef CELLREAP_SEL4_SUPERVISOR_H
#define CELLREAP_SEL4_SUPERVISOR_H

#include "system.h"
#include <cellreap/decode.h>

/* A message as it came, out of the IPC buffer, which the next kernel call overwrites. */
typedef struct cr_message {
    cr_raw_message raw; /* of `words` */
    uint64_t words[seL4_MsgMaxLength];
} cr_message;

typedef enum cr_cause { CR_CAUSE_FAULT = 0, CR_CAUSE_EXIT, CR_CAUSE_TERMINATE, CR_CAUSE_COUNT } cr_cause;

/* -- answer.c */

/* Answers a request that was put off: `count` results. */
void cr_answer_later(cr_pd *pd, cr_result result, uint32_t count, const uint64_t *results);
/* The live space of that name. CR_RESULT_NO_SUCH. */
cr_result cr_find_named_space(const char *name, cr_ref *out);
/* Gives a PD its request to a space, or tells it the one it has: slot and space's number. */
cr_result cr_connect_now(cr_pd *pd, cr_ref space, uint64_t *results);
/* Gives a connect that was put off its request, if the space is there by now. Returns whether it was answered. */
int cr_retry_connect(cr_pd *pd, int last_try);
void cr_trace_refuse(const cr_pd *pd, uint64_t op, cr_result result);
void cr_trace_fault(const cr_pd *pd, cr_fault_kind kind, uint64_t address, uint64_t ip);

/* -- requests.c */

/* Serves one request of a PD and answers it, now or later. */
void cr_serve(cr_pd *from, const cr_message *message);

/* -- cleaner.c */

/* Cleans up after an active PD: plans, carries out, queues notices; on return the state is legal again.
 * A cleanup that cannot be planned or fails halfway stops the system: nothing legal could follow. */
void cr_clean_up(cr_pd *trigger, cr_cause cause);

/* -- state.c */

/* Prints the state; `number`: of the cleanup that is over, 0 for none. */
void cr_print_state(uint32_t number, uint64_t cycles);
/* Prints accounts and state if the model has changed since it was printed last. */
void cr_print_if_changed(void);

/* -- director.c */

void cr_director_start(void);
/* The order that answers a PD's checkpoint; *later is set if it is to be answered at the next idle. */
uint64_t cr_director_checkpoint(cr_pd *pd, int round_boundary, uint32_t *slot, int *later);
/* To be called when a message was handled to its end: creates anew what a cleanup in it destroyed. */
void cr_director_follow_up(void);
/* Nobody but the root task can run. Returns 0 if the run is over. */
int cr_director_idle(void);

#endif
