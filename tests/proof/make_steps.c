/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Making: chains of any length, whose steps have any kinds, fail at any place with any error and
 * are undone with any. A chain may say something else each time that it is asked. */
#include "any.h"
#include <cellreap/make_steps.h>

static int step(void *context, uint32_t at, cr_make_step *out)
{
    (void)context;
    (void)at;
    MAKE_ANY(out);
    return (int)any();
}

static cr_status carry_out(void *context, const cr_make_step *made)
{
    (void)context;
    (void)cr_make_step_name(made->kind);
    return (cr_status)any();
}

static cr_status undo(void *context, const cr_make_step *made, const cr_make_result *why)
{
    (void)context;
    (void)cr_make_step_name(made->kind);
    (void)cr_make_step_name(why->step.kind);
    return (cr_status)any();
}

static void commit(void *context, const cr_make_step *made)
{
    (void)context;
    (void)cr_make_step_name(made->kind);
}

void main(void)
{
    const cr_make_chain chain = {step, carry_out, undo, commit, 0};
    cr_make_result result = cr_make_run(&chain);
    MAKE_ANY(&result);
    cr_make_undo(&chain, &result);
    (void)cr_made_name((cr_made)any());
    (void)cr_make_step_name((cr_make_kind)any());
}
