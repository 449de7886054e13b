/* SPDX-License-Identifier: BSD-2-Clause
 *
 * PDs that a program spawns, and whose capabilities it gives to each other.
 *
 * Argument 0 of the program: the number of the space of PDs. */
#ifndef CHILDREN_H
#define CHILDREN_H

#include <cellreap/client.h>

enum { CHILDREN = 5, ATTEMPTS = 1000 };

typedef struct child {
    uint32_t slot;
    uint32_t number;
} child;

static inline child spawn(void)
{
    child made;
    cr_say_check("spawn", cr_spawn("orphan", &made.slot, &made.number), CR_RESULT_OK);
    return made;
}

/* Gives the capability to a PD to the PD whose capability is in slot `to`, as soon as that one
 * allows it. */
static inline void give(child what, uint32_t to)
{
    cr_result result = CR_RESULT_UNWANTED;
    for (uint32_t i = 0; i < ATTEMPTS && result == CR_RESULT_UNWANTED; i++) {
        seL4_Yield();
        result = cr_send((uint32_t)cr_info()->args[0], what.number, to, 0, 0);
    }
    cr_say_check("send", result, CR_RESULT_OK);
}

#endif
