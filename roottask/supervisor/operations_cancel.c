/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Cancellation of what has not taken effect. See operations.h for the rules of checks. A PD must
 * cancel only what is its own, or what belongs to a PD that it may terminate. Whoever waits for
 * what is cancelled is answered exactly once. */
#include "connect.h"
#include "supervisor.h"

static void trace_cancel(const cr_asked *a, const cr_pd *of, uint64_t ticket, const char *name)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_CANCEL);
    cr_trace_pd(a->from);
    if (of != 0) {
        cr_trace_pd(of);
    } else {
        cr_trace_string(&cr_sys.trace, "-");
    }
    cr_trace_number(&cr_sys.trace, ticket);
    cr_trace_string(&cr_sys.trace, name);
    cr_trace_end(&cr_sys.trace);
}

/* An extraction takes effect at its end, and a termination when its PD is stopped. A collection is
 * never cancelled: others may have asked for it too. */
static int can_be_cancelled(const cr_ticket *t)
{
    switch (t->kind) {
    case CR_TICKET_EXTRACTION:
        return t->state == CR_TICKET_RUNNING;
    case CR_TICKET_TERMINATION:
        return t->state == CR_TICKET_QUEUED && cr_is_terminated_later(t->what);
    case CR_TICKET_COLLECTION:
    default:
        return 0;
    }
}

/* Whoever has the capability to a PD can terminate it, and so cancel what it waits for. */
cr_result cr_check_cancel(cr_asked *a)
{
    cr_result result = cr_find_named_or_self(a, &a->found.pd);
    if (result != CR_RESULT_OK) {
        return result;
    }
    const cr_pd *of = a->found.pd;
    if (a->args.ticket != 0) {
        result = cr_ticket_check(of, a->args.ticket);
        return result == CR_RESULT_OK && !can_be_cancelled(cr_ticket_of(a->args.ticket))
                   ? CR_RESULT_GONE
                   : result;
    }
    return cr_pd_is_served(of) && of->wait == CR_WAIT_CONNECT ? CR_RESULT_OK : CR_RESULT_NO_SUCH;
}

void cr_do_cancel(cr_asked *a)
{
    cr_pd *of = a->found.pd;
    if (a->args.ticket == 0) {
        trace_cancel(a, of, 0, of->wanted);
        cr_connect_cancel(of);
        return;
    }
    const cr_ticket *t = cr_ticket_of(a->args.ticket);
    trace_cancel(a, of, t->number, "-");
    cr_ticket_cancel(t->number);
    if (t->kind == CR_TICKET_EXTRACTION) {
        cr_extract_cancel(t->number);
    } else {
        cr_trigger_cancel(t->what);
    }
}

cr_result cr_check_stay_down(cr_asked *a)
{
    return cr_population_may_cancel(a->from, a->args.name, &a->found.config);
}

void cr_do_stay_down(cr_asked *a)
{
    trace_cancel(a, 0, 0, a->args.name);
    cr_population_cancel(a->found.config);
}
