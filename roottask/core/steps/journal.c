/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The journal of a cleanup. See steps.h. */
#include "journal.h"
#include <cellreap/trace.h>
#include <stddef.h>

_Static_assert(sizeof(cr_journal) % sizeof(uint32_t) == 0 && sizeof(cr_ref) == 8,
               "no padding, which a checksum would cover");

/* Whether a step of this kind completes the entry at the cursor. Other steps may be followed by
 * more steps for the same entry, which the model determines. */
static const int sweeps[CR_STEP_KIND_COUNT] = {
    [CR_STEP_SUSPEND] = 1,    [CR_STEP_MARK] = 1,    [CR_STEP_DESTROY_SPACE] = 1,
    [CR_STEP_DESTROY_PD] = 1, [CR_STEP_NOTIFY] = 1,  [CR_STEP_TELL] = 1,
    [CR_STEP_SETTLE] = 1,
};

static uint32_t checksum(const cr_journal *journal)
{
    const size_t covered = offsetof(cr_journal, epoch);
    return cr_crc32(0, (const uint8_t *)journal + covered, sizeof(*journal) - covered);
}

void cr_journal_seal(cr_journal *journal)
{
    journal->checksum = checksum(journal);
}

void cr_journal_start(cr_journal *journal, uint32_t epoch)
{
    *journal = (cr_journal){
        .magic = CR_JOURNAL_MAGIC, .version = CR_JOURNAL_VERSION, .epoch = epoch};
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
    uint32_t words[CR_JOURNAL_BYTES_1 / sizeof(uint32_t)];
    if (count < CR_JOURNAL_BYTES_1) {
        return CR_ERR_CORRUPT;
    }
    copy(words, bytes, sizeof(words));
    if (words[0] == CR_JOURNAL_MAGIC_1 && count == CR_JOURNAL_BYTES_1) {
        cr_journal_start(out, epoch);
        out->phase = words[1];
        out->index = words[2];
        out->done = words[3];
        out->awaited = words[4];
        cr_journal_seal(out);
        return CR_OK;
    }
    if (words[0] == CR_JOURNAL_MAGIC && words[1] > CR_JOURNAL_VERSION) {
        return CR_ERR_VERSION;
    }
    if (count != sizeof(*out)) {
        return CR_ERR_CORRUPT;
    }
    copy(out, bytes, sizeof(*out));
    return cr_journal_take_over(out, epoch);
}

/* The cursor of the second run. */
static void go_to_left(cr_journal *journal)
{
    const uint32_t at = journal->second - 1;
    if (at < journal->n_left && at < CR_STEPS_LEFT) {
        journal->index = journal->left[at].index;
        journal->redo = journal->left[at].kind < CR_STEP_KIND_COUNT;
    }
}

void cr_journal_advance(cr_journal *journal)
{
    if (journal->second == 0) {
        journal->index++;
        return;
    }
    journal->second++;
    journal->redo = 0;
    go_to_left(journal);
}

void cr_journal_again(cr_journal *journal)
{
    journal->second = 1;
    go_to_left(journal);
}

cr_status cr_journal_leave(cr_journal *journal, const cr_left_step *step)
{
    if (journal->n_left >= CR_STEPS_LEFT) {
        return CR_ERR_FULL_PLAN;
    }
    journal->left[journal->n_left++] = *step;
    cr_journal_advance(journal);
    return CR_OK;
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

static int is_same(cr_ref a, cr_ref b)
{
    return a.index == b.index && a.generation == b.generation;
}

cr_status cr_step_begin(cr_journal *journal, uint32_t epoch, const cr_step *step)
{
    cr_status status = may_write(journal, epoch);
    if (status != CR_OK) {
        return status;
    }
    if (step->kind >= CR_STEP_KIND_COUNT) {
        return CR_ERR_CORRUPT;
    }
    if (journal->attempts == 0) {
        journal->kind = (uint32_t)step->kind;
        journal->node = step->node;
        journal->pd = step->pd;
        const uint32_t at = journal->second - 1;
        journal->half = journal->redo != 0 && at < CR_STEPS_LEFT ? journal->left[at].half : 0;
    } else if (journal->kind != (uint32_t)step->kind || !is_same(journal->node, step->node) ||
               !is_same(journal->pd, step->pd)) {
        return CR_ERR_BUSY;
    }
    journal->attempts++;
    cr_journal_seal(journal);
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
    journal->done++;
    if (kind == (uint32_t)CR_STEP_AWAIT) {
        journal->awaited = journal->index;
    }
    journal->redo = 0;
    if (sweeps[kind]) {
        cr_journal_advance(journal);
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
    /* Subscribers are awaited group by group, so a group must be told as a whole. */
    if (journal->second != 0 || journal->kind == (uint32_t)CR_STEP_TELL ||
        journal->kind == (uint32_t)CR_STEP_AWAIT) {
        return CR_ERR_STATE;
    }
    const cr_left_step left = {
        journal->kind, journal->node, journal->pd, journal->half, journal->index};
    status = cr_journal_leave(journal, &left);
    if (status == CR_OK) {
        journal->attempts = 0;
        cr_journal_seal(journal);
    }
    return status;
}
