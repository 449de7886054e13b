/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CELLREAP_CORE_JOURNAL_H
#define CELLREAP_CORE_JOURNAL_H

#include <cellreap/steps.h>

/* Writes the checksum. Everything that changes a journal must do this last. */
void cr_journal_seal(cr_journal *journal);

/* Moves the cursor to the next entry in this run over the phase. */
void cr_journal_advance(cr_journal *journal);
/* Begins the second run over the phase. */
void cr_journal_again(cr_journal *journal);
/* Leaves the entry at the cursor, with a step or without one, and advances. CR_ERR_FULL_PLAN. */
cr_status cr_journal_leave(cr_journal *journal, const cr_left_step *step);

#endif
