/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that terminates other PDs and asks for the tickets. It creates its spaces at the start,
 * but serves no client.
 *
 * Argument 0, bits:
 *   1   first it makes requests that must be refused, and prints the results
 *   2   it waits for each ticket
 *   4   it terminates the PDs of all its PD capabilities, in turn
 *   8   it has the model state extracted, and asks for this a second time at once
 *   16  it exits after that
 *   32  it acknowledges no notice before the end of the round in which it does all this
 *   64  it terminates each PD with all that the PD created
 * Argument 1: the round in which it does all this; the first round is 1.
 * Argument 2: a later round in which it asks for all its tickets again.
 * Argument 3: the number of operations that it performs after each termination. */
#include "storage.h"

enum {
    LIES = 1,
    WAITS = 2,
    TERMINATES = 4,
    EXTRACTS = 8,
    EXITS = 16,
    DEAF = 32,
    TREES = 64,
    MAX_TICKETS = 16
};

static uint32_t tickets[MAX_TICKETS];
static uint32_t n_tickets;

static cr_line *put_result(cr_line *line, cr_result result, const cr_ticket_info *info)
{
    static const char *const states[CR_TICKET_STATE_COUNT] = {"queued", "running",   "settled",
                                                              "over",   "cancelled", "prevented"};
    if (result != CR_RESULT_OK) {
        return cr_put_number(cr_put(line, "refused, "), result);
    }
    cr_put_number(cr_put(line, "ticket "), info->ticket);
    cr_put(cr_put(line, " "), info->state < CR_TICKET_STATE_COUNT ? states[info->state] : "?");
    cr_put_number(cr_put(line, ": done "), info->done);
    cr_put_number(cr_put(line, ", failed "), info->failed);
    cr_put_number(cr_put(line, ", dropped "), info->dropped);
    cr_put_number(cr_put(line, ", waiting "), info->waiting);
    return cr_put_number(cr_put(line, ", held "), info->held);
}

static void say_ticket(const char *what, uint32_t ticket, int wait)
{
    cr_line line = {0};
    cr_ticket_info info;
    cr_result result = cr_ticket(ticket, wait, &info);
    cr_say(put_result(cr_put(cr_put(&line, what), ": "), result, &info));
}

static void keep(uint32_t ticket)
{
    if (n_tickets < MAX_TICKETS) {
        tickets[n_tickets++] = ticket;
    }
    if ((cr_info()->args[0] & WAITS) != 0) {
        say_ticket("waited", ticket, 1);
    }
}

static void terminate(const char *name, uint32_t slot)
{
    cr_line line = {0};
    cr_ticket_info info;
    const int tree = (cr_info()->args[0] & TREES) != 0;
    cr_result result = tree ? cr_terminate_tree(slot, &info) : cr_terminate(slot, &info);
    cr_put(cr_put(cr_put(&line, "terminate "), name), ": ");
    cr_say(put_result(&line, result, &info));
    for (uint32_t i = 0; i < cr_info()->args[3]; i++) {
        cr_look_state state;
        (void)cr_look(0, 0, 0, &state);
    }
    if (result == CR_RESULT_OK) {
        keep(info.ticket);
    }
}

static void extract(void)
{
    cr_line line = {0};
    uint32_t ticket;
    cr_result result = cr_extract(&ticket);
    cr_put_number(cr_put(&line, "extract: result "), result);
    cr_say(cr_put_number(cr_put(&line, ", ticket "), ticket));
    if (result != CR_RESULT_OK) {
        return;
    }
    uint32_t second;
    cr_say(cr_put_number(cr_put(&line, "once more: result "), cr_extract(&second)));
    keep(ticket);
}

static void lie(void)
{
    cr_line line = {0};
    uint64_t work_there[2] = {9, 9};
    uint32_t slot = 0;
    uint32_t space;
    if (cr_info()->n_requests > 0 &&
        cr_connect(cr_info()->requests[0], 1, &slot, &space) == CR_RESULT_OK) {
        terminate("a request", slot);
    }
    terminate("nothing", 0);
    terminate("an empty slot", (1u << cr_info()->cspace_bits) - 1);
    terminate("the root task", CR_SLOT_ROOT);
    say_ticket("ticket of nobody", 999, 0);
    say_ticket("ticket 0", 0, 1);
    say_ticket("the first ticket", 1, 0);
    if (cr_call_root(CR_OP_GET_WORK, 0, 0, work_there, 2) == CR_RESULT_OK) {
        cr_say(cr_put_number(cr_put(&line, "work of others: "), work_there[1]));
    }
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    uint32_t space;
    for (uint32_t i = 0; i < info->n_spaces; i++) {
        if (cr_create_space(info->spaces[i].type, info->spaces[i].name, &space) != CR_RESULT_OK) {
            cr_say_text("no space of mine");
        }
    }
    for (uint32_t round = 1; cr_next_round(); round++) {
        if ((info->args[0] & DEAF) == 0 || round > info->args[1]) {
            cr_poll_work(st_note);
        }
        if (round == info->args[1] && (info->args[0] & LIES) != 0) {
            lie();
        }
        for (uint32_t i = 0;
             round == info->args[1] && (info->args[0] & TERMINATES) != 0 && i < info->n_pds; i++) {
            terminate(info->pds[i].name, info->pds[i].slot);
        }
        if (round == info->args[1] && (info->args[0] & EXTRACTS) != 0) {
            extract();
        }
        if (round == info->args[1] && (info->args[0] & EXITS) != 0) {
            cr_exit(0);
        }
        for (uint32_t i = 0; round == info->args[2] && i < n_tickets; i++) {
            say_ticket("again", tickets[i], 0);
        }
    }
    cr_wait_for_work(st_note);
}
