/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The timer device of x86_64: channel 0 of the PIT in mode 0. The output falls when a count is
 * written and rises once when the count has run down. The rising edge is the interrupt.
 *
 * An edge is lost if it occurs while the kernel has masked the interrupt. The output stays high
 * after the edge, so cr_device_elapsed is correct even if the edge was lost. */
#include "kernel/arch/arch.h"
#include "kernel/timer.h"
#include "kernel/arch/timer_device.h"
#include "platforms/arch.h"

enum {
    LOAD_ONCE = 0x30, /* channel 0, low byte then high byte, mode 0 */
    /* latch count and status of channel 0; then read in the order status, low, high */
    READ_BACK = 0xc2,
    STATUS_OUT = 0x80,  /* the output is high */
    STATUS_NULL = 0x40, /* the count is not in the counter yet */
    MEASURED_NS = 10000000,
    READINGS = 1 << 22 /* seconds on any machine */
};
#define PIT_HZ ((uint64_t)CR_PIT_HZ)
#define NS_PER_S 1000000000ull
#define COUNT_MAX 0xffffull

_Static_assert((CR_TIMER_MAX_NS * PIT_HZ + NS_PER_S - 1) / NS_PER_S <= COUNT_MAX,
               "a count has 16 bits");

static seL4_CPtr io; /* the capability to the ports */
static uint64_t set; /* ticks */

int cr_device_exists(void)
{
#if defined(CONFIG_IRQ_IOAPIC) || defined(CONFIG_IRQ_PIC)
    return 1;
#else
    return 0;
#endif
}

void cr_device_prepare(const seL4_BootInfo *info, uintptr_t image_start)
{
    (void)info;
    (void)image_start;
}

static void out(uint16_t port, uint64_t value)
{
    cr_count_call(CR_CALL_TIMER);
    seL4_Error error = seL4_X86_IOPort_Out8(io, port, value & 0xff);
    if (error != seL4_NoError) {
        cr_panic("the timer cannot be written", (uint64_t)error);
    }
}

static uint64_t in(uint16_t port)
{
    cr_count_call(CR_CALL_TIMER);
    seL4_X86_IOPort_In8_t got = seL4_X86_IOPort_In8(io, port);
    if (got.error != seL4_NoError) {
        cr_panic("the timer cannot be read", (uint64_t)got.error);
    }
    return got.result;
}

static void load(uint64_t ticks)
{
    set = ticks;
    out(CR_PIT_COMMAND, LOAD_ONCE);
    out(CR_PIT_PORT, ticks);
    out(CR_PIT_PORT, ticks >> 8);
}

static seL4_Error open_interrupt(cr_slot handler)
{
#if defined(CONFIG_IRQ_IOAPIC)
    enum { IOAPIC = 0, EDGE = 0, ACTIVE_HIGH = 0, VECTOR = 0 };
    return seL4_IRQControl_GetIOAPIC(seL4_CapIRQControl, handler.root, handler.index, handler.depth,
                                     IOAPIC, CR_PIT_PIN, EDGE, ACTIVE_HIGH, VECTOR);
#elif defined(CONFIG_IRQ_PIC)
    return seL4_IRQControl_Get(seL4_CapIRQControl, CR_PIT_LINE, handler.root, handler.index,
                               handler.depth);
#else
    (void)handler;
    return seL4_IllegalOperation;
#endif
}

seL4_Error cr_device_open(cr_slot handler, cr_slot ports)
{
    seL4_Error error = seL4_X86_IOPortControl_Issue(
        seL4_CapIOPortControl, CR_PIT_PORT, CR_PIT_COMMAND, ports.root, ports.index, ports.depth);
    if (error != seL4_NoError) {
        return error;
    }
    io = ports.index;
    /* The firmware may have left the PIT running. The kernel delivers the interrupt as soon as the
     * handler exists. */
    load(COUNT_MAX);
    return open_interrupt(handler);
}

static uint64_t ns_of(uint64_t ticks)
{
    return ticks * NS_PER_S / PIT_HZ;
}

uint64_t cr_device_start(uint64_t ns)
{
    load((ns * PIT_HZ + NS_PER_S - 1) / NS_PER_S);
    return ns_of(set);
}

uint64_t cr_device_elapsed(void)
{
    out(CR_PIT_COMMAND, READ_BACK);
    uint64_t status = in(CR_PIT_PORT);
    uint64_t left = in(CR_PIT_PORT);
    left |= in(CR_PIT_PORT) << 8;
    if ((status & STATUS_NULL) != 0) {
        return 0;
    }
    /* After the count has run down, the counter wraps to its maximum and continues. */
    return ns_of((status & STATUS_OUT) != 0 || left > set ? set : set - left);
}

uint64_t cr_device_counter_hz(void)
{
    const uint64_t ns = cr_device_start(MEASURED_NS);
    const uint64_t begin = cr_arch_boot_counter();
    for (uint32_t i = 0; i < READINGS; i++) {
        if (cr_device_elapsed() == ns) {
            return (cr_arch_boot_counter() - begin) * NS_PER_S / ns;
        }
    }
    cr_panic("the timer stands still", ns);
}

void cr_device_quiet(void)
{
    /* The interrupt is an edge. The device does not keep asserting it. */
}
