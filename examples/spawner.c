/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Creates PDs and loses them, one after the other: by turns one that faults at once, and one that it terminates
 * itself. Argument 0: how many. It keeps each one's capability until the root task takes it away. */
#include <cellreap/client.h>

static cr_result spawn(const char *program, uint32_t *slot)
{
    uint64_t name[CR_NAME_WORDS] = {0};
    uint64_t results[2];
    for (uint32_t i = 0; program[i] != '\0'; i++) {
        name[i / 8] |= (uint64_t)(uint8_t)program[i] << (8 * (i % 8));
    }
    cr_result result = cr_call_root(CR_OP_SPAWN, name, CR_NAME_WORDS, results, 2);
    *slot = (uint32_t)results[0];
    return result;
}

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    cr_line line = {0};
    uint32_t lost = 0;
    uint32_t first_slot = 0;
    uint32_t same_slot = 0;
    while (lost < cr_info()->args[0]) {
        uint32_t slot;
        int faults = lost % 2 == 0;
        cr_result result = spawn(faults ? "crasher" : "idler", &slot);
        if (result != CR_RESULT_OK) {
            cr_say(cr_put_number(cr_put(&line, "spawn failed: "), result));
            break;
        }
        first_slot = lost == 0 ? slot : first_slot;
        same_slot += slot == first_slot;
        /* It has the same priority: it runs until it faults, or waits. */
        seL4_Yield();
        if (!faults && cr_call_root_with_pd(CR_OP_TERMINATE, slot, 0, 0, 0, 0) != CR_RESULT_OK) {
            cr_say_text("terminate failed");
        }
        /* The capability is gone: naming a PD by it names nobody. */
        if (cr_call_root_with_pd(CR_OP_TERMINATE, slot, 0, 0, 0, 0) == CR_RESULT_OK) {
            cr_say_text("a dead PD was terminated again");
        }
        lost++;
    }
    cr_put_number(cr_put(&line, "children lost: "), lost);
    cr_say(cr_put_number(cr_put(&line, ", in the same slot: "), same_slot));
    while (cr_next_round()) {
    }
    cr_wait_for_work(work);
}
