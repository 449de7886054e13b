/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where all devices are mapped, there are no I/O ports. */
#include "kernel/lines.h"

seL4_Error cr_arch_take_ports(uint32_t first, uint32_t last, cr_slot to)
{
    (void)first, (void)last, (void)to;
    return seL4_IllegalOperation;
}
