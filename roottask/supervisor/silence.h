/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A system in which nothing happens: the root task says once what each PD does, as far as it can
 * know. It has no influence on anything. Registers are read twice: a PD that waits in the kernel
 * has the same registers both times. A PD that makes the same system call again and again can have
 * them too, and the kernel does not tell. */
#ifndef CELLREAP_SUPERVISOR_SILENCE_H
#define CELLREAP_SUPERVISOR_SILENCE_H

#include "system/system.h"

typedef struct cr_silence {
    uint64_t heard;  /* the number of events when it began, without CLOCK, HELD_UP */
    uint64_t ns;     /* how long it has lasted */
    uint64_t looked; /* `ns` at the first look; 0: it is still to come */
    int told;
    uint8_t chance[CR_PRIORITY_MAX + 1]; /* PDs of this priority had the processor since then */
    struct {
        uint32_t number; /* of the PD */
        uint64_t sum;    /* over its registers */
    } *seen;             /* by index of a PD */
    uint8_t *told_of;    /* by cr_silence_tell_waits */
} cr_silence;

/* Whether time must be counted: the present silence was not told yet. */
int cr_silence_counts(void);
/* So many nanoseconds have passed. After everything that follows from that. */
void cr_silence_tick(uint64_t ns);
/* At the end of a run: tells of each PD that waits in a call or for its fault handler, and of whom
 * it waits for, by one look. rests: no PD can run, except background computations. Else a PD that
 * is about to make a call is told of like one that waits. */
void cr_silence_tell_waits(int rests);

#endif
