/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages between the storage servers of the reference scenario and their clients. */
#ifndef CELLREAP_PDS_STORAGE_H
#define CELLREAP_PDS_STORAGE_H

#include <cellreap/client.h>

/* Labels of messages. A message with a REQUEST badge addresses a space. ST_READ of a block or a
 * table has a RESOURCE badge and addresses the resource. */
enum {
    ST_ALLOCATE = 0x200, /* block server, REQUEST -> space, object, slot of the new block */
    ST_READ = 0x201,     /* RESOURCE -> value; file server, REQUEST: object -> value */
    ST_LIST = 0x202,     /* file server, REQUEST -> number of files, then their objects */
    ST_OPEN = 0x203,     /* database, REQUEST -> slot of the table */
    ST_STATUS = 0x204,   /* database, REQUEST -> result of reading its second file, value */
    /* Of a disk, and of what is on it: a record is ST_RECORD words at the beginning of a sector. */
    ST_READ_RECORD = 0x205, /* RESOURCE: sector -> record; file server, REQUEST: object, sector */
    ST_WRITE = 0x206,       /* RESOURCE: sector, record; file server, REQUEST: object, ... */
    ST_COMMIT = 0x207       /* database, RESOURCE: number from 1, value. It is answered with ST_OK
                             * when the disk has it. To repeat the last one changes nothing. */
};

enum { ST_RECORD = 4 /* words */, ST_SECTORS = 1024 /* of a block of a disk */ };

/* Labels of answers. */
enum {
    ST_OK = CR_REPLY_BASE,
    ST_BAD_REQUEST = CR_REPLY_BASE + 1,
    ST_NO_SUCH = CR_REPLY_BASE + 2,
    ST_IO_ERROR = CR_REPLY_BASE + 3, /* the server's own storage is lost */
    ST_FULL = CR_REPLY_BASE + 4
};

static inline const char *st_name(uint32_t label)
{
    switch (label) {
    case ST_OK:
        return "ok";
    case ST_BAD_REQUEST:
        return "bad request";
    case ST_NO_SUCH:
        return "no such object";
    case ST_IO_ERROR:
        return "input/output error";
    case ST_FULL:
        return "full";
    case CR_CALL_LOST:
        return "server died";
    default:
        return "unknown answer";
    }
}

/* Gives a resource to the client that sent `m`, and composes the answer to ST_ALLOCATE. Returns
 * whether it was given. */
int st_give(cr_incoming *m, uint32_t space, uint32_t object);
/* Prints a notice in words. */
void st_say_notice(const cr_work_entry *work);
/* The `work` function of a PD that only prints its notices: each is done. */
int st_note(const cr_work_entry *work);

#endif
