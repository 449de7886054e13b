/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that spawns PDs, gives each a request to its space and a hold of a resource, and loses
 * the PD. Every second PD faults as soon as it runs; the others are terminated. The server
 * acknowledges everything.
 *
 * Argument 0: the number of PDs. */
#include <cellreap/client.h>

static uint32_t space;
static uint32_t objects[2];
static uint32_t failed;
static uint32_t notices;

static void expect_ok(cr_result result)
{
    failed += result != CR_RESULT_OK;
}

static int work(const cr_work_entry *w)
{
    (void)w;
    notices++;
    return 0;
}

static uint32_t spawn(const char *program)
{
    uint64_t name[CR_NAME_WORDS] = {0};
    uint64_t results[2] = {0};
    for (uint32_t i = 0; program[i] != '\0'; i++) {
        name[i / 8] |= (uint64_t)(uint8_t)program[i] << (8 * (i % 8));
    }
    expect_ok(cr_call_root(CR_OP_SPAWN, name, CR_NAME_WORDS, results, 2));
    return (uint32_t)results[0];
}

static void lose(int faults)
{
    cr_ticket_info info;
    const uint32_t pd = spawn(faults ? "crasher" : "idler");
    const uint64_t share[] = {space};
    expect_ok(cr_call_root_with_pd(CR_OP_SHARE_REQUEST, pd, share, 1, 0, 0));
    const uint64_t send[] = {space, objects[0]};
    expect_ok(cr_call_root_with_pd(CR_OP_SEND, pd, send, 2, 0, 0));
    /* The new PD has the same priority as this one: it runs until it faults or waits. */
    seL4_Yield();
    if (!faults) {
        expect_ok(cr_terminate(pd, &info));
    }
    cr_poll_work(work);
}

void cr_main(void)
{
    cr_line line = {0};
    space = cr_own_space();
    for (uint32_t i = 0; i < 2; i++) {
        expect_ok(cr_create_resource(space, &objects[i]));
    }
    expect_ok(cr_map(space, objects[0], space, objects[1]));
    for (uint32_t i = 0; i < cr_info()->args[0]; i++) {
        lose(i % 2 == 0);
    }
    cr_put_number(cr_put(&line, "lost "), cr_info()->args[0]);
    cr_put_number(cr_put(&line, " PDs, failures: "), failed);
    cr_say(cr_put_number(cr_put(&line, ", notices: "), notices));
    cr_wait_for_work(work);
}
