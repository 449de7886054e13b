/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Drives a clock that the machine has. It says what it finds in a register that the instance before
 * it has set: no register is ever cleared. Then it has the clock interrupt it twice, and passes a
 * checkpoint with the interrupt asserted, and not acknowledged. Argument 0: 1 if it is to say
 * whether its device is quiet at the start, and the word at 2 GiB.
 *
 * aarch64: a PL031, whose registers are at 1 GiB. riscv64: Goldfish's clock, there too; on SiFive's
 * board, a pin whose level is low. x86_64: the clock of a PC, which has ports, and a HPET for the
 * registers. */
#include <cellreap/device.h>

enum { BIT = 1 << 3, SET = 1 };

static volatile uint32_t *const registers =
    (volatile uint32_t *)((uintptr_t)1 << CR_REGION_SPAN_BITS);

#ifdef __aarch64__
enum { DATA = 0, MATCH = 1, WORD = 4 /* the mask of the interrupt */, CLEAR = 7 };
enum { STATE = 5 /* of the interrupt */, QUIET = 0 };

static void check_ports(void)
{
}

static void arm(void)
{
    registers[CLEAR] = 1;
    registers[MATCH] = registers[DATA];
}
#elif defined CONFIG_PLAT_HIFIVE
enum { WORD = 3 /* the output of pins, which are none */, ENABLE = 12, STATE = 13, QUIET = 0 };

static void check_ports(void)
{
}

static void arm(void)
{
    registers[ENABLE] = 0;
    registers[STATE] = 1;
    registers[ENABLE] = 1;
}
#elif defined __riscv
enum { LOW = 0, HIGH = 1, ALARM_LOW = 2, ALARM_HIGH = 3, WORD = 4 /* enables it */ };
enum { STATE = 6 /* of the alarm */, QUIET = 0, CLEAR = 7 };

static void check_ports(void)
{
}

static void arm(void)
{
    const uint32_t low = registers[LOW];
    registers[CLEAR] = 1;
    registers[ALARM_HIGH] = registers[HIGH];
    registers[ALARM_LOW] = low;
}
#else
enum { WORD = 0x108 / 4, STATE = 0x128 / 4, QUIET = 7 };
enum { INDEX = 0x70, VALUE = 0x71, OTHER = 0x60 };
enum { MODE = 0xb, PERIODIC = 0x40, CAUSE = 0xc };

static uint8_t read(uint8_t index)
{
    uint8_t value = 0;
    (void)cr_port_write(0, INDEX, index);
    (void)cr_port_read(0, VALUE, &value);
    return value;
}

static void check_ports(void)
{
    uint8_t value;
    cr_say_check("port of another", (uint64_t)cr_port_read(0, OTHER, &value), 0);
}

static void arm(void)
{
    const uint8_t mode = read(MODE);
    (void)cr_port_write(0, INDEX, MODE);
    (void)cr_port_write(0, VALUE, mode | PERIODIC);
    (void)read(CAUSE);
}
#endif

static void await(void)
{
    for (seL4_Word badge = 0; (cr_badge_index(badge) & BIT) == 0;) {
        (void)seL4_Poll(CR_SLOT_NOTIFICATION, &badge);
    }
    cr_say_text("interrupted");
}

void cr_main(void)
{
    cr_line line = {0};
    cr_say(cr_put_number(cr_put(&line, "found "), registers[WORD]));
    registers[WORD] = SET;
    if (cr_info()->args[0] == 1) {
        const volatile uint64_t *const word =
            (volatile uint64_t *)((uintptr_t)2 << CR_REGION_SPAN_BITS);
        line = (cr_line){0};
        cr_put(&line, registers[STATE] == QUIET ? "quiet, at " : "not quiet, at ");
        cr_say(cr_put_number(&line, *word));
    }
    check_ports();
    arm();
    (void)cr_acknowledge(0);
    await();
    arm();
    cr_say_check("acknowledge", (uint64_t)cr_acknowledge(0), 1);
    await();
    while (cr_next_round()) {
        cr_checkpoint();
    }
    cr_wait_for_work(0);
}
