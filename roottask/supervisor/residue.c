/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What cleanups left. See residue.h. */
#include "residue.h"
#include "arena.h"
#include "execution.h"
#include "clock.h"
#include "kept.h"

int cr_residue_any(void)
{
    return cr_kept_count(1) > 0 || cr_sup.residues.for_good > 0;
}

int cr_residue_leaves(void)
{
    const cr_cleanup *now = &cr_sup.cleaner.now;
    if (now->journal.n_kept == 0) {
        return 0;
    }
    if (now->runs == 0 && cr_kept_count(1) == CR_MAX_RESIDUES) {
        cr_sup.residues.for_good++;
        return 0;
    }
    return 1;
}

void cr_residue_keep(void)
{
    cr_cleanup *now = &cr_sup.cleaner.now;
    if (now->runs == 0) {
        now->delay_ms = cr_sys.image->await_ms != 0 ? cr_sys.image->await_ms : 1;
    }
    now->occasion = cr_sup.residues.occasions;
    now->due = cr_clock_due(now->delay_ms);
    now->delay_ms =
        2 * now->delay_ms < CR_RESIDUE_DELAY_MS_MAX ? 2 * now->delay_ms : CR_RESIDUE_DELAY_MS_MAX;
    cr_kept_put(1);
}

void cr_residue_try_all(void)
{
    cr_sup.residues.occasions++;
}

/* -- later runs */

static int is_due(const cr_cleanup *cleanup)
{
    return cleanup->left && (cleanup->occasion != cr_sup.residues.occasions ||
                             (cleanup->due != 0 && cleanup->due <= cr_sup.clock.base));
}

int cr_residue_take_due(void)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    uint32_t at = 0;
    while (at < cleaner->n_kept && !is_due(&cleaner->kept[at])) {
        at++;
    }
    if (at == cleaner->n_kept) {
        return 0;
    }
    cr_kept_take(at);
    cleaner->now.runs++;
    cr_must(cr_journal_run_again(&cleaner->now.journal, cleaner->epoch),
            "the journal of a cleanup that left something is damaged");
    cr_cleaner_return(&cleaner->now);
    return 1;
}

uint64_t cr_residue_due(void)
{
    uint64_t due = 0;
    for (uint32_t i = 0; i < cr_sup.cleaner.n_kept; i++) {
        const cr_cleanup *cleanup = &cr_sup.cleaner.kept[i];
        due = cr_clock_earlier(due, cleanup->left ? cleanup->due : 0);
    }
    return due;
}
