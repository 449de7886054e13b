/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The first serial port of a PC, a 16550. It has room for 16 characters when it says that it has
 * none to send, so it is asked once for so many. */
#include "kernel/uart.h"
#include "platforms/platforms.h"

enum {
    PORTS = 8,
    DATA = CR_UART_16550_DATA, /* with DIVISOR_LATCH: the low byte of the divisor */
    INTERRUPTS = 1,            /* with DIVISOR_LATCH: its high byte */
    FIFO = 2,
    LINE = 3,
    MODEM = 4,
    STATUS = CR_UART_16550_STATUS,
    DIVISOR_LATCH = 0x80,
    DIVISOR = 1, /* 115,200 baud */
    EIGHT_BITS = 0x03,
    FIFO_ON_AND_CLEAR = 0x07,
    READY = 0x03,
    EMPTY = CR_UART_16550_BIT,
    ROOM = 16
};

#define PORT ((uint16_t)CR_PC99_UART)

static seL4_CPtr io; /* the capability to the ports */
static uint32_t room;

static seL4_Error out(uint16_t at, uint64_t value)
{
    return (seL4_Error)seL4_X86_IOPort_Out8(io, PORT + at, value);
}

cr_status cr_uart_open(const seL4_BootInfo *info, seL4_CPtr slots, uintptr_t image_start)
{
    (void)info;
    (void)image_start;
    if (seL4_X86_IOPortControl_Issue(seL4_CapIOPortControl, PORT, PORT + PORTS - 1,
                                     seL4_CapInitThreadCNode, slots, seL4_WordBits)) {
        return CR_ERR_ABSENT;
    }
    io = slots;
    return out(INTERRUPTS, 0) || out(LINE, DIVISOR_LATCH) || out(DATA, DIVISOR) ||
                   out(INTERRUPTS, 0) || out(LINE, EIGHT_BITS) || out(FIFO, FIFO_ON_AND_CLEAR) ||
                   out(MODEM, READY)
               ? CR_ERR_ABSENT
               : CR_OK;
}

void cr_uart_put(char c)
{
    /* No character is lost, however long the other end takes. Where no UART is, all bits are 1. */
    for (uint64_t i = 0; i < UINT64_MAX && room == 0; i++) {
        const seL4_X86_IOPort_In8_t status = seL4_X86_IOPort_In8(io, PORT + STATUS);
        room = status.error || (status.result & EMPTY) != 0 ? ROOM : 0;
    }
    room -= room != 0 ? 1u : 0u; /* A thread that panics may have written in the middle of this. */
    (void)out(DATA, (uint8_t)c);
}
