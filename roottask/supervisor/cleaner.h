/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A cleanup, from its plan to the legal state after it. For a PD that is down, it plans what is
 * destroyed, carries out the plan step by step and leaves a legal state. It writes both the plan
 * and the steps into the trace, so that the host can check each of them.
 *
 * The main thread plans a cleanup, watches its steps (cleaner_watch.h) and settles it. The steps
 * are carried out by a thread of their own (execution.h). A cleanup must never be left half done: a
 * step that fails is attempted again. A subscriber is awaited until it has answered, cannot answer
 * any more, or is given up (progress.h). */
#ifndef CELLREAP_SUPERVISOR_CLEANER_H
#define CELLREAP_SUPERVISOR_CLEANER_H

#include "notices.h"

typedef struct cr_trigger_entry {
    cr_ref pd;
    cr_cause cause;
    int later; /* the PD is stopped when its cleanup begins, and goes on until then */
} cr_trigger_entry;

/* A cleanup between its plan and its end. */
typedef struct cr_cleanup {
    cr_phase phase; /* changed only by the cleaner's `enter` */
    int waited;     /* this cleanup awaited acknowledgements at least once */
    int saved;      /* of a collection: a subscriber saved a PD */
    uint32_t tag;   /* its number, and the tag of its notices */
    uint32_t steps; /* how many its plan has */
    cr_plan plan;
    cr_journal journal;
    uint64_t calls; /* in its steps */
    uint64_t cycles;
    /* Its rows in the pool (kept.h). */
    uint32_t first;
    uint32_t words; /* 0: they are in the planner's memory */
    /* What it left (residue.h). */
    int left;
    uint32_t runs;     /* over it, so far */
    uint64_t occasion; /* the last one at which it was tried */
    uint32_t delay_ms;
    uint64_t due; /* 0: there is no timer */
} cr_cleanup;

enum {
    CR_MAX_RESIDUES = CR_MAX_CLEANUPS + 1, /* cleanups that left something and have later runs */
    CR_KEPT_CLEANUPS = CR_MAX_CLEANUPS + CR_MAX_RESIDUES
};

/* The 64-bit words of the rows that are kept. No two cleanups doom the same node, and what they
 * destroyed has its entry in the model until they are over. A subscription is told of by one, and a
 * core resource is freed by one, or by another one since it was given anew. All cleanups that wait
 * owe at most as many notices as a plan has. Those that left something owe one for an edge of a
 * node that they left, and one for a step that failed. */
static inline uint32_t cr_kept_words(void)
{
    return 4 * cr_node_entries() + 3 * cr_most.edges + 2 * cr_most.nodes + 8 * cr_max_plan();
}

/* Which cleanup concerns a node (independent.c). */
typedef struct cr_touch {
    uint32_t by;         /* its tag, or `queued` of cr_cleaner */
    uint32_t generation; /* of the node. One that was made since in the same place has another */
} cr_touch;

/* The step that is being carried out, as its line in the trace will have it. */
typedef struct cr_carried {
    const cr_id *node; /* where ids are kept: nothing is made during a step */
    const cr_id *pd;
    cr_ref resources[CR_STEP_AT_ONCE]; /* those that it destroys, if there are several */
    cr_queueing queueing;              /* of its notices */
    uint64_t before[CR_CALL_COUNT];    /* the calls before the step */
    uint64_t counted; /* cr_calls_changed when they were noted; 0: they are not those of cr_calls */
    int refused;      /* an injected error happened in this attempt */
} cr_carried;

/* Why the cleaner's thread came to its end. */
typedef enum cr_execution_end {
    CR_EXECUTION_OVER = 0, /* no step is left */
    CR_EXECUTION_AWAITS,   /* the next step awaits subscribers */
    CR_EXECUTION_PAUSES,   /* an operation is to be served between two steps (interleaved.h) */
    CR_EXECUTION_SPARES,   /* subscribers saved PDs: the plan is to be made anew */
    CR_EXECUTION_FAILED    /* a step failed */
} cr_execution_end;

typedef struct cr_cleaner {
    uint32_t epoch; /* of the cleaner's thread; never used again */
    cr_carried at;  /* changed only by the cleaner's thread, like the two that follow */
    cr_execution_end ended;
    cr_status error;  /* ended FAILED: why */
    uint64_t signals; /* badges that the main thread was signalled with while it waited */
    uint64_t seen;    /* cr_sup.changes at the last look at the acknowledgements */
    cr_cleanup now;   /* the cleanup that is being carried out; its plan is the planner's */
    /* Cleanups that await subscribers, or left something; in both cases oldest first. */
    cr_cleanup kept[CR_KEPT_CLEANUPS];
    uint32_t n_kept;
    uint32_t n_rows; /* words of `rows` that are in use (kept.c) */
    uint64_t *rows;
    cr_touch *touched; /* by index of a node */
    uint32_t queued;   /* stands for the triggers in the queue, as they were looked at last */
    int any_queued;    /* one of them cannot begin yet */
    /* Triggers whose cleanup has not begun, oldest first. Each PD is in the queue at most once. */
    cr_trigger_entry *queue;
    uint32_t count;
    int looked;   /* none of them can begin before a cleanup ends */
    int collect;  /* a collection is due: a cleanup ended since the last one, or a PD asked */
    int stop_all; /* the cleanup of all PDs is to begin */
    int stops;    /* it was ordered: no PD is made any more */
    /* For one function at a time: too large for the stack. */
    cr_ref *some_nodes;
    cr_pd **some_pds;
} cr_cleaner;

/* Makes a PD a trigger and stops it at once. The event that caused it must already be in the trace,
 * and the PD must still be up (cr_pd_is_up). If the PD is doomed, it is only stopped. Otherwise
 * cr_cleaner_follow_up cleans up after it in its turn. */
void cr_trigger(cr_pd *pd, cr_cause cause);
/* Makes a PD a trigger together with all PDs that it created, transitively, and stops all of them.
 * The PD must be up and not doomed. Its cleanup dooms them all. They are triggers of their own too,
 * behind it: so if an earlier cleanup destroys the PD alone, those that are left have theirs. */
void cr_trigger_tree(cr_pd *top);
/* Makes a PD a trigger that goes on until its cleanup begins. It must be up and not doomed, and not
 * have been made one before (cr_is_terminated_later). If it is stopped before, for whatever reason,
 * it keeps its place in the queue. */
void cr_trigger_later(cr_pd *pd);
int cr_is_terminated_later(cr_ref pd);
/* It is no trigger any more. Only while cr_is_terminated_later says yes. */
void cr_trigger_cancel(cr_ref pd);
/* Plans the cleanup of a trigger with this cause, with the depths that the PD has now. Only while
 * no cleanup is being carried out: there is memory for one plan. */
cr_status cr_cleaner_plan(const cr_pd *trigger, cr_cause cause, cr_plan *out);
/* Whether a plan destroys a PD that the configuration protects. */
int cr_cleaner_destroys_protected(const cr_plan *plan);
/* Collects what cannot be reached, when nothing else is under way or waits that it touches. */
void cr_cleaner_collect(void);
/* Whether a cleanup has come to its first destructor. From then on it destroys nodes, and what
 * survivors lose and are owed stays as it was planned. */
static inline int cr_is_destroying(const cr_cleanup *cleanup)
{
    return cleanup->journal.told != 0;
}
/* Whether a cleanup that awaits subscribers has told one of them of a node. */
int cr_cleaner_has_told(const cr_cleanup *waiting, const cr_pd *subscriber, cr_ref node);
/* Terminates a PD on behalf of the root task. */
void cr_terminate(cr_pd *pd);

/* A row of TRIGGER. 0: none. */
typedef struct cr_triggered {
    cr_cause cause;
    cr_when when;
    const cr_pd *pd;
    const cr_pd *by;
    uint64_t token;
    uint64_t ms;
} cr_triggered;

void cr_trace_trigger(const cr_triggered *row);
/* Carries out the cleanup of these PDs and spaces, which the configuration does not name. Must be
 * called before any PD runs. */
void cr_cleaner_reconcile(const cr_ref *nodes, uint32_t count);
/* Orders the end of the whole system: one cleanup of all PDs, which run, are told, and are
 * destroyed group by group. What earlier cleanups left stays. It begins with the next
 * cr_cleaner_follow_up. */
void cr_cleaner_stop_all(void);
/* Continues the cleanups as far as possible. On return no cleanup is under way and the state is
 * legal, or the cleanups that are under way await subscribers. If a cleanup cannot be planned, the
 * system stops: no legal state could follow. */
void cr_cleaner_follow_up(void);
/* Whether any cleanup is under way and awaits subscribers. */
int cr_cleaner_waits(void);
/* The one of those that dooms the PD, or 0. What cleanups left is doomed by none of them. */
cr_cleanup *cr_cleaner_dooming(cr_ref pd);
/* Whether a cleanup awaits this PD's acknowledgement. A PD is told by one cleanup at a time. */
int cr_cleaner_awaits(const cr_pd *pd);
/* The cleanup that awaits this PD goes on without its answers, also to what it tells it later. */
void cr_cleaner_give_up(cr_pd *pd);

/* -- several cleanups at a time (independent.c) */

/* Whether the cleanup that was just planned concerns no node and PD that a cleanup under way or an
 * earlier one in the queue concerns, and whether there is room for it to wait, if it tells anybody.
 * If not, it stays in the queue, and what it concerns is noted. */
int cr_cleaner_may_begin(const cr_plan *plan);
/* Forgets what the triggers in the queue concern. */
void cr_cleaner_forget_queued(void);
/* Notes what a cleanup concerns, from its beginning to its end. */
void cr_cleaner_arrive(const cr_cleanup *cleanup);
/* A later run over what it left begins: until its end it concerns all around that, too. */
void cr_cleaner_return(const cr_cleanup *cleanup);
/* Whether a cleanup under way, or one in the queue, concerns the node. */
int cr_cleaner_concerns(cr_ref node);

#endif
