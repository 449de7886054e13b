/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A database: it manages one space with one table. The table is stored on the first file of the
 * file server that the database is a client of.
 *
 * The program shows a PD that is a server and a client at once, and that declares with MAP edges
 * what its resources are built on. */
#include "storage.h"

static uint32_t space;
static uint32_t table;
static uint32_t files_request;
static uint32_t files_space;
static uint32_t files[2];
static int space_gone;

/* Connects to the file server and maps the table to its first file. Creates the space and the
 * table the first time. */
static int attach(int wait)
{
    uint64_t reply[1 + 8];
    uint32_t received;
    if (cr_connect(cr_info()->requests[0], wait, &files_request, &files_space) != CR_RESULT_OK) {
        files_request = 0;
        return 0;
    }
    if (space == 0 && (cr_create_space(cr_info()->spaces[0].type, cr_info()->spaces[0].name,
                                       &space) != CR_RESULT_OK ||
                       cr_create_resource(space, &table) != CR_RESULT_OK)) {
        cr_say_text("no space of my own");
        cr_exit(1);
    }
    if (cr_call(files_request, ST_LIST, 0, 0, reply, 9, &received) != ST_OK || received < 2) {
        return 0;
    }
    files[0] = (uint32_t)reply[1];
    files[1] = received > 2 ? (uint32_t)reply[2] : files[0];
    return cr_map(space, 0, files_space, 0) == CR_RESULT_OK &&
           cr_map(space, table, files_space, files[0]) == CR_RESULT_OK;
}

static uint32_t read_file(unsigned which, cr_incoming *m)
{
    /* A file server that was lost may have been respawned. */
    if (files_request == 0 && !attach(0)) {
        return ST_IO_ERROR;
    }
    uint64_t word = files[which];
    uint32_t received;
    uint32_t label = cr_call(files_request, ST_READ, &word, 1, m->reply, 1, &received);
    m->reply_count = received;
    return label == CR_CALL_LOST ? (uint32_t)ST_IO_ERROR : label;
}

/* -- commits: the n-th is a record in sector n - 1 of the table's file, which is written once */

enum { NUMBER, VALUE, CHECK };

static const uint64_t mark = 0x74696d6d6f63; /* "commit" */

static int committed = -1; /* not known yet */

static uint32_t transfer(uint32_t label, uint32_t sector, const uint64_t *record, uint64_t *out)
{
    uint64_t words[2 + ST_RECORD] = {files[0], sector};
    uint32_t received;
    for (uint32_t i = 0; record != 0 && i < ST_RECORD; i++) {
        words[2 + i] = record[i];
    }
    return cr_call(files_request, label, words, record != 0 ? 2 + ST_RECORD : 2, out,
                   out != 0 ? ST_RECORD : 0, &received);
}

/* Finds out how many commits the disk has. */
static int count_commits(void)
{
    uint64_t record[ST_RECORD];
    for (uint32_t n = 0; n < ST_SECTORS; n++) {
        if (transfer(ST_READ_RECORD, n, 0, record) != ST_OK) {
            return -1;
        }
        if (record[NUMBER] != n + 1 || record[CHECK] != (record[VALUE] ^ mark)) {
            return (int)n;
        }
    }
    return ST_SECTORS;
}

static uint32_t commit(const cr_incoming *m)
{
    if (((files_request == 0 || files[0] == 0) && !attach(1)) ||
        (committed < 0 && (committed = count_commits()) < 0)) {
        return ST_IO_ERROR;
    }
    if (m->words[0] == (uint64_t)committed) {
        return ST_OK; /* its answer was lost */
    }
    if (m->words[0] != (uint64_t)committed + 1 || committed == ST_SECTORS) {
        return ST_BAD_REQUEST;
    }
    const uint64_t record[ST_RECORD] = {
        [NUMBER] = m->words[0], [VALUE] = m->words[1], [CHECK] = m->words[1] ^ mark};
    if (transfer(ST_WRITE, (uint32_t)committed, record, 0) != ST_OK) {
        return ST_IO_ERROR;
    }
    committed++;
    return ST_OK;
}

static uint32_t open_table(cr_incoming *m)
{
    uint32_t slot;
    if (cr_give(space, table, m->badge, 0, &slot) != CR_RESULT_OK) {
        return ST_BAD_REQUEST;
    }
    m->reply[0] = slot;
    m->reply_count = 1;
    return ST_OK;
}

static uint32_t serve(cr_incoming *m)
{
    cr_checkpoint();
    if (cr_badge_kind_of(m->badge) == CR_BADGE_RESOURCE && m->label == ST_READ &&
        cr_badge_object(m->badge) == table) {
        return read_file(0, m);
    }
    if (cr_badge_kind_of(m->badge) == CR_BADGE_RESOURCE && m->label == ST_COMMIT && m->count == 2 &&
        cr_badge_object(m->badge) == table) {
        return commit(m);
    }
    if (cr_badge_kind_of(m->badge) != CR_BADGE_REQUEST || space_gone) {
        return ST_BAD_REQUEST;
    }
    if (m->label == ST_OPEN) {
        return open_table(m);
    }
    if (m->label == ST_STATUS) {
        return read_file(1, m);
    }
    return ST_BAD_REQUEST;
}

static int work(const cr_work_entry *w)
{
    st_say_notice(w);
    if (w->kind == CR_NOTICE_LOST && w->space == files_space) {
        files_request = 0;
    }
    space_gone |= w->kind == CR_NOTICE_DESTROY && w->space == space;
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    const cr_startup *info = cr_info();
    if (info->n_spaces != 1 || info->n_requests != 1) {
        cr_say_text("no files, or no space of my own");
        cr_exit(1);
    }
    if (!attach(1)) {
        cr_say_text("my table is on no file");
    }
    cr_serve(&server);
}
