/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client of several servers of which the first never answers. It connects to all of them. In each
 * round it sends a numbered request to each of the others, and in its first round it then calls
 * the first one. When it has lost a server it connects to it again, except to the first one. It
 * prints the answer of the first one and each wrong answer, and at the end how many requests were
 * answered and how many were lost.
 *
 * Argument 0: the number of this client, from 1 and below CW_CLIENTS. */
#include "crowd.h"
#include "storage.h"

static struct {
    uint32_t slot; /* 0: none */
    uint32_t space;
    uint32_t asked;
    uint32_t answered;
    uint32_t lost;
} servers[CR_STARTUP_REQUESTS];

static int work(const cr_work_entry *w)
{
    for (uint32_t i = 0; i < cr_info()->n_requests; i++) {
        if (w->kind == CR_NOTICE_LOST && w->space == servers[i].space && w->object == 0) {
            servers[i].slot = 0;
        }
    }
    return 0;
}

static void connect(uint32_t i)
{
    if (cr_connect(cr_info()->requests[i], 1, &servers[i].slot, &servers[i].space) !=
        CR_RESULT_OK) {
        cr_say_text("WRONG: nobody to ask");
        servers[i].slot = 0;
    }
}

static void ask(uint32_t i)
{
    cr_line line = {0};
    uint32_t received;
    uint64_t echo[2] = {0};
    if (servers[i].slot == 0) {
        connect(i);
    }
    const uint64_t words[2] = {cr_info()->args[0], ++servers[i].asked};
    const uint32_t label = cr_call(servers[i].slot, CW_ASK, words, 2, echo, 2, &received);
    if (label == CR_CALL_LOST) {
        servers[i].lost++;
        servers[i].slot = 0;
        cr_poll_work(work);
    } else if (label == CW_OK && echo[0] == words[0] && echo[1] == words[1]) {
        servers[i].answered++;
    } else {
        cr_say(cr_put_number(cr_put(&line, "WRONG answer to request "), words[1]));
    }
}

void cr_main(void)
{
    cr_line line = {0};
    uint32_t received;
    int called = 0;
    for (uint32_t i = 0; i < cr_info()->n_requests; i++) {
        connect(i);
    }
    while (cr_next_round()) {
        cr_poll_work(work);
        for (uint32_t i = 1; i < cr_info()->n_requests; i++) {
            ask(i);
        }
        if (!called) {
            called = 1;
            const uint32_t label = cr_call(servers[0].slot, ST_ALLOCATE, 0, 0, 0, 0, &received);
            cr_say(cr_put(cr_put(&line, "answer: "), st_name(label)));
        }
    }
    cr_poll_work(work);
    for (uint32_t i = 1; i < cr_info()->n_requests; i++) {
        cr_put_number(cr_put(&line, i > 1 ? "; asked " : "asked "), servers[i].asked);
        cr_put_number(cr_put(&line, ": answered "), servers[i].answered);
        cr_put_number(cr_put(&line, ", lost "), servers[i].lost);
    }
    cr_say(&line);
    cr_wait_for_work(work);
}
