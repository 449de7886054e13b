/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that stops the machine for good at a bad moment, with a debug call of the kernel. It says so
 * just before that.
 *
 * Argument 0: what it does first:
 *   0  it makes resources, without a pause, and then computes
 *   1  it waits until it has lost the space that it requests
 *   2  it makes spaces, and never stops the machine, but crashes
 *   3  it prints lines
 * Argument 1: how many resources or spaces it makes, or lines it prints
 * Argument 2: for how many turns it computes
 * Argument 3: 1: it exits instead of stopping the machine */
#include <cellreap/client.h>

enum { MAKES = 0, LOSES = 1, CRASHES = 2, PRINTS = 3 };

static void stop(void)
{
    cr_say_text("stops");
#ifdef CONFIG_DEBUG_BUILD
    if (cr_info()->args[3] == 0) {
        seL4_DebugHalt();
    }
#endif
    cr_exit(0);
}

static void make(void)
{
    const uint32_t space = cr_own_space();
    uint32_t object;
    for (uint64_t i = 0; i < cr_info()->args[1]; i++) {
        if (cr_create_resource(space, &object) != CR_RESULT_OK) {
            cr_exit(1);
        }
    }
}

static void make_spaces(void)
{
    uint32_t space = cr_own_space();
    for (uint64_t i = 0; i < cr_info()->args[1]; i++) {
        char name[] = "s0000";
        for (uint64_t digit = 4, left = i; digit > 0; digit--, left /= 10) {
            name[digit] = (char)('0' + left % 10);
        }
        if (cr_create_space("LOST", name, &space) != CR_RESULT_OK) {
            cr_exit(1);
        }
    }
}

static int stop_at_a_loss(const cr_work_entry *work)
{
    if (work->kind == CR_NOTICE_LOST) {
        stop();
    }
    return 0;
}

void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    switch (cr_info()->args[0]) {
    case MAKES:
        make();
        for (volatile uint64_t turns = 0; turns < cr_info()->args[2]; turns++) {
        }
        stop();
        break;
    case LOSES:
        if (cr_connect(cr_info()->requests[0], 1, &slot, &space) == CR_RESULT_OK) {
            cr_wait_for_work(stop_at_a_loss);
        }
        cr_exit(1);
    case CRASHES:
        make_spaces();
        *(volatile uint64_t *)0xdead000 = 1;
        break;
    case PRINTS:
        for (uint64_t i = 0; i < cr_info()->args[1]; i++) {
            cr_say_text("prints");
        }
        stop();
        break;
    default:
        cr_exit(1);
    }
}
