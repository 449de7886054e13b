/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The timer device of aarch64: the physical generic timer. The kernel itself uses the virtual
 * timer.
 *
 * The timer asserts its interrupt for as long as the time that was set is over. cr_device_quiet
 * must therefore turn the timer off before the interrupt is acknowledged. Otherwise the same
 * interrupt arrives again at once. */
#include "kernel/timer.h"
#include "platforms/arch.h"
#include "kernel/arch/timer_device.h"

#define NS_PER_S 1000000000ull

#if defined(CONFIG_EXPORT_PCNT_USER) && defined(CONFIG_EXPORT_PTMR_USER)

enum { ENABLE = 1 };

#define READ(name, value) __asm__ volatile("isb\n\tmrs %0, " #name : "=r"(value) : : "memory")
#define WRITE(name, value) \
    __asm__ volatile("msr " #name ", %0\n\tisb" : : "r"((uint64_t)(value)) : "memory")

static uint64_t started; /* the value of the counter at which the time starts */
static uint64_t set;     /* ticks */

int cr_device_exists(void)
{
    return 1;
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
    return seL4_IRQControl_Get(seL4_CapIRQControl, CR_TIMER_PHYSICAL, handler.root,
                               handler.index, handler.depth);
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

int cr_device_exists(void)
{
    return 0;
}

seL4_Error cr_device_open(cr_slot handler, cr_slot ports)
{
    (void)handler;
    (void)ports;
    return seL4_IllegalOperation;
}

uint64_t cr_device_start(uint64_t ns)
{
    cr_panic("this kernel has no timer to start", ns);
}

uint64_t cr_device_elapsed(void)
{
    cr_panic("this kernel has no timer to read", 0);
}

uint64_t cr_device_counter_hz(void)
{
    cr_panic("this kernel has no timer to read", 0);
}

void cr_device_quiet(void)
{
    cr_panic("this kernel has no timer to quiet", 0);
}

#endif
