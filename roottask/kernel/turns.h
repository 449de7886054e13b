/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Turn threads: threads of the root task that show that the PDs of one priority can run. There is
 * one for each priority. When it is asked, it gives up the processor once and then counts. The
 * kernel serves the threads of one priority in turn, so a thread of that priority that could run
 * when the turn thread was asked has had the processor when the turn thread counts. A thread that
 * cannot run because of threads of higher priorities is not counted against.
 *
 * It can also be had to signal the main thread when it has counted.
 *
 * A turn thread must not use the IPC buffer, which belongs to the root task's main thread, and must
 * change nothing but its own entry. */
#ifndef CELLREAP_SEL4_TURNS_H
#define CELLREAP_SEL4_TURNS_H

#include "kernel.h"
#include <cellreap/limits.h>

/* The slots of a turn thread: its TCB and its notification. */
enum { CR_TURNS_SLOTS = 2 };

/* Makes a turn thread for each priority whose entry in `wanted` is not 0. `wanted` has
 * CR_PRIORITY_MAX + 1 entries. `signal`: what signals the main thread. Must be called once, during
 * setup. Stops the system if there is no room. */
void cr_turns_init(const uint8_t *wanted, seL4_CPtr signal);
/* Asks the turn thread of a priority, unless it was asked and has not answered yet. Makes at most
 * one kernel call. */
void cr_turns_ask(uint32_t priority);
/* Whether the turn thread of a priority has answered since it was asked. Each answer is returned
 * once. 0 if there is no such turn thread. */
int cr_turns_answered(uint32_t priority);
/* The turn thread of a priority is to signal the main thread when the PDs of that priority have had
 * their turn from now on. The call is not counted. Returns 0 if there is no such turn thread. */
int cr_turns_tell(uint32_t priority);
/* Whether it has not done so yet. */
int cr_turns_tells(uint32_t priority);

#endif
