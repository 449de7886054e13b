/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A block server with a real disk: it drives the disk of QEMU's machine, and gives blocks of it.
 * Block n, from 0, is the n-th ST_SECTORS sectors of the disk. A driver that comes back knows no
 * blocks, and gives them again in the same order: who had block 0 asks first. */
#include "disk.h"
#include "storage.h"

enum { BLOCKS = 16 };

static uint32_t space;
static struct {
    uint32_t object; /* 0: no block */
    int taken;
} blocks[BLOCKS];

static uint32_t allocate(cr_incoming *m)
{
    for (uint32_t i = 0; i < BLOCKS; i++) {
        if (blocks[i].taken) {
            continue;
        }
        if (blocks[i].object == 0 && cr_create_resource(space, &blocks[i].object) != CR_RESULT_OK) {
            return ST_FULL;
        }
        blocks[i].taken = st_give(m, space, blocks[i].object);
        return blocks[i].taken ? ST_OK : ST_BAD_REQUEST;
    }
    return ST_FULL;
}

/* A message for a block: its sector, and what is to be written. */
static uint32_t transfer(cr_incoming *m, uint32_t block)
{
    uint64_t words[DISK_SECTOR_WORDS] = {0};
    const int write = m->label == ST_WRITE;
    if (m->words[0] >= ST_SECTORS || m->count != (write ? 1 + ST_RECORD : 1)) {
        return ST_BAD_REQUEST;
    }
    const uint32_t sector = block * ST_SECTORS + (uint32_t)m->words[0];
    for (uint32_t i = 0; i < ST_RECORD; i++) {
        words[i] = m->words[1 + i];
    }
    if (!(write ? disk_write(sector, words) : disk_read(sector, words))) {
        return ST_IO_ERROR;
    }
    for (uint32_t i = 0; !write && i < ST_RECORD; i++) {
        m->reply[i] = words[i];
    }
    m->reply_count = write ? 0 : ST_RECORD;
    return ST_OK;
}

static uint32_t serve(cr_incoming *m)
{
    cr_checkpoint();
    if (cr_badge_kind_of(m->badge) == CR_BADGE_REQUEST && m->label == ST_ALLOCATE) {
        return allocate(m);
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        if (cr_badge_kind_of(m->badge) == CR_BADGE_RESOURCE && blocks[i].object != 0 &&
            cr_badge_object(m->badge) == blocks[i].object &&
            (m->label == ST_WRITE || m->label == ST_READ_RECORD)) {
            return transfer(m, i);
        }
    }
    return ST_BAD_REQUEST;
}

/* Whether nobody has a block any more is asked again about each: notices may stand for others. */
static int work(const cr_work_entry *w)
{
    (void)w;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint32_t own = 0;
        uint32_t all = 0;
        if (blocks[i].taken && cr_holds(space, blocks[i].object, &own, &all) == CR_RESULT_OK &&
            own == all) {
            blocks[i].taken = 0;
        }
    }
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, disk_rung};
    if (!disk_start(work)) {
        cr_say_text("no disk");
        cr_exit(1);
    }
    space = cr_own_space();
    cr_serve(&server);
}
