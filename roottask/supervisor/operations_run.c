/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations for text output and checkpoints. See operations.h for the rules of checks. The number
 * of lines of a PD is limited, so that a PD cannot fill the console. */
#include "supervisor.h"

cr_result cr_check_say(cr_asked *a)
{
    return a->from->says < CR_MAX_SAYS ? CR_RESULT_OK : CR_RESULT_FULL;
}

void cr_do_say(cr_asked *a)
{
    a->from->says++;
    cr_trace_begin(&cr_sys.trace, CR_EV_SAY);
    cr_trace_pd(a->from);
    cr_trace_bytes(&cr_sys.trace, a->args.text, a->args.count);
    cr_trace_end(&cr_sys.trace);
}

cr_result cr_check_checkpoint(cr_asked *a)
{
    (void)a;
    return CR_RESULT_OK;
}

void cr_do_checkpoint(cr_asked *a)
{
    const cr_hooks *hooks = cr_sup.hooks;
    uint64_t order = CR_ORDER_CONTINUE;
    uint32_t slot = 0;
    if (hooks != 0 && hooks->checkpoint != 0 &&
        hooks->checkpoint(a->from, a->args.round_boundary != 0, &order, &slot) == CR_HOOK_KEEP) {
        a->wait = CR_WAIT_CHECKPOINT;
    }
    a->results[0] = order;
    a->results[1] = slot;
    a->count = 2;
}
