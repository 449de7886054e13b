/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A process of three threads, which count together. The second one serves, and the third one calls
 * it. Each says at its start what it finds in the memory that they share, and changes all of that
 * which is its own. args[0]: the address of a region of the process, if it has one. args[1]: where
 * the third one attaches memory, for all of them. */
#include <cellreap/client.h>

enum { FIRST, SERVER, CLIENT, WORDS = 8, ADD = CR_REPLY_BASE };

static volatile uint64_t woven[CR_THREADS_MAX];
static volatile uint64_t served;

static volatile uint64_t *at(uint32_t arg)
{
    return (volatile uint64_t *)(uintptr_t)cr_info()->args[arg];
}

static void attach(void)
{
    uint32_t space, object, regions, region;
    cr_say_check("allocate", cr_allocate(1, 0, &space, &object), CR_RESULT_OK);
    cr_say_check("taken", cr_attach(space, object, cr_info()->args[0], 1, &regions, &region),
                 CR_RESULT_EXISTS);
    cr_say_check("attach", cr_attach(space, object, cr_info()->args[1], 1, &regions, &region),
                 CR_RESULT_OK);
    *at(1) = 7;
}

/* Message and answer are longer than what registers carry: they are in two IPC buffers. */
static uint32_t add(cr_incoming *message)
{
    served++;
    for (uint32_t i = 0; i < message->count; i++) {
        message->reply[i] = message->words[i] + served;
    }
    message->reply_count = message->count;
    return ADD;
}

static void ask(uint32_t slot)
{
    uint64_t words[WORDS], reply[WORDS];
    uint32_t received;
    const uint64_t before = served;
    for (uint32_t i = 0; i < WORDS; i++) {
        words[i] = 100 * i;
    }
    uint32_t wrong = cr_call(slot, ADD, words, WORDS, reply, WORDS, &received) != ADD ||
                     received != WORDS || served != before + 1;
    for (uint32_t i = 0; i < WORDS && !wrong; i++) {
        wrong = reply[i] != 100 * i + before + 1;
    }
    if (wrong) {
        cr_say_text("wrong answer");
    }
}

static void say_counts(const char *what)
{
    cr_line line = {0};
    cr_put(&line, what);
    for (uint32_t i = 0; i < cr_info()->threads; i++) {
        cr_put_number(cr_put(&line, " "), woven[i]);
    }
    cr_say(cr_put_number(cr_put(&line, ", served "), served));
}

static int end(const cr_work_entry *work, cr_moment moment, uint64_t data)
{
    (void)work;
    (void)moment;
    (void)data;
    say_counts("last");
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {.serve = add, .work = cr_tell_handlers};
    const uint32_t me = cr_info()->thread;
    volatile uint64_t *const stack =
        (volatile uint64_t *)(uintptr_t)cr_vaddr_of(CR_VADDR_STACK, me);
    cr_line line = {0};
    uint32_t slot = 0, space;
    cr_put_number(cr_put(&line, "thread "), me);
    cr_put_number(cr_put(&line, " of "), cr_info()->threads);
    cr_put_number(cr_put(&line, ": stack "), *stack);
    cr_put_number(cr_put(&line, ", count "), woven[me]);
    cr_say(cr_put(cr_put(&line, ", "), cr_info()->name));
    *stack = 99;
    (void)cr_set_destructor(end, 0);
    if (cr_info()->n_pds > 0) {
        cr_say_check("process", cr_subscribe(0, cr_info()->pds[0].slot), CR_RESULT_DENIED);
    }
    if (me == SERVER) {
        woven[me] = 1;
        (void)cr_own_space();
        cr_serve(&server);
    }
    if (me == CLIENT && cr_connect("cloth", 1, &slot, &space) != CR_RESULT_OK) {
        cr_say_text("no server");
    }
    if (me == CLIENT) {
        attach();
    }
    while (cr_next_round()) {
        woven[me]++;
        if (me == CLIENT) {
            ask(slot);
        }
        if (at(0) != 0) {
            at(0)[me] = woven[me];
        }
    }
    say_counts("in the end");
    if (at(0) != 0) {
        line = (cr_line){0};
        cr_put_number(cr_put(&line, "region "), at(0)[CLIENT]);
        cr_say(cr_put_number(cr_put(&line, ", attached "), *at(1)));
    }
    cr_wait_for_work(cr_tell_handlers);
}
