/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that has a bit of everything: it drives the clock of clock.c, has it interrupt
 * it once, passes that on over channel 0, counts in a region that it shares, and is called. It
 * prints nothing but what is wrong. */
#include <microkit.h>

#ifdef __riscv
enum { DATA = 0, HIGH = 1, MATCH = 2, MATCH_HIGH = 3, MASK = 4, CLEAR = 7 };
#else
enum { DATA = 0, MATCH = 1, MASK = 4, CLEAR = 7 };
#endif

volatile unsigned *clock_registers; /* set by the description, as all of these are */
unsigned long clock_interrupt;
volatile unsigned long *ring_vaddr;

static unsigned calls;

void init(void)
{
    if (calls != 0) {
        microkit_dbg_puts("cycled: STALE\n");
    }
    const unsigned now = clock_registers[DATA];
    clock_registers[MASK] = 1;
    clock_registers[CLEAR] = 1;
#ifdef __riscv
    clock_registers[MATCH_HIGH] = clock_registers[HIGH];
#endif
    clock_registers[MATCH] = now;
}

void notified(microkit_channel channel)
{
    if (channel == clock_interrupt) {
        clock_registers[CLEAR] = 1;
        microkit_irq_ack(channel);
        ring_vaddr[0]++;
        microkit_notify(0);
    }
}

microkit_msginfo protected(microkit_channel channel, microkit_msginfo message)
{
    (void)channel, (void)message;
    calls++;
    microkit_mr_set(0, microkit_mr_get(0) + 1);
    return microkit_msginfo_new(0, 1);
}
