/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A survivor that uses what it has lost before it is told. In each round it calls its request and
 * its resource of a block server and of a database, and lets a peer use the resource that it sent
 * to it and the request that it shares with it. It prints what each call returned: the answer of
 * the server, or the error of the kernel. It fetches its notices only after two rounds with an
 * error of the kernel, or at the end. Its requests are for the spaces of the block server, of the
 * database and of the peer; its PD capability is the peer's. */
#include "registry.h"
#include "storage.h"

enum { BLOCKS = 0, TABLES = 1, PEER = 2, SERVERS = 3 };

static uint32_t requests[SERVERS];
static uint32_t spaces[SERVERS];
static uint32_t block;
static uint32_t table;
static uint64_t sent;
static uint64_t shared;
static uint32_t rounds_with_errors;

static _Noreturn void fail(const char *why)
{
    cr_say_text(why);
    cr_exit(1);
}

static void set_up(void)
{
    uint64_t reply[3] = {0};
    uint64_t space_and_object[2];
    uint32_t received;
    const cr_startup *info = cr_info();
    for (uint32_t i = 0; i < SERVERS; i++) {
        if (i >= info->n_requests ||
            cr_connect(info->requests[i], 1, &requests[i], &spaces[i]) != CR_RESULT_OK ||
            cr_allow(spaces[i], 1) != CR_RESULT_OK) {
            fail("cannot connect");
        }
    }
    if (cr_call(requests[BLOCKS], ST_ALLOCATE, 0, 0, reply, 3, &received) != ST_OK) {
        fail("no block");
    }
    block = (uint32_t)reply[2];
    if (cr_call(requests[TABLES], ST_OPEN, 0, 0, reply, 1, &received) != ST_OK) {
        fail("no table");
    }
    table = (uint32_t)reply[0];
    /* The peer allows this PD two edges. The database has one table, and it is object 1. */
    const uint64_t consent[3] = {0, info->pd, 2};
    if (info->n_pds != 1 ||
        cr_call(requests[PEER], PE_ALLOW, consent, 3, reply, 1, &received) != RG_OK ||
        reply[0] != CR_RESULT_OK) {
        fail("no consent");
    }
    space_and_object[0] = spaces[TABLES];
    space_and_object[1] = 1;
    if (cr_call_root_with_pd(CR_OP_SEND, info->pds[0].slot, space_and_object, 2, &sent, 1) !=
            CR_RESULT_OK ||
        cr_call_root_with_pd(CR_OP_SHARE_REQUEST, info->pds[0].slot, space_and_object, 1, &shared,
                             1) != CR_RESULT_OK) {
        fail("cannot send");
    }
}

static int put_label(cr_line *line, const char *what, uint64_t label)
{
    cr_put(cr_put(line, what), ": ");
    if (label < CR_REPLY_BASE) {
        cr_put_number(cr_put(line, "kernel error "), label);
        return 1;
    }
    cr_put(line, st_name((uint32_t)label));
    return 0;
}

/* cr_call hides the kernel's error. */
static int touch(cr_line *line, const char *what, uint32_t slot, uint32_t label)
{
    seL4_MessageInfo_t tag = seL4_Call(slot, seL4_MessageInfo_new(label, 0, 0, 0));
    return put_label(line, what, seL4_MessageInfo_get_label(tag));
}

static void touch_with_peer(cr_line *line, const char *what, uint32_t order, uint64_t slot)
{
    uint64_t reply[1] = {0};
    uint32_t received;
    uint32_t answer = cr_call(requests[PEER], order, &slot, 1, reply, 1, &received);
    put_label(line, what, answer == RG_OK ? reply[0] : answer);
}

static void touch_all(const char *when, uint32_t round)
{
    cr_line line = {0};
    int errors = 0;
    if (round != 0) {
        cr_put_number(cr_put(&line, "round "), round);
    }
    cr_put(&line, when);
    errors += touch(&line, ": disk", requests[BLOCKS], ST_STATUS);
    errors += touch(&line, ", block", block, ST_READ);
    cr_say(&line);
    line = (cr_line){0};
    errors += touch(&line, "database", requests[TABLES], ST_STATUS);
    errors += touch(&line, ", table", table, ST_READ);
    cr_say(&line);
    line = (cr_line){0};
    touch_with_peer(&line, "shared database", PE_WHO, shared);
    touch_with_peer(&line, ", sent table", PE_USE, sent);
    cr_say(&line);
    rounds_with_errors += errors != 0;
}

void cr_main(void)
{
    uint32_t round = 0;
    set_up();
    do {
        touch_all("", ++round);
        if (rounds_with_errors == 2) {
            cr_poll_work(st_note);
        }
    } while (cr_next_round());
    cr_poll_work(st_note);
    touch_all("at the end", 0);
    cr_wait_for_work(st_note);
}
