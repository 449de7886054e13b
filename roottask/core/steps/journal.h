/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CELLREAP_CORE_JOURNAL_H
#define CELLREAP_CORE_JOURNAL_H

#include <cellreap/steps.h>

/* The phases of a chain. The numbers are in journals. */
typedef enum cr_chain_phase {
    PHASE_SUSPEND_FIRST = 0, /* over doomed */
    PHASE_MARK,              /* over doomed */
    PHASE_TELL,              /* over pre_destroy, by group */
    PHASE_SUSPEND_REST,      /* over doomed */
    PHASE_DESTROY,           /* over doomed, by group */
    PHASE_CORE,              /* over core_freed */
    PHASE_NOTIFY,            /* over notices */
    PHASE_SETTLE,
    PHASE_COUNT
} cr_chain_phase;

static inline int is_same(cr_ref a, cr_ref b)
{
    return a.index == b.index && a.generation == b.generation;
}

/* Writes the checksum. Everything that changes a journal must do this last. */
void cr_journal_seal(cr_journal *journal);

/* Begins a step, or begins it again. CR_ERR_CORRUPT, BUSY: nothing has changed. */
cr_status cr_journal_begin(cr_journal *journal, const cr_step *step);

/* The area for the entries of a phase. CR_LEFT_AREA_COUNT: it has none. */
cr_left_area cr_journal_area(uint32_t phase);
/* Moves the cursor to the next entry. Nothing of the entry at the cursor is left. */
void cr_journal_advance(cr_journal *journal);
/* Moves the cursor to the next phase. */
void cr_journal_next_phase(cr_journal *journal);
/* Whether a step of this kind in PHASE_DESTROY is of the turn of a group's destructors, and not of
 * the destruction of the entry at the cursor. */
int cr_journal_is_turn(uint32_t kind);
/* Such a step is done, or left for good. */
void cr_journal_pass_turn(cr_journal *journal, uint32_t kind);
/* Leaves the entry at the cursor, and advances. CR_ERR_FULL_PLAN. */
cr_status cr_journal_leave(cr_journal *journal);

#endif
