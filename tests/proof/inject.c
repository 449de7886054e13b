/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Injections: any rows, as many as an image may have, any number of them, and any counts so far. */
#include "any.h"
#include <cellreap/inject.h>

static cr_image_injection rows[CR_IMAGE_MAX_INJECTIONS];

void main(void)
{
    cr_injector injector;
    MAKE_ANY(&rows);
    if (cr_injector_init(&injector, rows, any()) != CR_OK) {
        return;
    }
    MAKE_ANY(&injector.step);
    MAKE_ANY(&injector.call);
    MAKE_ANY(&injector.happened);
    const cr_chain chain = any() == 0 ? CR_CHAIN_STEP : CR_CHAIN_MAKE;
    (void)cr_inject_step(&injector, chain, (int)any());
    (void)cr_inject_step_left(&injector, chain, any());
    (void)cr_inject_call(&injector, chain);
    (void)cr_inject_end(&injector, chain);
    (void)cr_injected_name(any());
}
