/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The kernel keeps the only timer of the architecture. On QEMU's virt machine user level has
 * Goldfish's clock, which counts nanoseconds and raises an interrupt at a time that is set. */
#include "kernel/arch/mapped/registers.h"
#include "kernel/arch/timer_device.h"

/* Offsets of the registers. */
enum {
    LOW = 0,
    HIGH = 4,
    ALARM_LOW = 8, /* sets the alarm */
    ALARM_HIGH = 0xc,
    ENABLED = 0x10,
    CLEAR_ALARM = 0x14,
    CLEAR_INTERRUPT = 0x1c
};

static _Alignas(CR_REGISTER_BYTES) uint32_t page[CR_REGISTER_BYTES / sizeof(uint32_t)];
static volatile uint32_t *const registers = page;
static cr_status mapped = CR_ERR_ABSENT;
static uint64_t started, set; /* ns */

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

seL4_Error cr_device_open(cr_slot handler, cr_slot ports)
{
    (void)ports;
    if (mapped != CR_OK) {
        return seL4_IllegalOperation;
    }
    set = 0;
    put(CLEAR_ALARM, 1);
    put(CLEAR_INTERRUPT, 1);
    put(ENABLED, 1);
    return seL4_IRQControl_Get(seL4_CapIRQControl, CR_TIMER_IRQ, handler.root, handler.index,
                               handler.depth);
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

uint64_t cr_device_counter_hz(void)
{
    return 0;
}

void cr_device_quiet(void)
{
    if (cr_device_elapsed() == set) {
        put(CLEAR_INTERRUPT, 1);
    }
}
