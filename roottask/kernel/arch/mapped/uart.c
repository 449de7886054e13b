/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The UART of the platform, if there is a driver for it, and else the kernel. */
#include "kernel/arch/arch.h"
#include "kernel/uart.h"
#include "registers.h"

static const struct {
    int driven;
    uint32_t bytes, data, status, bit, busy, control, on;
    uint64_t paddr;
} rows[] = {[CR_NO_ROW] = {0},
#define CR_PLATFORM(prefix, config, name, arch, uart, address)                                     \
    [prefix##_ROW] = {uart##_DRIVER, uart##_BYTES,   uart##_DATA, uart##_STATUS, uart##_BIT,       \
                      uart##_BUSY,   uart##_CONTROL, uart##_ON,   address},
            CR_PLATFORMS
#undef CR_PLATFORM
};
#define UART rows[CR_ROW]

static _Alignas(CR_REGISTER_BYTES) uint32_t page[CR_REGISTER_BYTES / sizeof(uint32_t)];

static uint32_t read(uint32_t offset)
{
    return UART.bytes == 1 ? ((volatile uint8_t *)page)[offset]
                           : ((volatile uint32_t *)page)[offset / 4];
}

static void write(uint32_t offset, uint32_t value)
{
    if (UART.bytes == 1) {
        ((volatile uint8_t *)page)[offset] = (uint8_t)value;
    } else {
        ((volatile uint32_t *)page)[offset / 4] = value;
    }
}

cr_status cr_uart_open(const seL4_BootInfo *info, seL4_CPtr slots, uintptr_t image_start)
{
    if (!UART.driven) {
        return CR_ERR_ABSENT;
    }
    const cr_status status = cr_registers_map(info, image_start, UART.paddr, slots, page);
    if (status == CR_OK && UART.on != 0) {
        write(UART.control, UART.on);
    }
    return status;
}

void cr_uart_put(char c)
{
    /* No character is lost, however long the other end takes. */
    for (uint64_t i = 0; i < UINT64_MAX && (read(UART.status) & UART.bit) == UART.busy; i++) {
    }
    write(UART.data, (uint8_t)c);
}

#ifdef CONFIG_PRINTING
void cr_arch_print(char c)
{
    seL4_DebugPutChar(c);
}
#endif
