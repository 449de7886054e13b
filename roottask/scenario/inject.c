/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Lets steps of the root task fail where the configuration says so (system/inject.h). */
#include "scenario.h"
#include "system/inject.h"
#include "system/state.h"
#include "system/text.h"

/* The number that a step had when it was left. A lasting error is that of a step. */
typedef struct left_number {
    cr_step_kind kind;
    cr_ref node;
    cr_ref pd;
    uint32_t number;
} left_number;

static cr_injector injector;
static left_number left[CR_IMAGE_MAX_INJECTIONS];
static uint32_t n_left;  /* so far; each takes the place of the oldest */
static uint32_t left_as; /* the number of the step under way if it was left before; else 0 */

static void trace(cr_event event, const cr_image_injection *row)
{
    cr_trace_setting(event, CR_SETTING_FAIL_STEP + row->chain, cr_injected_name(row->how),
                     row->step, row->call, row->always);
}

static void tell_all(void)
{
    for (uint32_t i = 0; i < injector.count; i++) {
        trace(CR_EV_SETTING, &injector.rows[i]);
    }
}

static cr_injected tell(const cr_image_injection *row)
{
    if (row == 0) {
        return CR_INJECTED_COUNT;
    }
    trace(CR_EV_INJECTED, row);
    return (cr_injected)row->how;
}

static uint32_t number_when_left(const cr_step *step)
{
    for (uint32_t i = 0; i < CR_IMAGE_MAX_INJECTIONS && i < n_left; i++) {
        if (left[i].kind == step->kind && cr_same(left[i].node, step->node) &&
            cr_same(left[i].pd, step->pd)) {
            return left[i].number;
        }
    }
    return 0;
}

static cr_injected happens(cr_inject_at at, const cr_step *step)
{
    switch (at) {
    case CR_INJECT_AT_MAKE:
        return tell(cr_inject_step(&injector, CR_CHAIN_MAKE, 0));
    case CR_INJECT_AT_STEP:
        left_as = number_when_left(step);
        break;
    case CR_INJECT_AT_AGAIN:
        break;
    case CR_INJECT_AT_CALL:
        return tell(cr_inject_call(&injector, CR_CHAIN_STEP));
    case CR_INJECT_AT_END:
        return tell(cr_inject_end(&injector, CR_CHAIN_STEP));
    }
    return tell(left_as != 0 ? cr_inject_step_left(&injector, CR_CHAIN_STEP, left_as)
                             : cr_inject_step(&injector, CR_CHAIN_STEP, at == CR_INJECT_AT_AGAIN));
}

static void leave(const cr_step *step)
{
    if (number_when_left(step) == 0) {
        left[n_left++ % CR_IMAGE_MAX_INJECTIONS] =
            (left_number){step->kind, step->node, step->pd, injector.step[CR_CHAIN_STEP]};
    }
}

void cr_inject_begin(void)
{
    static const cr_injections injections = {happens, tell_all, leave};
    const cr_image_header *image = cr_sys.image;
    cr_must(cr_injector_init(&injector, cr_image_injections(image), image->injections.count),
            "the failures to inject were not checked");
    cr_sys.injections = image->injections.count != 0 ? &injections : 0;
}
