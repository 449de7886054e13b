/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that calls nobody over its channel. It receives there, and wherever else it
 * should not, one place an instance: a region counts. It says what it got. It also calls its fault
 * endpoint with what is no fault. */
#include <microkit.h>

unsigned long count_vaddr; /* set by the description */

/* The fault endpoint, the address space, the monitor, a notification and endpoints of others. */
static const seL4_CPtr slots[] = {74, 2, 3, 5, 10, 75, 84};

enum { SLOTS = sizeof(slots) / sizeof(slots[0]), REPLY = 4, FAULT = 2 };

void init(void)
{
    volatile unsigned *const count = (volatile unsigned *)count_vaddr;
    seL4_Word badge = 0;
    const seL4_MessageInfo_t refused = seL4_Call(FAULT, seL4_MessageInfo_new(666, 0, 0, 0));
    if (seL4_MessageInfo_get_label(refused) == 0) {
        microkit_dbg_puts("thief: was served\n");
    }
    if (*count < SLOTS) {
        seL4_Send(REPLY, seL4_MessageInfo_new(666, 0, 0, 0)); /* to nobody */
        const seL4_CPtr from = slots[(*count)++];
        (void)seL4_Recv(from, &badge, REPLY);
        microkit_dbg_puts("thief: got a message\n");
        seL4_Send(REPLY, seL4_MessageInfo_new(666, 0, 0, 0));
    }
    microkit_dbg_puts("thief: got nothing\n");
}

void notified(microkit_channel channel)
{
    (void)channel;
}
