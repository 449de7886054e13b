/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where the root task lets its own steps fail, for tests. The scenario links what makes them fail
 * (scenario/inject.c). Without it, or if the configuration injects nothing, nothing does. */
#ifndef CELLREAP_SYSTEM_INJECT_H
#define CELLREAP_SYSTEM_INJECT_H

#include "system/system.h"
#include <cellreap/inject.h>
#include <cellreap/steps.h>

typedef enum cr_inject_at {
    CR_INJECT_AT_MAKE = 0, /* before a step of making */
    CR_INJECT_AT_STEP,     /* before a step of a cleanup */
    CR_INJECT_AT_AGAIN,    /* before a further attempt of it */
    CR_INJECT_AT_CALL,     /* in it, before a kernel call or between two notices or resources */
    CR_INJECT_AT_END       /* it was carried out, and nothing says so yet */
} cr_inject_at;

typedef struct cr_injections {
    /* CR_INJECTED_COUNT: nothing. Else INJECTED is printed, and what the result says must happen
     * now. `step`: of the cleanup, else 0. */
    cr_injected (*happens)(cr_inject_at at, const cr_step *step);
    /* A SETTING for each failure that the configuration has happen. */
    void (*tell)(void);
    /* A step of a cleanup is left. It keeps its number when it is attempted again. */
    void (*leave)(const cr_step *step);
} cr_injections;

static inline cr_injected cr_injected_at(cr_inject_at at, const cr_step *step)
{
    return cr_sys.injections != 0 ? cr_sys.injections->happens(at, step) : CR_INJECTED_COUNT;
}

#endif
