/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Numbers that are given once and never again. When the last one is given, what needs another is
 * refused with FULL. No counter wraps.
 *
 * Tokens and tickets have 64 bits. Every cleanup destroys a PD, so there are no more cleanups than
 * PDs, and the number of a cleanup fits wherever that of a PD does. */
#ifndef CELLREAP_NUMBERS_H
#define CELLREAP_NUMBERS_H

#include <stdint.h>

enum {
    CR_LAST_PD = 0x0fffffff,         /* fits the 28 bits in the state of a slot (system.h) */
    CR_LAST_SPACE = 0x0fffffff,      /* fits the 28 bits of a badge */
    CR_LAST_OBJECT = 0x7fffffff,     /* of one space */
    CR_LAST_EXTRACTION = 0x7fffffff, /* the tag of its notices has one more bit */
    /* of an entry in the table of PDs or requests: the 28 bits of a badge. The entry is not used
     * again after it. Nodes of the model: CR_GENERATION_MAX. */
    CR_LAST_GENERATION = 0x0fffffff
};

/* The number to begin with so that `left` numbers are left. 0: all from 1 on. */
static inline uint32_t cr_first_number(uint32_t last, uint32_t left)
{
    return left == 0 || left >= last ? 1 : last - left + 1;
}

/* Whether a counter can still give its next number. `next` may exceed `last` by 1. */
static inline int cr_number_left(uint32_t next, uint32_t last)
{
    return next <= last;
}

#endif
