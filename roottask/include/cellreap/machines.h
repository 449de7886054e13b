/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The state machines of the root task: the life of a PD, what a PD waits for, and the phase of the
 * cleanup under way.
 *
 * Each machine is two tables: its states, and its edges with a reason for each edge. Only one
 * function changes each state (cr_pd_become, cr_pd_wait, and `enter` of the cleaner). It asks the
 * functions below and stops the system at a change that no edge allows. A new state or edge is one
 * more row here. docs/states.md has the same tables. */
#ifndef CELLREAP_MACHINES_H
#define CELLREAP_MACHINES_H

#ifdef __cplusplus
extern "C" {
#endif

/* CR_LIFE(enumerator, name, meaning) */
/* clang-format off */
#define CR_LIVES                                                                                   \
    CR_LIFE(CR_LIFE_ABSENT, "absent", "the entry in the table of PDs is free")                     \
    CR_LIFE(CR_LIFE_MAKING, "making", "its node and body are being created")                       \
    CR_LIFE(CR_LIFE_RUNS, "runs", "it runs or waits")                                              \
    CR_LIFE(CR_LIFE_FROZEN, "frozen", "the scenario suspended its thread, so the PD hangs")        \
    CR_LIFE(CR_LIFE_FAULTED, "faulted",                                                            \
        "it faulted; its thread is suspended until its fault handler answers")                     \
    CR_LIFE(CR_LIFE_STOPPED, "stopped",                                                            \
        "its thread stays suspended until its body is destroyed, and its endpoint is gone")
/* clang-format on */

/* CR_LIFE_EDGE(from, to, reason) */
/* clang-format off */
#define CR_LIFE_EDGES                                                                              \
    CR_LIFE_EDGE(CR_LIFE_ABSENT, CR_LIFE_MAKING, "the configuration or a PD creates it")           \
    CR_LIFE_EDGE(CR_LIFE_MAKING, CR_LIFE_ABSENT, "its creation fails and is undone")               \
    CR_LIFE_EDGE(CR_LIFE_MAKING, CR_LIFE_RUNS, "its thread is resumed for the first time")         \
    CR_LIFE_EDGE(CR_LIFE_RUNS, CR_LIFE_FROZEN, "the scenario freezes it")                          \
    CR_LIFE_EDGE(CR_LIFE_RUNS, CR_LIFE_FAULTED, "it faults, and its fault handler is told")        \
    CR_LIFE_EDGE(CR_LIFE_FAULTED, CR_LIFE_RUNS, "its fault handler has it continued")              \
    CR_LIFE_EDGE(CR_LIFE_FAULTED, CR_LIFE_STOPPED,                                                 \
        "the root task takes over its fault, it is terminated, or a cleanup dooms it")             \
    CR_LIFE_EDGE(CR_LIFE_RUNS, CR_LIFE_STOPPED,                                                    \
        "it faults, exits, is terminated or is late, or a cleanup that dooms it suspends it")      \
    CR_LIFE_EDGE(CR_LIFE_FROZEN, CR_LIFE_STOPPED,                                                  \
        "it is terminated or late, or a cleanup that dooms it suspends it")                        \
    CR_LIFE_EDGE(CR_LIFE_STOPPED, CR_LIFE_ABSENT, "its body is destroyed")
/* clang-format on */

/* CR_WAIT(enumerator, name, meaning) */
#define CR_WAITS                                                                                   \
    CR_WAIT(CR_WAIT_NOTHING, "nothing", "the root task has answered its last operation")           \
    CR_WAIT(CR_WAIT_CHECKPOINT, "checkpoint", "it waits for the scenario, between two rounds")     \
    CR_WAIT(CR_WAIT_CONNECT, "connect", "it waits for a space to be created")                      \
    CR_WAIT(CR_WAIT_TICKET, "ticket", "it waits for its ticket to be over")                        \
    CR_WAIT(CR_WAIT_TERMINATE, "terminate", "it waits for its ticket to be over, in mode sync")

/* CR_WAIT_EDGE(from, to, reason) */
#define CR_WAIT_EDGES                                                                              \
    CR_WAIT_EDGE(CR_WAIT_NOTHING, CR_WAIT_CHECKPOINT, "it reaches the end of a round")             \
    CR_WAIT_EDGE(CR_WAIT_NOTHING, CR_WAIT_CONNECT, "it connects to a space that does not exist")   \
    CR_WAIT_EDGE(CR_WAIT_NOTHING, CR_WAIT_TICKET, "it waits for a ticket that is not over")        \
    CR_WAIT_EDGE(CR_WAIT_NOTHING, CR_WAIT_TERMINATE, "it terminates a PD in mode sync")            \
    CR_WAIT_EDGE(CR_WAIT_CHECKPOINT, CR_WAIT_NOTHING, "it is answered, or is down")                \
    CR_WAIT_EDGE(CR_WAIT_CONNECT, CR_WAIT_NOTHING, "it is answered, or is down")                   \
    CR_WAIT_EDGE(CR_WAIT_TICKET, CR_WAIT_NOTHING, "it is answered, or is down")                    \
    CR_WAIT_EDGE(CR_WAIT_TERMINATE, CR_WAIT_NOTHING, "it is answered, or is down")

/* CR_PHASE(enumerator, name, meaning) */
#define CR_PHASES                                                                                  \
    CR_PHASE(CR_PHASE_NONE, "none", "no cleanup is under way")                                     \
    CR_PHASE(CR_PHASE_PLANS, "plans", "the plan is made and written into the trace")               \
    CR_PHASE(CR_PHASE_STEPS, "steps", "the steps are carried out, from the journal's cursor on")   \
    CR_PHASE(CR_PHASE_AWAITS, "awaits", "the cleanup waits for the answers of subscribers")        \
    CR_PHASE(CR_PHASE_SETTLES, "settles", "all steps are done, and the state is printed")

/* CR_PHASE_EDGE(from, to, reason) */
/* clang-format off */
#define CR_PHASE_EDGES                                                                             \
    CR_PHASE_EDGE(CR_PHASE_NONE, CR_PHASE_PLANS, "the oldest trigger is taken from the queue")     \
    CR_PHASE_EDGE(CR_PHASE_PLANS, CR_PHASE_STEPS, "the plan is in the trace")                      \
    CR_PHASE_EDGE(CR_PHASE_STEPS, CR_PHASE_AWAITS,                                                 \
        "the next step awaits answers that are missing")                                           \
    CR_PHASE_EDGE(CR_PHASE_AWAITS, CR_PHASE_STEPS, "no answer is awaited any more")                \
    CR_PHASE_EDGE(CR_PHASE_STEPS, CR_PHASE_SETTLES, "no step is left")                             \
    CR_PHASE_EDGE(CR_PHASE_SETTLES, CR_PHASE_NONE, "the cleanup is over")
/* clang-format on */

typedef enum cr_life {
#define CR_LIFE(enumerator, name, meaning) enumerator,
    CR_LIVES
#undef CR_LIFE
        CR_LIFE_COUNT
} cr_life;

typedef enum cr_wait {
#define CR_WAIT(enumerator, name, meaning) enumerator,
    CR_WAITS
#undef CR_WAIT
        CR_WAIT_COUNT
} cr_wait;

typedef enum cr_phase {
#define CR_PHASE(enumerator, name, meaning) enumerator,
    CR_PHASES
#undef CR_PHASE
        CR_PHASE_COUNT
} cr_phase;

/* Whether the machine has this edge. Any values are valid. */
int cr_life_may(cr_life from, cr_life to);
int cr_wait_may(cr_wait from, cr_wait to);
int cr_phase_may(cr_phase from, cr_phase to);

#ifdef __cplusplus
}
#endif

#endif
