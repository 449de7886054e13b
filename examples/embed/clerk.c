/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that uses the ledger until it is gone. It rings the root task's bell when it begins, and
 * reports at the root task's desk when it was told of its loss. */
#include "embed.h"
#include <cellreap/client.h>

static uint64_t losses;

static int work(const cr_work_entry *w)
{
    losses += w->kind == CR_NOTICE_LOST;
    return 0;
}

static void tell(uint32_t slot, uint32_t label, uint64_t entries)
{
    uint32_t received;
    const uint64_t words[] = {entries, losses};
    if (cr_call(slot, label, words, 2, 0, 0, &received) != CR_REPLY_BASE) {
        cr_say_text("nobody answers");
    }
}

void cr_main(void)
{
    uint32_t slot, space, received;
    uint64_t entries = 0;
    cr_line line = {0};
    tell(BELL_SLOT, RING, entries);
    if (cr_connect(cr_info()->requests[0], 1, &slot, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    while (cr_call(slot, ENTER, 0, 0, 0, 0, &received) == CR_REPLY_BASE) {
        entries++;
    }
    while (losses == 0) {
        seL4_Word badge;
        (void)seL4_Wait(CR_SLOT_NOTIFICATION, &badge);
        cr_do_work(work);
    }
    cr_say(cr_put(cr_put_number(&line, entries), " entries, and then the ledger was gone"));
    tell(DESK_SLOT, REPORT, entries);
    cr_wait_for_work(work);
}
