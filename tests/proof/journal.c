/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The journal: any journal, be it damaged or not, any step, any epoch, and any bytes to read one
 * from, as many as the caller says. */
#include "any.h"
#include "journal.h"

static uint8_t nothing[1];
static uint8_t too_short[sizeof(cr_journal) - 1];
static uint8_t whole[sizeof(cr_journal)];
static uint8_t too_long[sizeof(cr_journal) + 1];

void main(void)
{
    static cr_journal journal;
    cr_journal other;
    cr_step step;
    MAKE_ANY(&too_short);
    MAKE_ANY(&whole);
    MAKE_ANY(&too_long);
    MAKE_ANY(&other);
    (void)cr_journal_read(nothing, 0, any(), &other);
    (void)cr_journal_read(too_short, sizeof(too_short), any(), &other);
    (void)cr_journal_read(whole, sizeof(whole), any(), &other);
    (void)cr_journal_read(too_long, sizeof(too_long), any(), &other);
    cr_journal_start(&journal, any());
    for (uint32_t i = 0; i < 3; i++) {
        MAKE_ANY(&step);
        (void)cr_step_begin(&journal, any(), &step);
        (void)cr_step_note(&journal, any(), any());
        (void)cr_step_shorten(&journal, any(), any());
        (void)cr_journal_take_over(&journal, any());
        (void)cr_journal_check(&journal);
        (void)cr_step_leave(&journal, any());
        (void)cr_step_done(&journal, any());
        (void)cr_journal_run_again(&journal, any());
        (void)cr_journal_told(&journal, any());
        (void)cr_journal_entry(&journal, (cr_left_area)any(), any());
        MAKE_ANY(&journal);
        (void)cr_journal_leave(&journal);
        cr_journal_next_phase(&journal);
        cr_journal_advance(&journal);
        cr_journal_pack_notices(&journal);
        MAKE_ANY(&journal);
    }
}
