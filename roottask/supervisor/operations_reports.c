/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations of listeners: reports, and the progress of a cleanup. See operations.h for the rules
 * of checks. Only PDs that the configuration permits may listen. */
#include "arena.h"
#include "reports.h"
#include "supervisor.h"

static cr_result may_listen(const cr_asked *a)
{
    return (a->from->flags & CR_IMAGE_MAY_LISTEN) != 0 ? CR_RESULT_OK : CR_RESULT_DENIED;
}

cr_result cr_check_listen(cr_asked *a)
{
    return may_listen(a);
}

void cr_do_listen(cr_asked *a)
{
    const cr_report *report = cr_report_after(a->args.token);
    a->count = CR_REPORT_WORDS;
    if (report == 0) {
        a->from->has_reports = 0;
    }
    for (uint32_t i = 0; i < CR_REPORT_WORDS; i++) {
        a->results[i] = report != 0 ? report->words[i] : 0;
    }
}

/* The cleanup of this number that is under way, or 0. Number 0: the one that began last. */
static const cr_cleanup *find(uint64_t number)
{
    const cr_cleaner *cleaner = &cr_sup.cleaner;
    const cr_cleanup *found = cleaner->now.phase != CR_PHASE_NONE ? &cleaner->now : 0;
    if (found != 0 && number != 0 && found->tag != number) {
        found = 0;
    }
    for (uint32_t i = 0; i < cleaner->n_kept; i++) {
        const cr_cleanup *kept = &cleaner->kept[i];
        if (!kept->left &&
            (number == 0 ? found == 0 || kept->tag > found->tag : kept->tag == number)) {
            found = kept;
        }
    }
    return found;
}

cr_result cr_check_progress(cr_asked *a)
{
    const cr_result result = may_listen(a);
    if (result != CR_RESULT_OK || find(a->args.token) != 0) {
        return result;
    }
    return a->args.token > cr_sys.cleanups || cr_sys.cleanups == 0 ? CR_RESULT_NO_SUCH
                                                                   : CR_RESULT_GONE;
}

void cr_do_progress(cr_asked *a)
{
    const cr_cleanup *cleanup = find(a->args.token);
    if (cleanup == 0) {
        cr_panic("a cleanup that was found is not there", a->args.token);
    }
    a->count = CR_PROGRESS_WORDS;
    a->results[0] = cleanup->tag;
    a->results[1] = cleanup->journal.done;
    a->results[2] = cleanup->steps;
}
