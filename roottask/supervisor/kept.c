/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The pool of rows. See kept.h. The rows of a cleanup stand one array behind the other. */
#include "kept.h"
#include "arena.h"

void *memmove(void *to, const void *from, size_t count); /* string.c */

enum { WORD = sizeof(uint64_t) };

_Static_assert(sizeof(cr_doomed) % WORD == 0 && sizeof(cr_pair) % WORD == 0 &&
                   sizeof(cr_ref) % WORD == 0 && sizeof(cr_notice) % WORD == 0,
               "rows are whole words");

static uint32_t words_of(const cr_plan *plan)
{
    const size_t bytes = plan->n_doomed * sizeof(cr_doomed) +
                         plan->n_pre_destroy * sizeof(cr_pair) +
                         plan->n_core_freed * sizeof(cr_ref) + plan->n_notices * sizeof(cr_notice);
    return (uint32_t)(bytes / WORD) + (plan->n_pre_destroy + 1) / 2;
}

/* The place of an array, behind the one before. The array comes there from a later place in the
 * pool, or from elsewhere, if it is not there yet. */
static void *place(uint64_t **at, const void *rows, size_t bytes, int moves)
{
    uint64_t *to = *at;
    if (moves) {
        memmove(to, rows, bytes);
    }
    *at += (bytes + WORD - 1) / WORD;
    return to;
}

static void lay(cr_cleanup *cleanup, int moves)
{
    cr_plan *plan = &cleanup->plan;
    uint64_t *at = &cr_sup.cleaner.rows[cleanup->first];
    plan->doomed = place(&at, plan->doomed, plan->n_doomed * sizeof(cr_doomed), moves);
    plan->pre_destroy = place(&at, plan->pre_destroy, plan->n_pre_destroy * sizeof(cr_pair), moves);
    plan->pre_destroy_groups =
        place(&at, plan->pre_destroy_groups, plan->n_pre_destroy * sizeof(uint32_t), moves);
    plan->core_freed = place(&at, plan->core_freed, plan->n_core_freed * sizeof(cr_ref), moves);
    plan->notices = place(&at, plan->notices, plan->n_notices * sizeof(cr_notice), moves);
}

static void move_down(cr_cleanup *cleanup, uint32_t at, uint32_t words)
{
    if (cleanup->words != 0 && cleanup->first >= at) {
        cleanup->first -= words;
        lay(cleanup, 0);
    }
}

/* `words` words from `at` on are free. What stands behind them moves up. */
static void close_gap(uint32_t at, uint32_t words)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    cleaner->n_rows -= words;
    memmove(&cleaner->rows[at], &cleaner->rows[at + words], (cleaner->n_rows - at) * WORD);
    move_down(&cleaner->now, at + words, words);
    for (uint32_t i = 0; i < cleaner->n_kept; i++) {
        move_down(&cleaner->kept[i], at + words, words);
    }
}

static void drop_done(cr_plan *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->n_core_freed; i++) {
        if (plan->core_freed[i].index != CR_NONE) {
            plan->core_freed[count++] = plan->core_freed[i];
        }
    }
    plan->n_core_freed = count;
    count = 0;
    for (uint32_t i = 0; i < plan->n_notices; i++) {
        if (plan->notices[i].to.index != CR_NONE) {
            plan->notices[count++] = plan->notices[i];
        }
    }
    plan->n_notices = count;
}

void cr_kept_put(int left)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    cr_cleanup *now = &cleaner->now;
    if (left) {
        now->plan.n_pre_destroy = 0;
    } else if (!cr_is_destroying(now)) {
        now->plan.n_core_freed = 0; /* The consequences are planned again. */
        now->plan.n_notices = 0;
    }
    drop_done(&now->plan);
    const uint32_t words = words_of(&now->plan);
    const uint32_t had = now->words;
    if (cleaner->n_kept == CR_KEPT_CLEANUPS || words > cr_kept_words() - cleaner->n_rows + had) {
        cr_panic("more is left of cleanups than there is", now->tag);
    }
    now->first = had != 0 ? now->first : cleaner->n_rows;
    now->words = words;
    lay(now, 1);
    if (had == 0) {
        cleaner->n_rows += words;
    } else {
        close_gap(now->first + words, had - words);
    }
    now->left = left;
    cleaner->kept[cleaner->n_kept++] = *now;
    now->words = 0;
    now->phase = CR_PHASE_NONE;
}

void cr_kept_take(uint32_t at)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    cleaner->now = cleaner->kept[at];
    cleaner->n_kept--;
    for (uint32_t i = at; i < cleaner->n_kept; i++) {
        cleaner->kept[i] = cleaner->kept[i + 1];
    }
}

void cr_kept_release(void)
{
    cr_cleanup *now = &cr_sup.cleaner.now;
    const uint32_t words = now->words;
    now->words = 0;
    if (words != 0) {
        close_gap(now->first, words);
    }
}

uint32_t cr_kept_count(int left)
{
    const cr_cleaner *cleaner = &cr_sup.cleaner;
    uint32_t count = 0;
    for (uint32_t i = 0; i < cleaner->n_kept; i++) {
        count += cleaner->kept[i].left == left ? 1u : 0u;
    }
    return count;
}
