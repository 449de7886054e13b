/* SPDX-License-Identifier: BSD-2-Clause */
#include "inject.h"
#include "system.h"
#include "text.h"

static cr_injector injector;

static void trace(cr_event event, const cr_image_injection *row)
{
    const int end = row->call == CR_IMAGE_STEP_END;
    cr_trace_begin(&cr_sys.trace, event);
    cr_trace_string(&cr_sys.trace, cr_chain_name(row->chain));
    cr_trace_number(&cr_sys.trace, row->step);
    cr_trace_number(&cr_sys.trace, end ? 0 : row->call);
    cr_trace_number(&cr_sys.trace, (uint64_t)end);
    cr_trace_string(&cr_sys.trace, cr_injected_name(row->how));
    cr_trace_number(&cr_sys.trace, row->always == 1);
    cr_trace_number(&cr_sys.trace, row->always > 1 ? row->always : 1 - row->always);
    cr_trace_end(&cr_sys.trace);
}

static cr_injected tell(const cr_image_injection *row)
{
    if (row == 0) {
        return CR_INJECTED_COUNT;
    }
    trace(CR_EV_INJECTED, row);
    return (cr_injected)row->how;
}

void cr_inject_start(const cr_image_header *image)
{
    const cr_image_injection *rows = cr_image_injections(image);
    if (cr_injector_init(&injector, rows, image->injections.count) != CR_OK) {
        cr_panic("the failures to inject were not checked", image->injections.count);
    }
    for (uint32_t i = 0; i < image->injections.count; i++) {
        trace(CR_EV_INJECT, &rows[i]);
    }
}

cr_injected cr_inject_at_step(cr_chain chain, int again)
{
    return tell(cr_inject_step(&injector, chain, again));
}

uint32_t cr_inject_number(void)
{
    return injector.count > 0 ? injector.step[CR_CHAIN_STEP] : 0;
}

cr_injected cr_inject_at_left(uint32_t number)
{
    return tell(cr_inject_step_left(&injector, CR_CHAIN_STEP, number));
}

cr_injected cr_inject_at_call(cr_chain chain)
{
    return tell(cr_inject_call(&injector, chain));
}

cr_injected cr_inject_at_end(cr_chain chain)
{
    return tell(cr_inject_end(&injector, chain));
}
