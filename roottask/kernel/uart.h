/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The UART of the platform, the root task's console. Where it is in ports, a kernel that prints is
 * the console in its place (CR_UART_NEEDS_CALLS). Such a kernel polls the same UART. One folder of
 * arch/ per architecture implements it. */
#ifndef CELLREAP_SEL4_UART_H
#define CELLREAP_SEL4_UART_H

#include "kernel/kernel.h"
#include "platforms/arch.h"
#include <cellreap/status.h>

enum { CR_UART_SLOTS = CR_REGISTER_SLOTS };

/* Takes the UART and sets it to 115,200 baud where it must be set. `slots`: the first of
 * CR_UART_SLOTS empty slots of the CNode of boot time. image_start: see cr_image_frame. Must come
 * before the root task has a CSpace of its own. CR_ERR_ABSENT: the platform has no UART that is
 * known here, or the kernel does not give it. */
cr_status cr_uart_open(const seL4_BootInfo *info, seL4_CPtr slots, uintptr_t image_start);
/* Writes a character. Uses no IPC buffer, so any thread may call it. */
void cr_uart_put(char c);

/* Makes the UART the console: the first thing that a root task does. It takes the last
 * CR_UART_SLOTS slots of the CNode of boot time. Errors: those of cr_uart_open, and
 * CR_ERR_MEMORY if the CNode has too few empty slots. After them the kernel is the console, if it
 * prints. */
static inline cr_status cr_uart_console(const seL4_BootInfo *info, uintptr_t image_start)
{
    if (CR_UART_NEEDS_CALLS && cr_console_exists()) {
        return CR_OK;
    }
    if (info->empty.end - info->empty.start < CR_UART_SLOTS + CR_BOOT_SLOTS) {
        return CR_ERR_MEMORY;
    }
    seL4_SetIPCBuffer(info->ipcBuffer);
    cr_status status = cr_uart_open(info, info->empty.end - CR_UART_SLOTS, image_start);
    if (status == CR_OK) {
        cr_console_use(cr_uart_put);
    }
    return status;
}

#endif
