/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A file server: it manages one space with one file for each disk that it is a client of. Each
 * file is stored on one block of its disk. When a disk is destroyed, its file is lost and the
 * other files stay usable. The file server uses a respawned disk again. */
#include "storage.h"

enum { MAX_DISKS = 8 };

static uint32_t space;
static int space_gone;
static struct {
    uint32_t file; /* object in the file server's space */
    uint32_t disk; /* the disk's space; 0: none */
    uint32_t request;
    uint32_t block; /* slot of the block; 0: none */
} disks[MAX_DISKS];

/* Connects to disk i, gets a block of it and maps the file to that block. Returns whether it
 * did. */
static int attach(uint32_t i, int wait)
{
    uint64_t reply[3];
    uint32_t received;
    if (cr_connect(cr_info()->requests[i], wait, &disks[i].request, &disks[i].disk) !=
            CR_RESULT_OK ||
        cr_allow(disks[i].disk, 1) != CR_RESULT_OK || /* the block */
        cr_call(disks[i].request, ST_ALLOCATE, 0, 0, reply, 3, &received) != ST_OK ||
        received != 3) {
        return 0;
    }
    if (disks[i].file == 0 && cr_create_resource(space, &disks[i].file) != CR_RESULT_OK) {
        return 0;
    }
    cr_result result = cr_map(space, 0, disks[i].disk, 0);
    if ((result != CR_RESULT_OK && result != CR_RESULT_EXISTS) ||
        cr_map(space, disks[i].file, disks[i].disk, (uint32_t)reply[1]) != CR_RESULT_OK) {
        return 0;
    }
    disks[i].block = (uint32_t)reply[2];
    return 1;
}

static uint32_t read_file(uint32_t file, uint64_t *value)
{
    for (uint32_t i = 0; i < cr_info()->n_requests && i < MAX_DISKS; i++) {
        uint32_t received;
        if (disks[i].file != file || file == 0) {
            continue;
        }
        if (disks[i].block == 0 && !attach(i, 0)) {
            return ST_IO_ERROR;
        }
        uint32_t label = cr_call(disks[i].block, ST_READ, 0, 0, value, 1, &received);
        return label == ST_OK && received == 1 ? ST_OK : ST_IO_ERROR;
    }
    return ST_NO_SUCH;
}

/* Passes a message on to the block of a file, without the file. */
static uint32_t pass_on(cr_incoming *m)
{
    for (uint32_t i = 0; i < cr_info()->n_requests && i < MAX_DISKS; i++) {
        if (disks[i].file != (uint32_t)m->words[0] || disks[i].file == 0) {
            continue;
        }
        if (disks[i].block == 0 && !attach(i, 1)) {
            return ST_IO_ERROR;
        }
        const uint32_t label = cr_call(disks[i].block, m->label, &m->words[1], m->count - 1,
                                       m->reply, ST_RECORD, &m->reply_count);
        return label == ST_OK ? ST_OK : ST_IO_ERROR;
    }
    return ST_NO_SUCH;
}

static uint32_t serve(cr_incoming *m)
{
    cr_checkpoint();
    if (cr_badge_kind_of(m->badge) != CR_BADGE_REQUEST || space_gone) {
        return ST_BAD_REQUEST;
    }
    if (m->label == ST_READ && m->count == 1) {
        m->reply_count = 1;
        return read_file((uint32_t)m->words[0], &m->reply[0]);
    }
    if ((m->label == ST_WRITE || m->label == ST_READ_RECORD) && m->count > 1) {
        return pass_on(m);
    }
    if (m->label == ST_LIST) {
        m->reply_count = 1;
        for (uint32_t i = 0; i < cr_info()->n_requests && i < MAX_DISKS; i++) {
            if (disks[i].file != 0 || attach(i, 1)) {
                m->reply[m->reply_count++] = disks[i].file;
            }
        }
        m->reply[0] = m->reply_count - 1;
        return ST_OK;
    }
    return ST_BAD_REQUEST;
}

static int work(const cr_work_entry *w)
{
    st_say_notice(w);
    if (w->kind == CR_NOTICE_DESTROY && w->space == space) {
        space_gone = 1;
    }
    for (uint32_t i = 0; w->kind == CR_NOTICE_LOST && i < MAX_DISKS; i++) {
        if (disks[i].disk == w->space) {
            disks[i].block = 0;
            disks[i].disk = 0;
        }
    }
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    const cr_startup *info = cr_info();
    if (info->n_spaces != 1) {
        cr_say_text("no space to serve");
        cr_exit(1);
    }
    /* Connect to the disks first: a client that can find this space must also find its files. */
    for (uint32_t i = 0; i < info->n_requests && i < MAX_DISKS; i++) {
        (void)cr_connect(info->requests[i], 1, &disks[i].request, &disks[i].disk);
    }
    if (cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_say_text("my space cannot be made");
        cr_exit(1);
    }
    for (uint32_t i = 0; i < info->n_requests && i < MAX_DISKS; i++) {
        if (!attach(i, 0)) {
            cr_line line = {0};
            cr_say(cr_put(cr_put(&line, "no disk: "), info->requests[i]));
        }
    }
    cr_serve(&server);
}
