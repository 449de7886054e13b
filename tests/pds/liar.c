/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that lies to the root task: about tokens, about the results of its work, and about
 * what its resources are built on. It prints a line for each check: "check NAME: ok", or the
 * value that it got instead. It has one space and a request for a disk. Its state is extracted
 * twice, and one of its clients is destroyed before that. */
#include "storage.h"

static uint32_t space;
static uint32_t disk;
static uint32_t objects[2];
static uint64_t block[3];
static uint64_t old_token; /* token of a notice that it has already finished */
static uint32_t extractions;

static cr_result one(uint64_t token, uint32_t object, uint32_t target_space, uint32_t target_object)
{
    cr_piece piece = {object, target_space, target_object};
    return cr_subgraph(token, 1, &piece);
}

static cr_result finish(uint64_t token, uint64_t how)
{
    uint64_t arguments[] = {1, token, how};
    return cr_call_root(CR_OP_FINISH_WORK, arguments, 3, 0, 0);
}

/* Lies in the answer to an extract notice about the whole space. */
static void lie_about_the_space(const cr_work_entry *w)
{
    uint32_t mine = objects[0];
    uint32_t theirs = (uint32_t)block[1];
    cr_say_check("a token that there is not", one(w->token + 1000, mine, disk, theirs),
                 CR_RESULT_NO_SUCH);
    cr_say_check("a resource that there is not", one(w->token, 999, disk, theirs),
                 CR_RESULT_NO_SUCH);
    cr_say_check("a space that there is not", one(w->token, mine, 9999, theirs), CR_RESULT_NO_SUCH);
    cr_say_check("a block that there is not", one(w->token, mine, disk, 999), CR_RESULT_NO_SUCH);
    cr_say_check("a space on a block", one(w->token, 0, disk, theirs), CR_RESULT_FAILED);
    cr_say_check("a resource on a space", one(w->token, mine, disk, 0), CR_RESULT_FAILED);
    cr_say_check("a space on itself", one(w->token, 0, space, 0), CR_RESULT_DENIED);
    cr_say_check("a resource on itself", one(w->token, mine, space, mine), CR_RESULT_DENIED);
    cr_say_check("none at all", cr_subgraph(w->token, 0, 0), CR_RESULT_BAD_LENGTH);
    uint64_t many[2 + CR_WORK_MAX] = {w->token, CR_SUBGRAPH_MAX + 1};
    cr_say_check("more than there may be",
                 cr_call_root(CR_OP_SUBGRAPH, many, 2 + CR_WORK_MAX, 0, 0), CR_RESULT_BAD_LENGTH);
    many[1] = CR_WORK_MAX;
    cr_say_check("fewer than it says", cr_call_root(CR_OP_SUBGRAPH, many, 2 + CR_WORK_MAX, 0, 0),
                 CR_RESULT_BAD_LENGTH);
    uint32_t denied = 0;
    uint32_t taken = 0;
    /* Starts at 2: space 1 is the core space of type RESSPC, which this PD has a request for. */
    for (uint32_t s = 2; s < 40; s++) {
        cr_result result = s != space && s != disk ? one(w->token, 0, s, 0) : CR_RESULT_NO_SUCH;
        denied += result == CR_RESULT_DENIED;
        taken += result == CR_RESULT_OK;
    }
    cr_say_check("others' spaces are denied", denied > 0, 1);
    cr_say_check("and none is taken", taken, 0);
    cr_piece mixed[2] = {{mine, disk, theirs}, {999, disk, theirs}};
    cr_say_check("a true one with a false one", cr_subgraph(w->token, 2, mixed), CR_RESULT_NO_SUCH);
    cr_say_check("the true one alone", one(w->token, mine, disk, theirs), CR_RESULT_OK);
    cr_say_check("and again", one(w->token, mine, disk, theirs), CR_RESULT_OK);
    cr_say_check("one on the other", one(w->token, objects[0], space, objects[1]), CR_RESULT_OK);
    cr_say_check("the other on the one", one(w->token, objects[1], space, objects[0]),
                 CR_RESULT_DENIED);
    cr_say_check("to finish what it has not", finish(w->token + 1000, CR_WORK_DONE),
                 CR_RESULT_NO_SUCH);
    cr_say_check("to finish in a way that there is not", finish(w->token, CR_WORK_RESULT_COUNT),
                 CR_RESULT_FAILED);
    uint64_t twice[] = {2, w->token, CR_WORK_DONE, w->token, CR_WORK_DONE};
    cr_say_check("to finish twice in a message", cr_call_root(CR_OP_FINISH_WORK, twice, 5, 0, 0),
                 CR_RESULT_NO_SUCH);
    if (old_token != 0) {
        cr_say_check("to finish what it has finished", finish(old_token, CR_WORK_DONE),
                     CR_RESULT_NO_SUCH);
        cr_say_check("to report for what it has finished", one(old_token, mine, disk, theirs),
                     CR_RESULT_NO_SUCH);
    }
    cr_say_check("to resume what did not fail", cr_resume_work(space), CR_RESULT_NO_SUCH);
    cr_say_check("to resume in a space of another's", cr_resume_work(disk), CR_RESULT_NO_SUCH);
}

static int extract(const cr_work_entry *w)
{
    if (w->object == 0) {
        lie_about_the_space(w);
        extractions++;
        old_token = w->token;
        return extractions == 1 ? CR_WORK_DONE : CR_WORK_BY_RESOURCE;
    }
    uint32_t other = objects[w->object == objects[0]];
    static uint32_t asked;
    cr_say_check("another resource than it is asked about",
                 one(w->token, other, disk, (uint32_t)block[1]), CR_RESULT_DENIED);
    cr_say_check("the space, asked about a resource", one(w->token, 0, disk, 0), CR_RESULT_DENIED);
    /* The second notice was handed out together with the first, which is not finished yet. So
     * the second is also out of turn. */
    cr_say_check("to be asked by resource for a resource", finish(w->token, CR_WORK_BY_RESOURCE),
                 asked++ == 0 ? CR_RESULT_FAILED : CR_RESULT_DENIED);
    return CR_WORK_DONE;
}

static int work(const cr_work_entry *w)
{
    st_say_notice(w);
    if (w->kind == CR_NOTICE_FREE || w->kind == CR_NOTICE_DISCONNECT) {
        cr_say_check("to be asked by resource for what is free",
                     finish(w->token, CR_WORK_BY_RESOURCE), CR_RESULT_FAILED);
        cr_say_check("to report for what is free",
                     one(w->token, objects[0], disk, (uint32_t)block[1]), CR_RESULT_NO_SUCH);
    }
    return 0;
}

static uint32_t serve(cr_incoming *m)
{
    return m->label == ST_ALLOCATE && st_give(m, space, objects[0]) ? ST_OK : ST_BAD_REQUEST;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, extract, 0};
    uint32_t slot;
    uint32_t received;
    uint32_t ticket;
    cr_look_state state;
    const cr_startup *info = cr_info();
    if (info->n_spaces != 1 || info->n_requests != 1 ||
        cr_connect(info->requests[0], 1, &slot, &disk) != CR_RESULT_OK ||
        cr_allow(disk, 1) != CR_RESULT_OK ||
        cr_call(slot, ST_ALLOCATE, 0, 0, block, 3, &received) != ST_OK ||
        cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK ||
        cr_create_resource(space, &objects[0]) != CR_RESULT_OK ||
        cr_create_resource(space, &objects[1]) != CR_RESULT_OK) {
        cr_say_text("nothing to lie about");
        cr_exit(1);
    }
    cr_say_check("to have the state extracted", cr_extract(&ticket), CR_RESULT_DENIED);
    cr_say_check("to look at a space that there is not", cr_look(9999, 0, 0, &state),
                 CR_RESULT_NO_SUCH);
    cr_say_check("to subscribe to a space that there is not", cr_subscribe(9999, 0),
                 CR_RESULT_NO_SUCH);
    cr_say_check("to subscribe to a core space", cr_subscribe(1, 0), CR_RESULT_DENIED);
    cr_say_check("to unsubscribe from what it did not subscribe to", cr_unsubscribe(disk, 0),
                 CR_RESULT_NO_SUCH);
    cr_say_check("to finish what nobody has", finish(1, CR_WORK_DONE), CR_RESULT_NO_SUCH);
    cr_say_check("to report unasked", one(1, objects[0], disk, (uint32_t)block[1]),
                 CR_RESULT_NO_SUCH);
    cr_serve(&server);
}
