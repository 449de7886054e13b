/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations on notices: fetching, acknowledging, and resuming a lane. See operations.h for the
 * rules of checks. */
#include "supervisor.h"

cr_result cr_check_get_work(cr_asked *a)
{
    (void)a;
    return CR_RESULT_OK;
}

void cr_do_get_work(cr_asked *a)
{
    cr_work_notice notices[CR_WORK_MAX];
    uint32_t count = 0;
    cr_must(cr_work_fetch(cr_sys.work, cr_receiver(a->from), CR_WORK_MAX, notices, &count),
            "there is no such receiver");
    a->results[0] = count > 0 ? (uint64_t)notices[0].kind : 0;
    a->results[1] = count;
    a->count = 2 + count * CR_WORK_WORDS;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *out = &a->results[2 + i * CR_WORK_WORDS];
        out[0] = notices[i].token;
        out[1] = notices[i].space;
        out[2] = notices[i].object;
        out[3] = notices[i].pd;
        out[4] = notices[i].broken;
        cr_trace_notice(CR_CHANGE_FETCHED, a->from, notices[i].token);
    }
}

/* Whether all acknowledgements can be accepted. A message is accepted as a whole or not at all. */
cr_result cr_check_finish_work(cr_asked *a)
{
    uint32_t more = 0; /* notices that these acknowledgements cause */
    for (uint32_t i = 0; i < a->args.count; i++) {
        const cr_finish_answer *answer = &a->args.answers[i];
        a->found.answers[i] = (cr_work_answer){answer->token, answer->result == CR_WORK_FAILED};
    }
    switch (cr_work_check(cr_sys.work, cr_receiver(a->from), a->found.answers, a->args.count)) {
    case CR_OK:
        break;
    case CR_ERR_STATE:
        return CR_RESULT_DENIED;
    default:
        return CR_RESULT_NO_SUCH;
    }
    for (uint32_t i = 0; i < a->args.count; i++) {
        const cr_finish_answer *answer = &a->args.answers[i];
        cr_work_notice notice;
        if (answer->result != CR_WORK_BY_RESOURCE) {
            continue;
        }
        if (cr_work_look(cr_sys.work, cr_receiver(a->from), answer->token, &notice) != CR_OK) {
            return CR_RESULT_NO_SUCH;
        }
        cr_result result = cr_extract_may_split(a->from, &notice, &more);
        if (result != CR_RESULT_OK) {
            return result;
        }
    }
    return CR_RESULT_OK;
}

void cr_do_finish_work(cr_asked *a)
{
    static const char *const names[] = {
#define CR_WORK_RESULT(enumerator, number, name, ...) [enumerator] = name,
        CR_WORK_RESULTS
#undef CR_WORK_RESULT
    };
    int busy = cr_work_ready(cr_sys.work, cr_receiver(a->from));
    for (uint32_t i = 0; i < a->args.count; i++) {
        const cr_work_answer *answer = &a->found.answers[i];
        cr_work_notice notice;
        cr_must(cr_work_finish(cr_sys.work, cr_receiver(a->from), answer, &notice),
                "a notice that was checked is not there");
        cr_trace_begin(&cr_sys.trace, CR_EV_FINISH_WORK);
        cr_trace_pd(a->from);
        cr_trace_number(&cr_sys.trace, notice.token);
        cr_trace_string(&cr_sys.trace, names[a->args.answers[i].result]);
        cr_trace_end(&cr_sys.trace);
        cr_progress_made(a->from, &notice);
        cr_notice_over(a->from, &notice, answer->failed ? CR_NOTICE_FAILED : CR_NOTICE_DONE);
        if (!answer->failed) {
            cr_tombstone_told(a->from, &notice);
        }
        if (notice.kind == CR_NOTICE_LOST && !answer->failed) {
            cr_free_lost_slots(a->from, &notice);
        }
        if (a->args.answers[i].result == CR_WORK_BY_RESOURCE) {
            cr_extract_split(a->from, &notice);
        }
        if (answer->failed) {
            cr_notices_changed();
        }
        if (notice.kind == CR_NOTICE_FAULT) {
            cr_fault_answered(&notice, answer->failed != 0);
        }
    }
    /* Notices behind the acknowledged ones can be fetched now. */
    if (!busy && cr_work_ready(cr_sys.work, cr_receiver(a->from))) {
        cr_notice_signal(a->from);
    }
}

cr_result cr_check_resume_work(cr_asked *a)
{
    uint32_t me = cr_receiver(a->from);
    cr_status status = cr_work_failed(cr_sys.work, me, a->args.space, &a->found.notice);
    return status == CR_OK ? CR_RESULT_OK : CR_RESULT_NO_SUCH;
}

void cr_do_resume_work(cr_asked *a)
{
    int busy = cr_work_ready(cr_sys.work, cr_receiver(a->from));
    cr_must(cr_work_resume(cr_sys.work, cr_receiver(a->from), a->args.space),
            "a notice that failed is not there");
    cr_trace_notice(CR_CHANGE_RESUMED, a->from, a->found.notice.token);
    cr_notices_changed();
    cr_clock_watch();
    if (!busy) {
        cr_notice_signal(a->from);
    }
}
