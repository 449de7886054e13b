/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints what it is told of cleanups, and how far the one is that has just begun.
 *
 * Argument 0: the number of reports after which it stops listening; 0: it listens for ever. */
#include <cellreap/client.h>

static const char *const names[] = {
#define CR_REPORT(enumerator, number, word, ...) [enumerator] = word,
    CR_REPORTS
#undef CR_REPORT
};

static void put(cr_line *line, const char *text, uint64_t number)
{
    cr_put_number(cr_put(line, text), number);
}

static void look(cr_line *line)
{
    uint64_t cleanup;
    uint32_t done;
    uint32_t steps;
    if (cr_cleanup_progress(0, &cleanup, &done, &steps) == CR_RESULT_OK) {
        put(line, "; under way: cleanup ", cleanup);
        put(line, ", ", done);
        put(line, " of ", steps);
    }
}

static void tell(const cr_report_info *report)
{
    cr_line line = {0};
    put(&line, "", report->number);
    cr_put(cr_put(&line, " "), names[report->kind]);
    put(&line, ": cleanup ", report->cleanup);
    put(&line, ", PD ", report->pd);
    put(&line, ", step ", report->step);
    put(&line, " of ", report->steps);
    put(&line, ", kind ", report->step_kind);
    put(&line, ", space ", report->space);
    put(&line, ", object ", report->object);
    put(&line, ", attempts ", report->attempts);
    put(&line, ", result ", (uint64_t)report->result);
    look(&line);
    cr_say(&line);
}

void cr_main(void)
{
    const uint64_t most = cr_info()->args[0];
    uint64_t seen = 0;
    seL4_Word badge;
    for (;;) {
        cr_report_info report;
        while ((most == 0 || seen < most) && cr_listen(seen, &report) == CR_RESULT_OK &&
               report.number != 0) {
            tell(&report);
            seen = report.number;
        }
        (void)seL4_Wait(CR_SLOT_NOTIFICATION, &badge);
    }
}
