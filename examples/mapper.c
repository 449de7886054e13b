/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that reports what its resources are built on only when the root task asks for it, in
 * an extract notice. Each of its resources is built on one block of the disk of its first
 * request.
 *
 * Argument 0: the number of resources.
 * Argument 1: how it answers an extract notice:
 *   0  it reports all resources in the answer for the space
 *   1  it asks to be asked for each resource separately
 *   2  it reports nothing
 *   3  it reports half of the resources
 *   4  it reports half of the resources, then acknowledges the notice as failed
 *   5  it never answers
 *   6  it reports half of the resources, then takes a page fault
 *   7  it reports every resource on every block; if this is refused, it prints the result */
#include "storage.h"
#include <cellreap/image.h>

enum { MAX_THINGS = 64 };
enum {
    BY_SPACE = 0,
    BY_RESOURCE = 1,
    NOTHING = 2,
    HALF = 3,
    FAILS = 4,
    NEVER = 5,
    DIES = 6,
    CROWDS = 7
};

static uint32_t space;
static uint32_t disk;
static uint32_t made;
static struct {
    uint32_t object, block;
} things[MAX_THINGS];

static uint32_t serve(cr_incoming *m)
{
    (void)m;
    cr_checkpoint();
    return ST_BAD_REQUEST;
}

static void report_half_and_die(const cr_work_entry *w)
{
    cr_piece pieces[CR_SUBGRAPH_MAX];
    uint32_t count = 0;
    for (; count < made / 2 && count < CR_SUBGRAPH_MAX; count++) {
        pieces[count] = (cr_piece){things[count].object, disk, things[count].block};
    }
    if (cr_subgraph(w->token, count, pieces) != CR_RESULT_OK) {
        cr_say_text("what I reported was refused");
    }
    cr_crash(CR_CRASH_PAGE_FAULT);
}

static int report_all_on_all(const cr_work_entry *w)
{
    cr_line line = {0};
    for (uint32_t i = 0; i < made * made; i++) {
        cr_result result = cr_report_map(w, things[i / made].object, disk, things[i % made].block);
        if (result != CR_RESULT_OK) {
            cr_put_number(cr_put(&line, "reported: "), i + 1);
            cr_say(cr_put_number(cr_put(&line, ", result "), result));
            return CR_WORK_FAILED;
        }
    }
    return CR_WORK_DONE;
}

static int extract(const cr_work_entry *w)
{
    uint32_t how = cr_info()->args[1];
    uint32_t first = how == HALF || how == FAILS ? made / 2 : 0;
    if (how == NEVER) {
        cr_crash(CR_CRASH_BLOCK);
    }
    if (how == NOTHING) {
        return CR_WORK_DONE;
    }
    if (how == DIES) {
        report_half_and_die(w);
    }
    if (how == CROWDS) {
        return report_all_on_all(w);
    }
    if (how == BY_RESOURCE && w->object == 0) {
        return CR_WORK_BY_RESOURCE;
    }
    if (w->object == 0) {
        (void)cr_report_map(w, 0, disk, 0);
    }
    for (uint32_t i = first; i < made; i++) {
        if (w->object == 0 || w->object == things[i].object) {
            (void)cr_report_map(w, things[i].object, disk, things[i].block);
        }
    }
    return how == FAILS ? CR_WORK_FAILED : CR_WORK_DONE;
}

void cr_main(void)
{
    static const cr_server server = {serve, st_note, extract, 0};
    uint64_t reply[3];
    uint32_t slot;
    uint32_t received;
    const cr_startup *info = cr_info();
    if (info->n_spaces != 1 || info->n_requests != 1 ||
        cr_connect(info->requests[0], 1, &slot, &disk) != CR_RESULT_OK ||
        cr_allow(disk, info->args[0]) != CR_RESULT_OK ||
        cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_say_text("no space to serve, or no disk");
        cr_exit(1);
    }
    while (made < info->args[0] && made < MAX_THINGS &&
           cr_call(slot, ST_ALLOCATE, 0, 0, reply, 3, &received) == ST_OK &&
           cr_create_resource(space, &things[made].object) == CR_RESULT_OK) {
        things[made++].block = (uint32_t)reply[1];
    }
    cr_serve(&server);
}
