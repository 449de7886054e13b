/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The timer device of aarch64: the physical generic timer, or where the kernel keeps that, a
 * Cadence TTC. The kernel itself uses the virtual timer, in EL2 the hypervisor's.
 *
 * The timer asserts its interrupt for as long as the time that was set is over. cr_device_quiet
 * must therefore turn the timer off before the interrupt is acknowledged. Otherwise the same
 * interrupt arrives again at once. */
#include "kernel/timer.h"
#include "platforms/arch.h"
#include "kernel/arch/timer_device.h"
#include "kernel/arch/mapped/registers.h"

#define NS_PER_S 1000000000ull

#if defined(CONFIG_EXPORT_PCNT_USER) && defined(CONFIG_EXPORT_PTMR_USER)

enum { ENABLE = 1 };

#define READ(name, value) __asm__ volatile("isb\n\tmrs %0, " #name : "=r"(value) : : "memory")
#define WRITE(name, value)                                                                         \
    __asm__ volatile("msr " #name ", %0\n\tisb" : : "r"((uint64_t)(value)) : "memory")

static uint64_t started; /* the value of the counter at which the time starts */
static uint64_t set;     /* ticks */

int cr_device_exists(void)
{
    return 1;
}

void cr_device_prepare(const seL4_BootInfo *info, uintptr_t image_start)
{
    (void)info;
    (void)image_start;
}

static uint64_t frequency(void)
{
    uint64_t hz;
    READ(cntfrq_el0, hz);
    return hz;
}

static uint64_t ns_of(uint64_t ticks)
{
    return ticks * NS_PER_S / frequency();
}

seL4_Error cr_device_open(cr_slot handler, cr_slot ports)
{
    (void)ports;
    set = 0;
    WRITE(cntp_ctl_el0, 0);
    return seL4_IRQControl_Get(seL4_CapIRQControl, CR_TIMER_PHYSICAL, handler.root, handler.index,
                               handler.depth);
}

uint64_t cr_device_start(uint64_t ns)
{
    uint64_t now;
    set = (ns * frequency() + NS_PER_S - 1) / NS_PER_S;
    READ(cntpct_el0, now);
    started = now + 1; /* part of the current tick is already over */
    WRITE(cntp_cval_el0, started + set);
    WRITE(cntp_ctl_el0, ENABLE);
    return ns_of(set);
}

uint64_t cr_device_elapsed(void)
{
    uint64_t now;
    READ(cntpct_el0, now);
    if (now < started) {
        return 0;
    }
    return ns_of(now - started < set ? now - started : set);
}

uint64_t cr_device_counter_hz(void)
{
    return frequency();
}

void cr_device_quiet(void)
{
    uint64_t now;
    READ(cntpct_el0, now);
    if (now >= started + set) {
        WRITE(cntp_ctl_el0, 0);
    }
}

#else

/* Offsets of the registers, one after the other for each of the three counters; and their bits. */
enum {
    CLOCK = 0,
    CONTROL = 0xc,
    COUNT = 0x18,
    INTERVAL = 0x24,
    STATUS = 0x54, /* reading it clears it, and with it the interrupt */
    INTERRUPTS = 0x60,
    PRESCALED = 0x1,
    STOPPED = 0x1,
    TO_INTERVAL = 0x2, /* then again from 0 */
    FROM_0 = 0x10,
    NO_OUTPUT = 0x20,
    PASSED = 0x1, /* the interval */
    WIDTH = 16    /* QEMU's; those of the machine have 32 bits */
};

/* One counter raises the interrupt, and another one tells the time: in QEMU, reading a counter has
 * it lose a part of a nanosecond, and with -icount it may then never come to its end. For the same
 * reason the first one counts units of which each is a whole number of ticks and of nanoseconds. It
 * ends later than the time that was set, by more than the other one can be behind.
 * The numbers are log2 of what the clock is divided by. */
enum { ALARM = 0, WATCH = 1, ALARM_BITS = 7, WATCH_BITS = 11, LATER_NS = 32000 };
#define UNIT_NS (1000ull << ALARM_BITS)
#define UNITS_OF(ns) (((ns) + LATER_NS + UNIT_NS - 1) / UNIT_NS)

static _Alignas(CR_REGISTER_BYTES) uint32_t page[CR_REGISTER_BYTES / sizeof(uint32_t)];
static volatile uint32_t *const registers = page;
static cr_status mapped = CR_ERR_ABSENT;
static uint64_t set; /* ns */
static int over;     /* the time that was set */

_Static_assert(UNITS_OF(CR_TIMER_MAX_NS) * CR_TIMER_MHZ <= 1ull << WIDTH, "no time is too long");
_Static_assert(CR_TIMER_MHZ == 0 || 2000ull << WATCH_BITS < (uint64_t)LATER_NS * CR_TIMER_MHZ,
               "two ticks of it");

int cr_device_exists(void)
{
    return cr_timer_paddr != 0;
}

void cr_device_prepare(const seL4_BootInfo *info, uintptr_t image_start)
{
    mapped = cr_registers_map_timer(info, image_start, page);
}

static volatile uint32_t *of(uint32_t counter, uint32_t offset)
{
    return &registers[offset / sizeof(uint32_t) + counter];
}

static void stop(void)
{
    *of(ALARM, CONTROL) = STOPPED | NO_OUTPUT;
    *of(WATCH, CONTROL) = STOPPED | NO_OUTPUT;
    (void)*of(ALARM, STATUS);
}

seL4_Error cr_device_open(cr_slot handler, cr_slot ports)
{
    (void)ports;
    if (mapped != CR_OK) {
        return seL4_IllegalOperation;
    }
    stop();
    *of(ALARM, CLOCK) = PRESCALED | (ALARM_BITS - 1) << 1;
    *of(WATCH, CLOCK) = PRESCALED | (WATCH_BITS - 1) << 1;
    *of(ALARM, INTERRUPTS) = PASSED;
    return seL4_IRQControl_Get(seL4_CapIRQControl, CR_TIMER_IRQ, handler.root, handler.index,
                               handler.depth);
}

uint64_t cr_device_start(uint64_t ns)
{
    const uint64_t units = UNITS_OF(ns);
    set = units * UNIT_NS - LATER_NS;
    over = 0;
    stop();
    *of(ALARM, INTERVAL) = (uint32_t)(units * CR_TIMER_MHZ - 1);
    *of(WATCH, CONTROL) = FROM_0 | NO_OUTPUT;
    *of(ALARM, CONTROL) = TO_INTERVAL | FROM_0 | NO_OUTPUT;
    return set;
}

uint64_t cr_device_elapsed(void)
{
    enum { MHZ = CR_TIMER_MHZ != 0 ? CR_TIMER_MHZ : 1 }; /* 0: nobody calls this */
    const uint64_t ns = over ? set : *of(WATCH, COUNT) * (1000ull << WATCH_BITS) / MHZ;
    over = ns >= set;
    return over ? set : ns;
}

uint64_t cr_device_counter_hz(void)
{
    return 0;
}

void cr_device_quiet(void)
{
    if (cr_device_elapsed() == set) {
        stop();
    }
}

#endif
