/* SPDX-License-Identifier: BSD-2-Clause
 *
 * There is no timer device: the kernel keeps the only timer that the architecture has. */
#include "kernel/arch/timer_device.h"

int cr_device_exists(void)
{
    return 0;
}

void cr_device_prepare(const seL4_BootInfo *info, uintptr_t image_start)
{
    (void)info;
    (void)image_start;
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
