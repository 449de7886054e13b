/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The parts of the root task above the system's tables: who serves requests, who cleans up, and who drives
 * the scenario of the configuration. */
#ifndef CELLREAP_SEL4_SUPERVISOR_H
#define CELLREAP_SEL4_SUPERVISOR_H

#include "system/system.h"
#include <cellreap/decode.h>

/* A message as it came, out of the IPC buffer, which the next kernel call overwrites. */
typedef struct cr_message {
    cr_raw_message raw; /* of `words` */
    uint64_t words[seL4_MsgMaxLength];
} cr_message;

/* How a notice came to its end. */
typedef enum cr_notice_end {
    CR_NOTICE_DONE = 0,
    CR_NOTICE_FAILED,
    CR_NOTICE_DROPPED, /* its receiver is gone */
    CR_NOTICE_END_COUNT
} cr_notice_end;

/* -- notices.c */

const char *cr_notice_name(cr_notice_kind kind);
/* A PD as cr_work knows it. */
uint32_t cr_receiver(const cr_pd *pd);
/* Queues a notice and signals its receiver. `cleanup`: the one that owes it, or 0. CR_ERR_FULL_NODES, CR_ERR_STALE. */
cr_status cr_notice_put(const cr_notice *notice, uint32_t cleanup, uint32_t tag);
/* A notice is over: puts it to the account of whoever waits for it. */
void cr_notice_over(const cr_pd *receiver, const cr_work_notice *notice, cr_notice_end end);
/* A notice failed, or its lane was resumed: what is behind it is held, or is not any more. */
void cr_lanes_changed(void);
/* Of a PD that is gone. */
void cr_forget_owed(cr_pd *pd);

/* -- deadlines.c */

void cr_deadlines_init(seL4_CPtr notification);
/* When a notice that this PD is given now is late; 0: never. */
uint64_t cr_due_of(const cr_pd *pd);
/* The PD is silent: it is late with nothing any more, however long it is still there. */
void cr_deadlines_forget(const cr_pd *pd);
/* Has the timer come when something is due next. Last before the root task waits: what comes before takes its time. */
void cr_deadlines_arm(void);
/* The timer's interrupt. */
void cr_deadlines_tick(void);
/* A PD that was kept waiting is answered: what it has to acknowledge is due as if it were queued now; once. */
void cr_deadlines_excuse(cr_pd *pd);
/* Whether anybody has something to acknowledge by a certain time; the same of those that the root task does not
 * itself keep waiting. */
int cr_deadlines_pending(void);
int cr_deadlines_of_others(void);
/* cr_director_alarm is called in so many nanoseconds. */
void cr_alarm_set(uint64_t ns);
int cr_alarm_pending(void);

/* -- tickets.c */

int cr_ticket_room(const cr_pd *owner);
/* A ticket for `owner`; `what`: the PD to be terminated, or 0: an extraction. There must be room. */
uint64_t cr_ticket_make(cr_pd *owner, const cr_pd *what);
/* Its work has begun: notices with that tag count. Ticket 0 is none, here and below. */
void cr_ticket_begin(uint64_t ticket, uint32_t tag);
/* Its work is done but for what its notices' receivers do. */
void cr_ticket_settle(uint64_t ticket);
void cr_ticket_credit(const cr_pd *receiver, const cr_work_notice *notice, cr_notice_end end);
/* What TICKET answers: `words` of `out`, or *later. CR_RESULT_NO_SUCH, GONE, DENIED. */
cr_result cr_ticket_look(const cr_pd *from, uint64_t ticket, int wait, uint64_t *out, uint32_t *words, int *later);
/* Whether the PD waits for the end of a cleanup that is not over. */
int cr_ticket_keeps(const cr_pd *pd);
/* Tells in the trace that nobody waits for it. */
void cr_ticket_unwanted(uint64_t ticket);
/* Answers a PD that waits for its ticket, as it stands. */
void cr_ticket_answer(cr_pd *pd);
/* Answers those whose tickets are over. */
void cr_tickets_follow_up(void);
void cr_tickets_forget(const cr_pd *owner);

/* -- extract.c */

/* Begins an extraction. `ticket`: where to put its number; 0: without one. CR_RESULT_BUSY. */
cr_result cr_extract_start(cr_pd *by, uint64_t *ticket);
int cr_extract_running(void);
/* How many notices wait on account of extractions that run. Costs the notices there are. */
uint32_t cr_extract_notices(void);
/* Whether an answer BY_RESOURCE can be taken, and taking it. *more: how many notices come of those taken with it; they and
 * this one's are added up. CR_RESULT_FAILED, FULL. */
cr_result cr_extract_may_split(const cr_work_notice *notice, uint32_t *more);
void cr_extract_split(cr_pd *manager, const cr_work_notice *notice);
/* What a server reports in answer to a notice that it was handed: all of it, or nothing. CR_RESULT_NO_SUCH: that was no
 * question, or its extraction is over. GONE, DENIED, FAILED, FULL. */
cr_result cr_extract_take(cr_pd *from, const cr_work_notice *notice, const cr_subgraph_item *items, uint32_t count);
void cr_extract_credit(const cr_work_notice *notice);
void cr_extract_changed(void);
/* Prints the results of extractions that wait for nobody, or, if `give_up`, of all. */
void cr_extract_follow_up(int give_up);
/* Whether a node is, over any number of MAP edges, built on another one, or is that one. `x`: with what extraction x has
 * learned; 0: by the model alone. */
int cr_is_built_on(cr_ref node, cr_ref other, uint32_t x);

/* -- answer.c */

/* Keeps what it takes to answer the message received last, which is that PD's, another time. Returns 0 if it was sent, not
 * called: then nobody waits for an answer. */
int cr_keep_caller(cr_pd *pd);
/* Answers a request that was put off: `count` results. */
void cr_answer_later(cr_pd *pd, cr_result result, uint32_t count, const uint64_t *results);
/* The live space of that name. CR_RESULT_NO_SUCH. */
cr_result cr_find_named_space(const char *name, cr_ref *out);
/* Gives a PD its request to a space, or tells it the one it has: slot and space's number. */
cr_result cr_connect_now(cr_pd *pd, cr_ref space, uint64_t *results);
/* Gives a connect that was put off its request, if the space is there by now, or refuses it, if its PD goes by the cleanup under
 * way. Returns whether it was answered. */
int cr_retry_connect(cr_pd *pd, int last_try);
/* Answers a PD that is kept waiting with what there is to say now. */
void cr_release(cr_pd *pd);
void cr_trace_refuse(cr_pd *pd, uint64_t op, cr_result result);
/* Refusals that were counted and not told yet. */
void cr_trace_refused_rest(void);
void cr_trace_fault(const cr_pd *pd, cr_fault_kind kind, uint64_t address, uint64_t ip);

/* -- requests.c */

/* Serves one request of a PD and answers it, now or later. */
void cr_serve(cr_pd *from, const cr_message *message);

/* -- cleaner.c */

/* A PD is down, or is to be; the event that says so is in the trace. If it is doomed already it is merely stopped;
 * else it is to be cleaned up after, by cr_cleaner_follow_up, when those before it are. It must not be silent. */
void cr_trigger(cr_pd *pd, cr_cause cause, uint64_t ticket);
/* By the root task. */
void cr_terminate(cr_pd *pd);
/* Goes on with cleaning up as far as that is possible: on return there is no cleanup and the state is legal, or one waits
 * for subscribers. A cleanup that cannot be planned or fails halfway stops the system: nothing legal could follow. */
void cr_cleaner_follow_up(void);
/* Whether a cleanup waits for subscribers, and whether for that one. */
int cr_cleaner_waits(void);
int cr_cleaner_awaits(const cr_pd *pd);
void cr_cleaner_credit(const cr_work_notice *notice);
/* A lane was stopped or resumed. */
void cr_cleaner_lanes_changed(void);
/* Nobody will answer any more. */
void cr_cleaner_give_up(void);

/* -- state.c */

/* Prints the state with what is doomed, as extraction x; returns the number of rows. */
uint32_t cr_print_model(uint32_t x);
void cr_print_model_map(cr_ref from, cr_ref to);
/* Prints the state; `number`: of the cleanup that is over, 0 for none. */
void cr_print_state(uint32_t number, uint64_t cycles);
/* Prints accounts and state if the model has changed since it was printed last. */
void cr_print_if_changed(void);

/* -- director.c */

void cr_director_start(void);
/* The order that answers a PD's checkpoint; *keeps is set if it is to be answered at the next idle. */
uint64_t cr_director_checkpoint(cr_pd *pd, int round_boundary, uint32_t *slot, cr_keeps *keeps);
/* To be called when a message was handled to its end: creates anew what a cleanup in it destroyed. */
void cr_director_follow_up(void);
/* A PD at a round boundary is answered now. */
void cr_director_release(cr_pd *pd);
/* The time that was asked for is over. */
void cr_director_alarm(void);

typedef enum cr_idle {
    CR_IDLE_AGAIN = 0, /* somebody can run again */
    CR_IDLE_WAIT,      /* nothing happens until the timer comes */
    CR_IDLE_OVER       /* the run is over */
} cr_idle;

/* Nobody but the root task can run. */
cr_idle cr_director_idle(void);

#endif
