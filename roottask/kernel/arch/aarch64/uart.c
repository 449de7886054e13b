/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The UART of the platform, if there is a driver for it. */
#include "kernel/uart.h"
#include "registers.h"

static const struct {
    int driven;
    uint32_t data, status, bit, busy, control, on;
    uint64_t paddr;
} rows[] = {
    [CR_NO_ROW] = {0},
#define CR_PLATFORM(prefix, config, name, arch, uart, address)                                     \
    [prefix##_ROW] = {uart##_DRIVER, uart##_DATA,    uart##_STATUS, uart##_BIT,                    \
                      uart##_BUSY,   uart##_CONTROL, uart##_ON,     address},
    CR_PLATFORMS
#undef CR_PLATFORM
};
#define UART rows[CR_ROW]

static _Alignas(CR_REGISTER_BYTES) uint32_t page[CR_REGISTER_BYTES / sizeof(uint32_t)];
static volatile uint32_t *const registers = page;

cr_status cr_uart_open(const seL4_BootInfo *info, seL4_CPtr slots, uintptr_t image_start)
{
    if (!UART.driven) {
        return CR_ERR_ABSENT;
    }
    const cr_status status = cr_registers_map(info, image_start, UART.paddr, slots, page);
    if (status == CR_OK && UART.on != 0) {
        registers[UART.control / 4] = UART.on;
    }
    return status;
}

void cr_uart_put(char c)
{
    /* No character is lost, however long the other end takes. */
    const volatile uint32_t *const status = &registers[UART.status / 4];
    for (uint64_t i = 0; i < UINT64_MAX && (*status & UART.bit) == UART.busy; i++) {
    }
    registers[UART.data / 4] = (uint8_t)c;
}
