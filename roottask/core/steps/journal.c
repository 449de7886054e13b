/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The journal of a cleanup. See steps.h. */
#include "journal.h"
#include <stddef.h>

_Static_assert(sizeof(cr_journal) % sizeof(uint32_t) == 0 && sizeof(cr_ref) == 8 &&
                   offsetof(cr_journal, entries) % sizeof(uint32_t) == 0,
               "no padding, which a checksum would cover");

_Static_assert((int)CR_JOURNAL_ENTRIES ==
                   3 * (int)CR_JOURNAL_DOOMED + (int)CR_JOURNAL_CORE + (int)CR_JOURNAL_NOTICES,
               "a place for each");

static const struct {
    uint32_t first;
    uint32_t count;
} areas[CR_LEFT_AREA_COUNT] = {
    [CR_LEFT_SUSPEND] = {0, CR_JOURNAL_DOOMED},
    [CR_LEFT_MARK] = {CR_JOURNAL_DOOMED, CR_JOURNAL_DOOMED},
    [CR_LEFT_DESTROY] = {2 * CR_JOURNAL_DOOMED, CR_JOURNAL_DOOMED},
    [CR_LEFT_CORE] = {3 * CR_JOURNAL_DOOMED, CR_JOURNAL_CORE},
    [CR_LEFT_NOTIFY] = {3 * CR_JOURNAL_DOOMED + CR_JOURNAL_CORE, CR_JOURNAL_NOTICES},
};

/* Whether a step of this kind completes the entry at the cursor. Other steps may be followed by
 * more steps for the same entry, which the model determines. */
static const int sweeps[CR_STEP_KIND_COUNT] = {
    [CR_STEP_SUSPEND] = 1,    [CR_STEP_MARK] = 1,    [CR_STEP_DESTROY_SPACE] = 1,
    [CR_STEP_DESTROY_PD] = 1, [CR_STEP_NOTIFY] = 1,  [CR_STEP_TELL] = 1,
    [CR_STEP_SETTLE] = 1,
};

/* The places of an area that are in use. A damaged journal may claim more than there are. */
static uint32_t used_of(const cr_journal *journal, cr_left_area area)
{
    const uint32_t used = journal->used[area];
    return used < areas[area].count ? used : areas[area].count;
}

/* A single word that differs always leads to another sum: the factor is odd, so the product can be
 * undone. It is computed four times a step, so a word takes one multiplication with addition. */
static uint32_t add_word(uint32_t sum, uint32_t word)
{
    return sum * 0x9e3779b1u + word;
}

static uint32_t add_ref(uint32_t sum, cr_ref ref)
{
    return add_word(add_word(sum, ref.index), ref.generation);
}

static uint32_t sum_of_header(const cr_journal *journal)
{
    uint32_t sum = add_word(0, journal->epoch);
    sum = add_word(sum, journal->phase);
    sum = add_word(sum, journal->index);
    sum = add_word(sum, journal->done);
    sum = add_word(sum, journal->awaited);
    sum = add_word(sum, journal->attempts);
    sum = add_word(sum, journal->kind);
    sum = add_ref(sum, journal->node);
    sum = add_ref(sum, journal->pd);
    sum = add_word(sum, journal->half);
    sum = add_word(sum, journal->later);
    sum = add_word(sum, journal->second);
    sum = add_word(sum, journal->n_left);
    sum = add_word(sum, journal->n_kept);
    for (int area = 0; area < CR_LEFT_AREA_COUNT; area++) {
        sum = add_word(sum, journal->used[area]);
    }
    sum = add_word(sum, journal->count);
    sum = add_word(sum, journal->told);
    sum = add_word(sum, journal->had);
    return add_word(sum, journal->stopped);
}

static uint32_t add_entries(uint32_t sum, const cr_journal *journal)
{
    uint32_t any = 0;
    for (int area = 0; area < CR_LEFT_AREA_COUNT; area++) {
        any |= journal->used[area];
    }
    for (int area = 0; any != 0 && area < CR_LEFT_AREA_COUNT; area++) {
        const uint32_t used = used_of(journal, (cr_left_area)area);
        for (uint32_t i = 0; i < used; i++) {
            sum = add_word(sum, journal->entries[areas[area].first + i]);
        }
    }
    return sum;
}

static uint32_t checksum(const cr_journal *journal)
{
    return add_entries(sum_of_header(journal), journal);
}

/* Whoever adds a field must add it to the checksum. */
_Static_assert(offsetof(cr_journal, entries) == 28 * sizeof(uint32_t), "the fields of checksum()");

void cr_journal_seal(cr_journal *journal)
{
    journal->checksum = checksum(journal);
}

void cr_journal_start(cr_journal *journal, uint32_t epoch)
{
    /* Places that are not in use have no meaning, and are not written. */
    journal->magic = CR_JOURNAL_MAGIC;
    journal->version = CR_JOURNAL_VERSION;
    journal->epoch = epoch;
    journal->phase = 0;
    journal->index = 0;
    journal->done = 0;
    journal->awaited = 0;
    journal->attempts = 0;
    journal->kind = 0;
    journal->node = (cr_ref){0, 0};
    journal->pd = (cr_ref){0, 0};
    journal->half = 0;
    journal->later = 0;
    journal->second = 0;
    journal->n_left = 0;
    journal->n_kept = 0;
    for (int area = 0; area < CR_LEFT_AREA_COUNT; area++) {
        journal->used[area] = 0;
    }
    journal->count = 0;
    journal->told = 0;
    journal->had = 0;
    journal->stopped = 0;
    cr_journal_seal(journal);
}

cr_status cr_journal_check(const cr_journal *journal)
{
    if (journal->magic != CR_JOURNAL_MAGIC || journal->version < CR_JOURNAL_VERSION) {
        return CR_ERR_CORRUPT;
    }
    if (journal->version > CR_JOURNAL_VERSION) {
        return CR_ERR_VERSION;
    }
    return journal->checksum == checksum(journal) ? CR_OK : CR_ERR_CORRUPT;
}

static void copy(void *to, const void *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    }
}

cr_status cr_journal_read(const void *bytes, uint32_t count, uint32_t epoch, cr_journal *out)
{
    uint32_t begin[2];
    if (count < sizeof(begin)) {
        return CR_ERR_CORRUPT;
    }
    copy(begin, bytes, sizeof(begin));
    if (begin[0] == CR_JOURNAL_MAGIC && begin[1] > CR_JOURNAL_VERSION) {
        return CR_ERR_VERSION; /* it may have another length */
    }
    if (count != sizeof(*out)) {
        return CR_ERR_CORRUPT;
    }
    copy(out, bytes, sizeof(*out));
    return cr_journal_take_over(out, epoch);
}

/* -- entries */

static const uint8_t area_of[PHASE_COUNT] = {
    [PHASE_SUSPEND_FIRST] = CR_LEFT_SUSPEND, [PHASE_MARK] = CR_LEFT_MARK,
    [PHASE_TELL] = CR_LEFT_AREA_COUNT,       [PHASE_SUSPEND_REST] = CR_LEFT_SUSPEND,
    [PHASE_DESTROY] = CR_LEFT_DESTROY,       [PHASE_CORE] = CR_LEFT_CORE,
    [PHASE_NOTIFY] = CR_LEFT_NOTIFY,         [PHASE_SETTLE] = CR_LEFT_AREA_COUNT,
};

cr_left_area cr_journal_area(uint32_t phase)
{
    return phase < PHASE_COUNT ? (cr_left_area)area_of[phase] : CR_LEFT_AREA_COUNT;
}

cr_entry_state cr_journal_entry(const cr_journal *journal, cr_left_area area, uint32_t index)
{
    if (area >= CR_LEFT_AREA_COUNT || index >= used_of(journal, area)) {
        return CR_ENTRY_CLEAR;
    }
    const uint8_t state = journal->entries[areas[area].first + index];
    return state <= CR_ENTRY_KEPT ? (cr_entry_state)state : CR_ENTRY_CLEAR;
}

static cr_status put(cr_journal *journal, cr_left_area area, uint32_t index, cr_entry_state state)
{
    if (area >= CR_LEFT_AREA_COUNT || index >= areas[area].count) {
        return CR_ERR_FULL_PLAN;
    }
    for (uint32_t i = used_of(journal, area); i <= index; i++) {
        journal->entries[areas[area].first + i] = CR_ENTRY_CLEAR;
        journal->used[area] = i + 1;
    }
    journal->entries[areas[area].first + index] = (uint8_t)state;
    return CR_OK;
}

void cr_journal_advance(cr_journal *journal)
{
    const cr_left_area area = cr_journal_area(journal->phase);
    if (area < CR_LEFT_AREA_COUNT && journal->index < used_of(journal, area)) {
        uint8_t *entry = &journal->entries[areas[area].first + journal->index];
        *entry = *entry == CR_ENTRY_LEFT ? CR_ENTRY_CLEAR : *entry;
    }
    journal->index++;
}

void cr_journal_next_phase(cr_journal *journal)
{
    journal->index = 0;
    if (journal->second == 0 && journal->n_left > 0) {
        journal->second = 1;
        return;
    }
    journal->phase++;
    journal->n_left = 0;
    journal->second = journal->later;
}

cr_status cr_journal_leave(cr_journal *journal)
{
    const int kept = journal->second != 0;
    cr_status status = put(journal, cr_journal_area(journal->phase), journal->index,
                           kept ? CR_ENTRY_KEPT : CR_ENTRY_LEFT);
    if (status == CR_OK) {
        journal->n_kept += kept ? 1u : 0u;
        journal->n_left += kept ? 0u : 1u;
        journal->index++;
    }
    return status;
}

cr_status cr_journal_told(cr_journal *journal, uint32_t epoch)
{
    cr_status status = cr_journal_check(journal);
    if (status != CR_OK) {
        return status;
    }
    if (journal->epoch != epoch) {
        return CR_ERR_EPOCH;
    }
    if (journal->phase != PHASE_TELL || journal->attempts != 0 || journal->second != 0 ||
        journal->n_left != 0 || journal->n_kept != 0 || journal->awaited != journal->index) {
        return CR_ERR_STATE;
    }
    cr_journal_next_phase(journal);
    cr_journal_seal(journal);
    return CR_OK;
}

cr_status cr_journal_run_again(cr_journal *journal, uint32_t epoch)
{
    cr_status status = cr_journal_check(journal);
    if (status != CR_OK) {
        return status;
    }
    if (journal->attempts != 0) {
        return CR_ERR_STATE;
    }
    if (epoch < journal->epoch) {
        return CR_ERR_EPOCH;
    }
    for (int area = 0; area < CR_LEFT_AREA_COUNT; area++) {
        const uint32_t used = used_of(journal, (cr_left_area)area);
        for (uint32_t i = 0; i < used; i++) {
            uint8_t *entry = &journal->entries[areas[area].first + i];
            *entry = *entry == CR_ENTRY_KEPT ? CR_ENTRY_LEFT : CR_ENTRY_CLEAR;
        }
    }
    journal->epoch = epoch;
    journal->phase = 0;
    journal->index = 0;
    journal->awaited = 0;
    journal->later = 1;
    journal->second = 1;
    journal->n_left = 0;
    journal->n_kept = 0;
    cr_journal_seal(journal);
    return CR_OK;
}

void cr_journal_pack_notices(cr_journal *journal)
{
    const uint32_t used = used_of(journal, CR_LEFT_NOTIFY);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < used; i++) {
        kept += cr_journal_entry(journal, CR_LEFT_NOTIFY, i) == CR_ENTRY_KEPT ? 1u : 0u;
    }
    for (uint32_t i = 0; i < used; i++) {
        journal->entries[areas[CR_LEFT_NOTIFY].first + i] =
            i < kept ? CR_ENTRY_KEPT : CR_ENTRY_CLEAR;
    }
    journal->used[CR_LEFT_NOTIFY] = kept;
    cr_journal_seal(journal);
}

int cr_journal_is_turn(uint32_t kind)
{
    return kind == (uint32_t)CR_STEP_TELL || kind == (uint32_t)CR_STEP_AWAIT ||
           kind == (uint32_t)CR_STEP_SUSPEND;
}

void cr_journal_pass_turn(cr_journal *journal, uint32_t kind)
{
    if (kind == (uint32_t)CR_STEP_TELL) {
        journal->told++;
    } else if (kind == (uint32_t)CR_STEP_AWAIT) {
        journal->had = journal->told;
    } else {
        journal->stopped++;
    }
}

cr_status cr_journal_take_over(cr_journal *journal, uint32_t epoch)
{
    cr_status status = cr_journal_check(journal);
    if (status != CR_OK) {
        return status;
    }
    if (epoch <= journal->epoch) {
        return CR_ERR_EPOCH;
    }
    journal->epoch = epoch;
    cr_journal_seal(journal);
    return CR_OK;
}

/* Whether this epoch may write. */
static cr_status may_write(const cr_journal *journal, uint32_t epoch)
{
    cr_status status = cr_journal_check(journal);
    return status == CR_OK && journal->epoch != epoch ? CR_ERR_EPOCH : status;
}

/* Whether this epoch may write about the step that has begun. */
static cr_status may_write_step(const cr_journal *journal, uint32_t epoch)
{
    cr_status status = may_write(journal, epoch);
    return status == CR_OK && journal->attempts == 0 ? CR_ERR_ABSENT : status;
}

cr_status cr_step_begin(cr_journal *journal, uint32_t epoch, const cr_step *step)
{
    cr_status status = may_write(journal, epoch);
    if (status == CR_OK) {
        status = cr_journal_begin(journal, step);
    }
    if (status == CR_OK) {
        cr_journal_seal(journal);
    }
    return status;
}

cr_status cr_journal_begin(cr_journal *journal, const cr_step *step)
{
    if (step->kind >= CR_STEP_KIND_COUNT || step->count == 0) {
        return CR_ERR_CORRUPT;
    }
    if (journal->attempts == 0) {
        journal->kind = (uint32_t)step->kind;
        journal->node = step->node;
        journal->pd = step->pd;
        journal->count = step->count;
        journal->half = 0;
    } else if (journal->kind != (uint32_t)step->kind || !is_same(journal->node, step->node) ||
               !is_same(journal->pd, step->pd) || journal->count != step->count) {
        return CR_ERR_BUSY;
    }
    journal->attempts++;
    return CR_OK;
}

cr_status cr_step_note(cr_journal *journal, uint32_t epoch, uint32_t half)
{
    cr_status status = may_write_step(journal, epoch);
    if (status != CR_OK) {
        return status;
    }
    journal->half = half;
    cr_journal_seal(journal);
    return CR_OK;
}

cr_status cr_step_shorten(cr_journal *journal, uint32_t epoch, uint32_t count)
{
    cr_status status = may_write_step(journal, epoch);
    if (status != CR_OK) {
        return status;
    }
    if (count == 0 || count > journal->count) {
        return CR_ERR_ARG;
    }
    journal->count = count;
    cr_journal_seal(journal);
    return CR_OK;
}

cr_status cr_step_done(cr_journal *journal, uint32_t epoch)
{
    cr_status status = may_write_step(journal, epoch);
    if (status != CR_OK) {
        return status;
    }
    const uint32_t kind = journal->kind;
    if (kind >= CR_STEP_KIND_COUNT) {
        return CR_ERR_CORRUPT;
    }
    if (journal->count == 0 || journal->count > CR_STEP_AT_ONCE) {
        return CR_ERR_CORRUPT;
    }
    journal->done++;
    if (journal->phase == PHASE_DESTROY && cr_journal_is_turn(kind)) {
        cr_journal_pass_turn(journal, kind);
    } else {
        if (kind == (uint32_t)CR_STEP_AWAIT) {
            journal->awaited = journal->index;
        }
        for (uint32_t i = 0; sweeps[kind] && i < journal->count; i++) {
            cr_journal_advance(journal);
        }
    }
    journal->attempts = 0;
    cr_journal_seal(journal);
    return CR_OK;
}

cr_status cr_step_leave(cr_journal *journal, uint32_t epoch)
{
    cr_status status = may_write_step(journal, epoch);
    if (status != CR_OK) {
        return status;
    }
    if (journal->kind == (uint32_t)CR_STEP_AWAIT) {
        return CR_ERR_STATE;
    }
    if (journal->phase == PHASE_DESTROY && cr_journal_is_turn(journal->kind)) {
        /* Who is not suspended is not destroyed either: a later run does both. */
        if (journal->kind == (uint32_t)CR_STEP_SUSPEND) {
            status = put(journal, CR_LEFT_SUSPEND, journal->stopped, CR_ENTRY_KEPT);
            journal->n_kept += status == CR_OK ? 1u : 0u;
        }
        if (status == CR_OK) {
            cr_journal_pass_turn(journal, journal->kind);
        }
    } else if (journal->kind == (uint32_t)CR_STEP_TELL) {
        cr_journal_advance(journal);
    } else {
        status = cr_journal_leave(journal);
    }
    if (status == CR_OK) {
        journal->attempts = 0;
        cr_journal_seal(journal);
    }
    return status;
}
