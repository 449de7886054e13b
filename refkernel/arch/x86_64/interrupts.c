/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Interrupt controllers. The local APIC belongs to the processor; its timer is the kernel's
 * tick. The pins of the I/O APIC belong to users. The kernel measures the tick once with the
 * PIT, which users may use afterwards. */
#include "machine.h"
#include "platforms/x86_64.h"

enum { PIC1 = CR_PIC_FIRST, PIC2 = CR_PIC_SECOND, PIT = CR_PIT_PORT, PIT_HZ = CR_PIT_HZ };
enum { PIT_ONCE = 0x30, PIT_STATUS = 0xe2, PIT_UP = 0x80 };
enum {
    LOCAL = 0xfee00000u,
    LOCAL_ID = 0x20,
    LOCAL_PRIORITY = 0x80,
    LOCAL_END = 0xb0,
    LOCAL_SPURIOUS = 0xf0
};
enum {
    LOCAL_TIMER = 0x320,
    LOCAL_LINE0 = 0x350,
    LOCAL_INITIAL = 0x380,
    LOCAL_CURRENT = 0x390,
    LOCAL_DIVIDE = 0x3e0
};
enum { LOCAL_ENABLE = 1 << 8, DIVIDE_BY_1 = 0xb, MASKED = 1 << 16, PERIODIC = 1 << 17 };
enum {
    IOAPIC = 0xfec00000u,
    IOAPIC_WINDOW = 0x10,
    IOAPIC_VERSION = 1,
    IOAPIC_PINS = 16,
    IOAPIC_LOW = 1 << 13
};
enum {
    IOAPIC_LEVEL = 1 << 15,
    PINS_MAX = 240,
    NO_PIN = 0xff,
    MEASUREMENTS = 3,
    PATIENCE = 100000000
};

static word n_pins;
static uint8_t pin_of[ARCH_INTERRUPTS]; /* NO_PIN: no pin yet */

static volatile uint32_t *local(word offset)
{
    return (volatile uint32_t *)(ARCH_WINDOW + LOCAL + offset);
}

static volatile uint32_t *ioapic(word index)
{
    *(volatile uint32_t *)(ARCH_WINDOW + IOAPIC) = (uint32_t)index;
    return (volatile uint32_t *)(ARCH_WINDOW + IOAPIC + IOAPIC_WINDOW);
}

/* Measures with the PIT how far the processor's timer counts in one tick. The processor's timer
 * is started first and read last: if the machine is stopped at any point in between, the result
 * is too large, never too small. */
static uint32_t measure_tick(void)
{
    enum { COUNT = PIT_HZ * CONFIG_TIMER_TICK_MS / 1000 };
    uint8_t status = 0;
    *local(LOCAL_INITIAL) = UINT32_MAX;
    out8(PIT + 3, PIT_ONCE);
    out8(PIT, (uint8_t)COUNT);
    out8(PIT, (uint8_t)(COUNT >> 8));
    for (int i = 0; i < PATIENCE && (status & PIT_UP) == 0; i++) {
        out8(PIT + 3, PIT_STATUS);
        status = in8(PIT);
    }
    uint32_t counted = UINT32_MAX - *local(LOCAL_CURRENT);
    if ((status & PIT_UP) == 0) {
        panic("the timer that the tick is measured by does not run; counted", counted);
    }
    return counted;
}

static void init_tick(void)
{
    uint32_t tick = UINT32_MAX;
    *local(LOCAL_SPURIOUS) = LOCAL_ENABLE | TRAP_SPURIOUS;
    *local(LOCAL_PRIORITY) = 0;
    *local(LOCAL_LINE0) = MASKED;
    *local(LOCAL_DIVIDE) = DIVIDE_BY_1;
    *local(LOCAL_TIMER) = MASKED;
    for (int i = 0; i < MEASUREMENTS; i++) {
        uint32_t counted = measure_tick();
        tick = counted < tick ? counted : tick;
    }
    *local(LOCAL_TIMER) = PERIODIC | TRAP_TIMER;
    *local(LOCAL_INITIAL) = tick;
}

/* Moves the vectors of the old controllers away from the exceptions and masks all their
 * interrupts. */
static void silence_old_controllers(void)
{
    static const uint8_t setup[][2] = {
        {0x11, 0x11}, {TRAP_TIMER, TRAP_TIMER + 8}, {4, 2}, {1, 1}, {0xff, 0xff}};
    for (size_t i = 0; i < sizeof(setup) / sizeof(setup[0]); i++) {
        out8((uint16_t)(PIC1 + (i != 0)), setup[i][0]);
        out8((uint16_t)(PIC2 + (i != 0)), setup[i][1]);
    }
}

void interrupts_init(void)
{
    silence_old_controllers();
    init_tick();
    n_pins = (*ioapic(IOAPIC_VERSION) >> 16 & 0xff) + 1;
    n_pins = n_pins < PINS_MAX ? n_pins : PINS_MAX;
    for (word pin = 0; pin < n_pins; pin++) {
        *ioapic(IOAPIC_PINS + 2 * pin) = MASKED;
        *ioapic(IOAPIC_PINS + 2 * pin + 1) = *local(LOCAL_ID);
    }
    for (word i = 0; i < ARCH_INTERRUPTS; i++) {
        pin_of[i] = NO_PIN;
    }
}

void interrupts_end(void)
{
    *local(LOCAL_END) = 0;
}

seL4_Error arch_interrupt_request(struct invocation *call, struct interrupt_request *out)
{
    if (call->label != X86IRQIssueIRQHandlerIOAPIC) {
        return seL4_IllegalOperation;
    }
    if (call->length < 7 || call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    word controller = message_get(call->from, 2);
    *out = (struct interrupt_request){.index = message_get(call->from, 0),
                                      .depth = message_get(call->from, 1),
                                      .pin = message_get(call->from, 3),
                                      .level = message_get(call->from, 4),
                                      .low = message_get(call->from, 5),
                                      .number = message_get(call->from, 6)};
    if (out->number >= ARCH_INTERRUPTS) {
        return bad_range(call, 0, ARCH_INTERRUPTS - 1);
    }
    if (controller != 0) {
        return bad_range(call, 0, 0);
    }
    if (out->pin >= n_pins) {
        return bad_range(call, 0, n_pins - 1);
    }
    return out->level > 1 || out->low > 1 ? bad_range(call, 0, 1) : seL4_NoError;
}

void arch_interrupt_set_up(const struct interrupt_request *request)
{
    pin_of[request->number] = (uint8_t)request->pin;
    *ioapic(IOAPIC_PINS + 2 * request->pin) =
        MASKED | (request->level != 0 ? (uint32_t)IOAPIC_LEVEL : 0) |
        (request->low != 0 ? (uint32_t)IOAPIC_LOW : 0) | (uint32_t)(TRAP_USER + request->number);
}

void arch_interrupt_mask(word number, bool masked)
{
    word pin = pin_of[number];
    if (pin == NO_PIN) {
        panic("an interrupt of no pin", number);
    }
    volatile uint32_t *entry = ioapic(IOAPIC_PINS + 2 * pin);
    uint32_t others = *entry & ~(uint32_t)MASKED;
    *entry = others | (masked ? (uint32_t)MASKED : 0);
}
