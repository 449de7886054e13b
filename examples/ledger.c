/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Storage that writes what it has before it is destroyed. A table counts in its memory what its
 * clients add. It writes the sum when its file server is about to be destroyed, through this file
 * server, which is doomed too and still runs. The file server keeps the sum on each of its disks.
 * Before it goes, it marks those disks as clean that stay.
 *
 * Argument 0: what the PD is:
 *   0  a disk, with blocks of one word
 *   1  a file server: it keeps one word on all disks of its requests
 *   2  a table
 *   3  a client of a table: it adds 1 in each round
 *   4  a client of a disk: at the end it has the disk print its blocks */
#include "storage.h"

enum { DISK = 0, FILES = 1, TABLE = 2, ADDS = 3 };
enum { LG_WRITE = 0x280, LG_ADD = 0x281, LG_SHOW = 0x282 };
enum { MAX_BLOCKS = 8, MAX_DISKS = 4, CLEAN = 0xc1ea4 };

static uint32_t space;

static const char *state_of(uint32_t of)
{
    static const char *const names[] = {"active", "doomed", "destroyed"};
    cr_look_state state = CR_LOOK_DESTROYED;
    cr_result result = cr_look(of, 0, 0, &state);
    return result == CR_RESULT_OK && state <= CR_LOOK_DESTROYED ? names[state] : "unknown";
}

static int work(const cr_work_entry *w)
{
    return cr_tell_handlers(w);
}

/* -- a disk */

static struct {
    uint32_t object; /* 0: no block */
    uint64_t word;
} blocks[MAX_BLOCKS];

static void show(void)
{
    cr_line line = {0};
    cr_put(&line, "blocks:");
    for (uint32_t i = 0; i < MAX_BLOCKS; i++) {
        if (blocks[i].object != 0) {
            cr_put_number(cr_put(&line, " "), blocks[i].word);
        }
    }
    cr_say(&line);
}

static uint32_t use_block(cr_incoming *m)
{
    for (uint32_t i = 0; i < MAX_BLOCKS; i++) {
        if (blocks[i].object == 0 || blocks[i].object != cr_badge_object(m->badge)) {
            continue;
        }
        if (m->label == LG_WRITE && m->count == 1) {
            blocks[i].word = m->words[0];
            return ST_OK;
        }
        if (m->label == ST_READ) {
            m->reply[0] = blocks[i].word;
            m->reply_count = 1;
            return ST_OK;
        }
    }
    return ST_BAD_REQUEST;
}

static uint32_t serve_disk(cr_incoming *m)
{
    cr_checkpoint();
    if (cr_badge_kind_of(m->badge) == CR_BADGE_RESOURCE) {
        return use_block(m);
    }
    if (m->label == LG_SHOW) {
        show();
        return ST_OK;
    }
    for (uint32_t i = 0; m->label == ST_ALLOCATE && i < MAX_BLOCKS; i++) {
        if (blocks[i].object == 0) {
            if (cr_create_resource(space, &blocks[i].object) != CR_RESULT_OK) {
                return ST_FULL;
            }
            return st_give(m, space, blocks[i].object) ? ST_OK : ST_BAD_REQUEST;
        }
    }
    return ST_BAD_REQUEST;
}

/* -- a file server */

static struct {
    uint32_t space;
    uint32_t word; /* slots of the two blocks */
    uint32_t mark;
} disks[MAX_DISKS];

static uint32_t write_block(uint32_t slot, uint64_t word)
{
    uint32_t received;
    return cr_call(slot, LG_WRITE, &word, 1, 0, 0, &received);
}

/* The disk of the first request answers first, if it still does. */
static uint32_t read_word(uint64_t *word)
{
    uint32_t label = ST_IO_ERROR;
    for (uint32_t i = 0; i < cr_info()->n_requests && i < MAX_DISKS && label != ST_OK; i++) {
        uint32_t received;
        label = cr_call(disks[i].word, ST_READ, 0, 0, word, 1, &received);
    }
    return label;
}

static uint32_t serve_files(cr_incoming *m)
{
    if (m->label == ST_READ) {
        m->reply_count = 1;
        return read_word(&m->reply[0]);
    }
    if (m->label != LG_WRITE || m->count != 1) {
        return ST_BAD_REQUEST;
    }
    uint32_t written = 0;
    for (uint32_t i = 0; i < cr_info()->n_requests && i < MAX_DISKS; i++) {
        written += write_block(disks[i].word, m->words[0]) == ST_OK;
    }
    m->reply[0] = written;
    m->reply_count = 1;
    return written != 0 ? ST_OK : ST_IO_ERROR;
}

/* A disk is about to be destroyed. If the file server goes too, it closes its disks. A disk that
 * goes as well needs no mark: nobody will read it. */
static int close_disks(const cr_work_entry *about, cr_moment moment, uint64_t data)
{
    (void)about;
    (void)data;
    for (uint32_t i = 0; moment == CR_BEFORE && i < cr_info()->n_requests && i < MAX_DISKS; i++) {
        cr_line line = {0};
        cr_look_state state = CR_LOOK_DESTROYED;
        cr_put(cr_put(cr_put(&line, cr_info()->requests[i]), ": "), state_of(disks[i].space));
        if (cr_look(disks[i].space, 0, 0, &state) == CR_RESULT_OK && state == CR_LOOK_ACTIVE) {
            cr_put(cr_put(&line, ", marked: "), st_name(write_block(disks[i].mark, CLEAN)));
        }
        cr_say(&line);
    }
    return 0;
}

static uint32_t get_block(uint32_t request)
{
    uint64_t reply[3];
    uint32_t received;
    uint32_t label = cr_call(request, ST_ALLOCATE, 0, 0, reply, 3, &received);
    return label == ST_OK && received == 3 ? (uint32_t)reply[2] : 0;
}

static int open_disk(uint32_t i)
{
    uint32_t request;
    if (cr_connect(cr_info()->requests[i], 1, &request, &disks[i].space) != CR_RESULT_OK ||
        cr_allow(disks[i].space, 2) != CR_RESULT_OK) {
        return 0;
    }
    disks[i].word = get_block(request);
    disks[i].mark = get_block(request);
    cr_subject subject = {disks[i].space, 0, 0};
    return disks[i].word != 0 && disks[i].mark != 0 &&
           cr_subscribe_handler(subject, close_disks, 0) == CR_RESULT_OK;
}

/* -- a table */

static uint32_t files;
static uint64_t sum;

static int flush(const cr_work_entry *about, cr_moment moment, uint64_t data)
{
    cr_line line = {0};
    uint64_t disks_written = 0;
    uint32_t received;
    (void)data;
    if (moment == CR_AFTER) {
        return 0;
    }
    uint32_t label = cr_call(files, LG_WRITE, &sum, 1, &disks_written, 1, &received);
    cr_put(cr_put(cr_put(&line, "files "), state_of(about->space)), ": wrote ");
    cr_put(cr_put_number(&line, sum), ": ");
    cr_say(cr_put_number(cr_put(cr_put(&line, st_name(label)), ", disks: "), disks_written));
    return label != ST_OK;
}

static uint32_t serve_table(cr_incoming *m)
{
    uint64_t word;
    uint32_t received;
    if (m->label != LG_ADD) {
        return ST_BAD_REQUEST;
    }
    sum++;
    m->reply[0] = sum;
    m->reply_count = 1;
    /* Reads what the disks have. The table is ahead of it until it writes. */
    (void)cr_call(files, ST_READ, 0, 0, &word, 1, &received);
    return ST_OK;
}

/* -- clients */

static _Noreturn void be_client(int adds)
{
    uint32_t request;
    uint32_t of;
    uint32_t received;
    uint64_t added = 0;
    uint64_t last = 0;
    cr_line line = {0};
    (void)cr_connect(cr_info()->requests[0], 1, &request, &of);
    while (cr_next_round()) {
        if (adds && cr_call(request, LG_ADD, 0, 0, &added, 1, &received) == ST_OK) {
            last = added;
        }
        cr_poll_work(work);
    }
    if (adds) {
        cr_say(cr_put_number(cr_put(&line, "added "), last));
    } else {
        uint32_t label = cr_call(request, LG_SHOW, 0, 0, 0, 0, &received);
        cr_say(cr_put(cr_put(&line, "asked the disk: "), st_name(label)));
    }
    cr_wait_for_work(work);
}

void cr_main(void)
{
    static const cr_server disk = {serve_disk, work, 0, 0};
    static const cr_server file_server = {serve_files, work, 0, 0};
    static const cr_server table = {serve_table, work, 0, 0};
    cr_subject subject = {0, 0, 0};
    const uint32_t role = cr_info()->args[0];
    if (role > TABLE) {
        be_client(role == ADDS);
    }
    if (role == FILES) {
        for (uint32_t i = 0; i < cr_info()->n_requests && i < MAX_DISKS; i++) {
            if (!open_disk(i)) {
                cr_say_text("no disk");
                cr_exit(1);
            }
        }
    }
    if (role == TABLE &&
        (cr_connect(cr_info()->requests[0], 1, &files, &subject.space) != CR_RESULT_OK ||
         cr_subscribe_handler(subject, flush, 0) != CR_RESULT_OK)) {
        cr_say_text("no files");
        cr_exit(1);
    }
    space = cr_own_space();
    /* What is built on something is told before it, whatever the priorities: the table writes
     * before the file server marks. */
    int built = role != TABLE || cr_map(space, 0, subject.space, 0) == CR_RESULT_OK;
    for (uint32_t i = 0; role == FILES && i < cr_info()->n_requests && i < MAX_DISKS; i++) {
        built = built && cr_map(space, 0, disks[i].space, 0) == CR_RESULT_OK;
    }
    if (!built) {
        cr_say_text("the space is built on nothing");
        cr_exit(1);
    }
    cr_serve(role == DISK ? &disk : role == FILES ? &file_server : &table);
}
