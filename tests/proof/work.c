/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Every function on notices, with any arguments. Notices, lanes, receivers and tables have any
 * bytes; only the sizes and the pointers to them are as cr_work_init leaves them. */
#include "any.h"
#include <cellreap/protocol.h>

#include "../../roottask/core/work/work.c"

#ifndef OPERATION /* one of the operations below, for a shorter analysis */
#define OPERATION any()
#endif

enum { NOTICES = 4096, RECEIVERS = 64 };

static item items[NOTICES];
static lane lanes[NOTICES];
static receiver receivers[RECEIVERS];
static uint32_t by_token[NOTICES];
static uint32_t by_key[NOTICES];
static uint64_t small_memory[200];

static cr_work any_work(void)
{
    cr_work work;
    MAKE_ANY(&items);
    MAKE_ANY(&lanes);
    MAKE_ANY(&receivers);
    MAKE_ANY(&by_token);
    MAKE_ANY(&by_key);
    MAKE_ANY(&work);
    work.n_items = NOTICES;
    work.n_receivers = RECEIVERS;
    work.n_buckets = NOTICES;
    work.items = items;
    work.lanes = lanes;
    work.receivers = receivers;
    work.by_token = by_token;
    work.by_key = by_key;
    return work;
}

void main(void)
{
    static cr_work_notice notices[CR_WORK_MAX];
    static cr_work_answer answers[CR_WORK_MAX];
    cr_work work = any_work();
    cr_work *made = 0;
    cr_work_cursor cursor;
    uint32_t a;
    uint32_t b;
    MAKE_ANY(&notices);
    MAKE_ANY(&answers);
    MAKE_ANY(&cursor);
    switch (OPERATION) {
    case 0:
        (void)cr_work_room(&work);
        break;
    case 1:
        (void)cr_work_has(&work, any_64());
        break;
    case 2:
        (void)cr_work_ready(&work, any());
        break;
    case 3:
        (void)cr_work_pending_of(&work, any(), (cr_notice_kind)any());
        break;
    case 4:
        (void)cr_work_charged(&work, any());
        break;
    case 5:
        (void)cr_work_put(&work, any(), notices);
        break;
    case 6:
        (void)cr_work_fetch(&work, any(), at_most(CR_WORK_MAX), notices, &a);
        break;
    case 7:
        (void)cr_work_look(&work, any(), any_64(), notices);
        break;
    case 8:
        (void)cr_work_check(&work, any(), answers, at_most(CR_WORK_MAX));
        break;
    case 9:
        (void)cr_work_finish(&work, any(), answers, notices);
        break;
    case 10:
        (void)cr_work_failed(&work, any(), any(), notices);
        break;
    case 11:
        (void)cr_work_resume(&work, any(), any());
        break;
    case 12:
        (void)cr_work_is_left((cr_notice_kind)any());
        break;
    case 13:
        (void)cr_work_set_receiver(&work, any(), (uint8_t)any(), any());
        break;
    case 14:
        (void)cr_work_next_unseen(&work, any(), &cursor, notices);
        break;
    case 15:
        (void)cr_work_withdraw(&work, any(), any_64(), notices);
        break;
    case 16:
        (void)cr_work_merge(&work, any(), any_64());
        break;
    case 17:
        (void)cr_work_take(&work, any(), notices, &a);
        break;
    case 18:
        (void)cr_work_next(&work, any(), &cursor, notices);
        break;
    case 19:
        (void)cr_work_untag(&work, any(), any_64());
        break;
    case 20:
        cr_work_count_of(&work, any(), any(), &a, &b);
        break;
    case 21:
        (void)cr_work_bytes(any(), any());
        break;
    default:
        (void)cr_work_init(small_memory, at_most(sizeof(small_memory)), 2, 2, &made);
        break;
    }
}
