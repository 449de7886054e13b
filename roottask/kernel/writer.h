/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Two threads of the root task that write to the console. They take turns, so that nobody waits for
 * the console and no line is torn. The pump has a priority below that of every PD: it runs when
 * nobody else wants the processor, and then has the writer write one piece. The writer has the
 * highest priority, so neither a PD nor a message of the kernel about a PD comes into the middle of
 * a piece. What an interrupt makes ready then waits for the rest of that piece, and for no more.
 *
 * The threads of the supervisor never write. When they must have it done, they wait until it is.
 *
 * If the machine stops for good, what waits is lost. So the main thread has lines written before
 * PDs go on, if more than CR_TRACE_BEHIND wait: CR_TRACE_FEW at least, since a frame for each line
 * costs more. A message that leads to more than CR_TRACE_FEW lines, such as a fault, is an
 * exception, because PDs wait for what follows from it. CR_TRACE_MOST bounds the lines that wait at
 * any time (cellreap/trace.h). */
#ifndef CELLREAP_SEL4_WRITER_H
#define CELLREAP_SEL4_WRITER_H

#include "kernel.h"

enum {
    CR_WRITER_SLOTS = 5 /* two TCBs and three notifications */
};

/* Makes the threads from an untyped with room for two TCBs and three notifications, and starts
 * them. `write` writes one piece, of at most so many lines, and returns their number; `is_left`
 * tells whether there is one. Both must not use the IPC buffer. Stops the system if there is an
 * error. */
void cr_writer_init(seL4_CPtr untyped, uint32_t (*write)(uint32_t most), int (*is_left)(void));
/* There may be something to write. */
void cr_writer_wake(void);
/* For each interrupt of a timer: if the pump did not come to its end since the last one, because
 * something else runs all the time, CR_TRACE_FEW lines are written now. */
void cr_writer_lend(void);
/* For each message, before PDs go on. `recorded`: lines since the start; `waiting`: those of them
 * that are not written. Returns when no more wait than may. */
void cr_writer_keep_up(uint64_t recorded, uint64_t waiting);
/* Whether there is something left that the pump has not come to. */
int cr_writer_is_behind(void);
/* Returns when so many lines are written, or nothing is left to write. The caller may be in the
 * middle of serving a call: it can still reply. */
void cr_writer_wait(uint64_t lines);

#endif
