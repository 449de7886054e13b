/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that drives a PL031. It has the clock interrupt it, and faults in the second
 * interrupt, which it has not acknowledged. */
#include <microkit.h>

enum { DATA = 0, MATCH = 1, MASK = 4, CLEAR = 7 };

volatile unsigned *clock_registers; /* set by the description, as all of these are */
unsigned long clock_address;
unsigned long clock_interrupt;

static unsigned interrupts;

static void say(const char *text)
{
    microkit_dbg_puts(microkit_name);
    microkit_dbg_puts(text);
}

static void arm(void)
{
    clock_registers[CLEAR] = 1;
    clock_registers[MATCH] = clock_registers[DATA];
}

void init(void)
{
    say(interrupts == 0 ? ": hello, fresh\n" : ": hello, STALE\n");
    say(clock_address == 0x9010000 ? ": address\n" : ": another address\n");
    clock_registers[MASK] = 1;
    arm();
}

void notified(microkit_channel channel)
{
    if (channel != clock_interrupt) {
        say(": notified\n");
        return;
    }
    say(": interrupted\n");
    if (++interrupts == 2) {
        *(volatile int *)0xdead000 = 1;
    }
    arm();
    microkit_irq_ack(channel);
}
