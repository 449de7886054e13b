/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One of many clients. In each round it sends numbered requests to a server and to a bystander,
 * in turn. After a loss it connects again and continues with the next number. It prints every
 * answer that belongs to another request, and at the end how many requests were answered and how
 * many were lost.
 *
 * Argument 0: the number of requests in a round.
 * Argument 1: the number of this client, below CW_CLIENTS.
 * Argument 2: when it acknowledges a loss:
 *   0  at once, before it connects again
 *   1  at the start of the next round, after it has connected again
 *   2 more: it learns that a server is gone only by a call that fails, not by the notice, so that
 *   it counts each loss
 * Argument 3: how many edges it allows each server to make for it, each time it connects. */
#include "crowd.h"
#include "storage.h"

enum { SERVER = 0, BYSTANDER = 1, SERVERS = 2 };
enum { LATER = 1, BY_CALL = 2 };

static struct {
    uint32_t slot; /* 0: none */
    uint32_t space;
    uint32_t asked;
    uint32_t answered;
    uint32_t lost;
} servers[SERVERS];

static int work(const cr_work_entry *w)
{
    for (uint32_t i = 0; i < SERVERS; i++) {
        /* A resource that a server gave to it may be lost alone. */
        if (w->kind == CR_NOTICE_LOST && w->space == servers[i].space && w->object == 0 &&
            (cr_info()->args[2] & BY_CALL) == 0) {
            servers[i].slot = 0;
        }
    }
    return 0;
}

static int connect(uint32_t i)
{
    const uint32_t allowed = (uint32_t)cr_info()->args[3];
    if (cr_connect(cr_info()->requests[i], 1, &servers[i].slot, &servers[i].space) !=
        CR_RESULT_OK) {
        servers[i].slot = 0;
        return 0;
    }
    return allowed == 0 || cr_allow(servers[i].space, allowed) == CR_RESULT_OK;
}

static void ask(uint32_t i)
{
    cr_line line = {0};
    uint32_t received;
    if (servers[i].slot == 0 && !connect(i)) {
        return;
    }
    uint64_t words[2] = {cr_info()->args[1], ++servers[i].asked};
    uint64_t echo[2] = {0};
    uint32_t label = cr_call(servers[i].slot, CW_ASK, words, 2, echo, 2, &received);
    if (label == CR_CALL_LOST) {
        servers[i].lost++;
        servers[i].slot = 0;
        if ((cr_info()->args[2] & LATER) == 0) {
            cr_poll_work(work);
        }
    } else if (label == CW_OK && echo[0] == words[0] && echo[1] == words[1]) {
        servers[i].answered++;
    } else {
        cr_put_number(cr_put(&line, "WRONG answer to request "), words[1]);
        cr_say(cr_put_hex(cr_put_hex(cr_put(cr_put_hex(cr_put(&line, ": "), label), " "), echo[0]),
                          echo[1]));
    }
}

static cr_line *put_counts(cr_line *line, uint32_t i)
{
    cr_put_number(cr_put(line, "asked "), servers[i].asked);
    cr_put_number(cr_put(line, ": answered "), servers[i].answered);
    return cr_put_number(cr_put(line, ", lost "), servers[i].lost);
}

void cr_main(void)
{
    cr_line line = {0};
    if (cr_info()->n_requests != SERVERS) {
        cr_say_text("nobody to ask");
        cr_exit(1);
    }
    while (cr_next_round()) {
        cr_poll_work(work);
        for (uint32_t i = 0; i < cr_info()->args[0]; i++) {
            ask(SERVER);
            ask(BYSTANDER);
        }
    }
    cr_poll_work(work);
    put_counts(cr_put(put_counts(&line, SERVER), "; bystander: "), BYSTANDER);
    cr_say(&line);
    cr_wait_for_work(work);
}
