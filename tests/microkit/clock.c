/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that drives a PL031, or Goldfish's clock on riscv64. It has the clock interrupt
 * it, and faults in the second interrupt, which it has not acknowledged. */
#include <microkit.h>

#ifdef __riscv
enum { ADDRESS = 0x101000, DATA = 0, HIGH = 1, MATCH = 2, MATCH_HIGH = 3, MASK = 4, CLEAR = 7 };
#else
enum { ADDRESS = 0x9010000, DATA = 0, MATCH = 1, MASK = 4, CLEAR = 7 };
#endif

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
    const unsigned now = clock_registers[DATA];
    clock_registers[CLEAR] = 1;
#ifdef __riscv
    clock_registers[MATCH_HIGH] = clock_registers[HIGH];
#endif
    clock_registers[MATCH] = now;
}

void init(void)
{
    say(interrupts == 0 ? ": hello, fresh\n" : ": hello, STALE\n");
    say(clock_address == ADDRESS ? ": address\n" : ": another address\n");
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
