/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Counts the root task's time for the PDs that ask, and lets them rest. The kernel serves the
 * threads of one priority in turn, but it counts the time of the root task for nobody. So a PD that
 * asks for ever would keep its turn for ever. What a message costs is counted for the PD that sent
 * it. A PD that has used its share (CR_SHARE) rests after its answer: its thread is suspended until
 * the other PDs of its priority have had their turn. Who used several shares at once rests for as
 * many turns.
 *
 * The cost is a count of what was done, and no time. So runs repeat, and no kernel need leave a
 * timer or a counter to user level. */
#ifndef CELLREAP_SUPERVISOR_SHARE_H
#define CELLREAP_SUPERVISOR_SHARE_H

#include "system/system.h"

typedef struct cr_share {
    uint64_t begun; /* what had been done before the message that is being handled */
    int others_ran; /* PDs have run since it came */
} cr_share;

/* A message is about to be handled, and with it all that follows from it. */
void cr_share_begin(void);
/* PDs may run from here on, though the message is not handled to its end. */
void cr_share_interrupt(void);
/* It was handled. `badge`: that of its sender. Charges the PD, and has it rest if it used its
 * share. If PDs have run meanwhile, it may be in a call, which must not be made twice: then it
 * rests after its next message. */
void cr_share_end(uint64_t badge);
/* The PDs of some priority have had their turn: those that rested go on. */
void cr_share_turn(void);

#endif
