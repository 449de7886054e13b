/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Injected failures, for tests. The configuration names the step of a chain at which something
 * fails, and how. This part counts the steps and their kernel calls and says when it is time. Who
 * runs the steps makes it happen.
 *
 * The steps of a chain are counted from 1, over all chains of that kind since boot. A step that is
 * attempted again keeps its number, also if it was left in between. The kernel calls of each
 * attempt are counted from 1. A step of several notices or resources counts a call between each
 * two of them too. */
#ifndef CELLREAP_INJECT_H
#define CELLREAP_INJECT_H

#include <cellreap/image.h>
#include <cellreap/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CR_CHAIN(enumerator, number, word, what its steps are) */
#define CR_CHAINS                                                                                  \
    CR_CHAIN(CR_CHAIN_STEP, 0, "step", "steps of cleanups")                                        \
    CR_CHAIN(CR_CHAIN_MAKE, 1, "make", "steps that make PDs, spaces, resources and edges")

typedef enum cr_chain {
#define CR_CHAIN(enumerator, number, ...) enumerator = number,
    CR_CHAINS
#undef CR_CHAIN
        CR_CHAIN_COUNT
} cr_chain;

/* CR_INJECTION(enumerator, number, word, what happens) */
#define CR_INJECTIONS                                                                              \
    CR_INJECTION(CR_INJECTED_FAULT, 0, "fault", "who runs the step faults")                        \
    CR_INJECTION(CR_INJECTED_ERROR, 1, "error", "the step, or the kernel call, is refused")        \
    CR_INJECTION(CR_INJECTED_HANG, 2, "hang", "who runs the step does not go on")

typedef enum cr_injected {
#define CR_INJECTION(enumerator, number, ...) enumerator = number,
    CR_INJECTIONS
#undef CR_INJECTION
        CR_INJECTED_COUNT
} cr_injected;

typedef struct cr_injector {
    const cr_image_injection *rows;
    uint32_t count;
    uint32_t step[CR_CHAIN_COUNT];              /* the number of the step under way */
    uint32_t last[CR_CHAIN_COUNT];              /* the largest number so far */
    uint32_t call[CR_CHAIN_COUNT];              /* its kernel calls so far */
    uint32_t happened[CR_IMAGE_MAX_INJECTIONS]; /* how often */
} cr_injector;

/* `rows` must stay. CR_ERR_ARG: there are too many, or one names no chain, step or failure. */
cr_status cr_injector_init(cr_injector *injector, const cr_image_injection *rows, uint32_t count);

/* A step of the chain begins. `again`: it is the last one, which is attempted again. Each of the
 * functions that follow returns what is to happen now, or 0. What is not `always` happens once, or
 * as often as the row says. */
const cr_image_injection *cr_inject_step(cr_injector *injector, cr_chain chain, int again);
/* A step begins that was left. `number`: that which it had. */
const cr_image_injection *cr_inject_step_left(cr_injector *injector, cr_chain chain,
                                              uint32_t number);
/* The step is about to make a kernel call, or goes on to the next of its notices or resources. */
const cr_image_injection *cr_inject_call(cr_injector *injector, cr_chain chain);
/* The step was carried out, and nothing says so yet. */
const cr_image_injection *cr_inject_end(cr_injector *injector, cr_chain chain);

const char *cr_injected_name(uint32_t how);

#ifdef __cplusplus
}
#endif

#endif
