/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The injected failures of the configuration, and what the trace says of them (cellreap/inject.h).
 */
#ifndef CELLREAP_SYSTEM_INJECT_H
#define CELLREAP_SYSTEM_INJECT_H

#include <cellreap/inject.h>

/* Prints INJECT for each. Must be called once, before the first step. */
void cr_inject_start(const cr_image_header *image);

/* The number of the step under way. It is 0 if nothing is injected into steps of cleanups. */
uint32_t cr_inject_number(void);

/* As the functions of cellreap/inject.h, for the injector of the system. CR_INJECTED_COUNT:
 * nothing. Else INJECTED is printed, and what the result says must happen now. */
cr_injected cr_inject_at_step(cr_chain chain, int again);
cr_injected cr_inject_at_left(uint32_t number);
cr_injected cr_inject_at_call(cr_chain chain);
cr_injected cr_inject_at_end(cr_chain chain);

#endif
