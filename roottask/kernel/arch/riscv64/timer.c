/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The kernel keeps the only timer of the architecture. User level has one of the machine:
 * Goldfish's clock on QEMU's virt, a pulse width modulator (PWM) on SiFive's. */
#include "kernel/arch/mapped/registers.h"
#include "kernel/arch/timer_device.h"
#include "kernel/timer.h"

static _Alignas(CR_REGISTER_BYTES) uint32_t page[CR_REGISTER_BYTES / sizeof(uint32_t)];
static volatile uint32_t *const registers = page;
static cr_status mapped = CR_ERR_ABSENT;
static uint64_t set; /* ns */

int cr_device_exists(void)
{
    return cr_timer_paddr != 0;
}

void cr_device_prepare(const seL4_BootInfo *info, uintptr_t image_start)
{
    mapped = cr_registers_map_timer(info, image_start, page);
}

static uint32_t get(uint32_t offset)
{
    return registers[offset / sizeof(uint32_t)];
}

static void put(uint32_t offset, uint32_t value)
{
    registers[offset / sizeof(uint32_t)] = value;
}

#ifdef CONFIG_PLAT_HIFIVE

/* Offsets of the registers, and their bits. */
enum {
    CONFIG = 0,
    COUNT = 8,
    COMPARE = 0x20, /* and three more: each raises an interrupt of its own, which nobody takes */
    COMPARERS = 4,
    SCALE = 9, /* log2 of the ticks in the unit of COMPARE */
    STICKY = 1 << 8,
    TO_0 = 1 << 9,  /* when the first COMPARE is reached */
    ONCE = 1 << 13, /* counts until then */
    NEVER = 0xffff
};
#define UNITS_OF(ns) (((ns) * CR_TIMER_MHZ + (1000ull << SCALE) - 1) / (1000ull << SCALE))
_Static_assert(UNITS_OF((uint64_t)CR_TIMER_MAX_NS) < NEVER, "no time is too long");

/* In QEMU, a COMPARE that the count has reached raises its interrupt while it does not count, too.
 * So the count is 0 before the interrupt is cleared for good. */
static void stop(void)
{
    for (uint32_t i = 0; i < COMPARERS; i++) {
        put(COMPARE + i * (uint32_t)sizeof(uint32_t), NEVER);
    }
    put(CONFIG, 0);
    put(COUNT, 0);
    put(CONFIG, 0);
}

static void prepare(void)
{
    stop();
}

uint64_t cr_device_start(uint64_t ns)
{
    const uint64_t units = UNITS_OF(ns);
    set = units * (1000ull << SCALE) / CR_TIMER_MHZ;
    stop();
    put(COMPARE, (uint32_t)units);
    put(CONFIG, SCALE | STICKY | TO_0 | ONCE);
    return set;
}

uint64_t cr_device_elapsed(void)
{
    const uint64_t ns = get(COUNT) * 1000ull / CR_TIMER_MHZ; /* before it goes to 0 */
    return (get(CONFIG) & ONCE) == 0 || ns > set ? set : ns;
}

void cr_device_quiet(void)
{
    if (cr_device_elapsed() == set) {
        stop();
    }
}

#else

/* Offsets of the registers. */
enum {
    LOW = 0, /* of the time in ns */
    HIGH = 4,
    ALARM_LOW = 8, /* sets the alarm */
    ALARM_HIGH = 0xc,
    ENABLED = 0x10,
    CLEAR_ALARM = 0x14,
    CLEAR_INTERRUPT = 0x1c
};

static uint64_t started; /* ns */

/* Newer versions of QEMU keep the high half as it was when the low one was read, older ones do
 * not. With either, the third time is right. */
static uint64_t now(void)
{
    uint32_t high = get(HIGH), low = get(LOW);
    for (uint32_t i = 0; i < 2 && get(HIGH) != high; i++) {
        high = get(HIGH);
        low = get(LOW);
    }
    return (uint64_t)high << 32 | low;
}

static void prepare(void)
{
    set = 0;
    put(CLEAR_ALARM, 1);
    put(CLEAR_INTERRUPT, 1);
    put(ENABLED, 1);
}

uint64_t cr_device_start(uint64_t ns)
{
    set = ns;
    started = now();
    put(CLEAR_INTERRUPT, 1);
    put(ALARM_HIGH, (uint32_t)((started + ns) >> 32));
    put(ALARM_LOW, (uint32_t)(started + ns));
    return ns;
}

uint64_t cr_device_elapsed(void)
{
    const uint64_t passed = now() - started;
    return passed < set ? passed : set;
}

void cr_device_quiet(void)
{
    if (cr_device_elapsed() == set) {
        put(CLEAR_INTERRUPT, 1);
    }
}

#endif

seL4_Error cr_device_open(cr_slot handler, cr_slot ports)
{
    (void)ports;
    if (mapped != CR_OK) {
        return seL4_IllegalOperation;
    }
    prepare();
    return seL4_IRQControl_Get(seL4_CapIRQControl, CR_TIMER_IRQ, handler.root, handler.index,
                               handler.depth);
}

uint64_t cr_device_counter_hz(void)
{
    return 0;
}
