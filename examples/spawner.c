/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that creates PDs and loses them, one after the other. Every second PD faults at once; the
 * others are terminated by the spawner. The spawner keeps the capability to each PD until the
 * root task deletes it, and then acknowledges the loss. It prints how many PDs it lost, and how
 * often the new capability came into the same slot.
 *
 * Argument 0: the number of PDs. */
#include <cellreap/client.h>

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
        cr_ticket_info info;
        uint32_t slot;
        uint32_t pd;
        int faults = lost % 2 == 0;
        cr_result result = cr_spawn(faults ? "crasher" : "idler", &slot, &pd);
        if (result != CR_RESULT_OK) {
            cr_say(cr_put_number(cr_put(&line, "spawn failed: "), result));
            break;
        }
        first_slot = lost == 0 ? slot : first_slot;
        same_slot += slot == first_slot;
        /* The new PD has the same priority as this one: it runs until it faults or waits. */
        seL4_Yield();
        if (!faults && cr_terminate(slot, &info) != CR_RESULT_OK) {
            cr_say_text("terminate failed");
        }
        /* The root task has deleted the capability, so the slot names no PD any more. */
        if (cr_terminate(slot, &info) == CR_RESULT_OK) {
            cr_say_text("a dead PD was terminated again");
        }
        /* The slot is free for another capability once the loss is acknowledged. */
        cr_poll_work(work);
        lost++;
    }
    cr_put_number(cr_put(&line, "children lost: "), lost);
    cr_say(cr_put_number(cr_put(&line, ", in the same slot: "), same_slot));
    while (cr_next_round()) {
    }
    cr_wait_for_work(work);
}
