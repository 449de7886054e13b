/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Connects the scenario to the supervisor. See scenario.h. A root task without a scenario links
 * bare.c instead of this folder. */
#include "scenario.h"
#include "kernel/debug.h"
#include "root.h"
#include <cellreap/numbers.h>

static int handled(void)
{
    cr_director_handled();
    return !cr_quiet_is_over();
}

const cr_hooks *cr_root_hooks(void)
{
    static const cr_hooks hooks = {
        .checkpoint = cr_director_checkpoint,
        .release = cr_director_release,
        .alarm = cr_director_alarm,
        .signal = cr_quiet_signal,
        .begun = cr_director_handled,
        .handled = handled,
    };
    return &hooks;
}

/* Leaves few numbers, and few uses of each entry of a table, as the configuration says. */
static void leave_few(const cr_image_header *image)
{
    cr_sys.next_pd = cr_first_number(CR_LAST_PD, image->numbers_left);
    cr_sys.next_space = cr_first_number(CR_LAST_SPACE, image->numbers_left);
    cr_sys.first_object = cr_first_number(CR_LAST_OBJECT, image->numbers_left);
    if (image->generations_left == 0) {
        return;
    }
    const uint32_t used = cr_first_number(CR_LAST_GENERATION, image->generations_left) - 1;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_sys.pds[i].generation = used;
    }
    for (uint32_t i = 0; i < cr_most.requests; i++) {
        cr_sys.requests[i].generation = used;
    }
    cr_must(cr_model_age(cr_sys.model, image->generations_left),
            "the entries of the model cannot be aged");
}

void cr_root_begin(seL4_CPtr untyped, seL4_CPtr bound)
{
    cr_inject_begin();
    cr_director_begin();
    leave_few(cr_sys.image);
    cr_quiet_begin(untyped, bound);
}

void cr_root_ready(void)
{
    if ((cr_sys.image->flags & CR_IMAGE_SNAPSHOT) != 0) {
        cr_debug_snapshot();
    }
}
