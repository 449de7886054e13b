/* SPDX-License-Identifier: BSD-2-Clause
 *
 * For drivers: the interrupts and I/O ports that the configuration gives the PD ([[interrupt]],
 * [[port]]). The registers of its device are at the address of their region ([[region]] with
 * `physical`).
 *
 * A driver that comes back finds its device as the last instance left it, perhaps in the middle of
 * something, and perhaps with its interrupt asserted. So it brings the device into a state that it
 * knows, and acknowledges the interrupt, before it waits for the first time. */
#ifndef CELLREAP_DEVICE_H
#define CELLREAP_DEVICE_H

#include "client.h"

/* The n-th of a kind, from 0, in the order of the configuration. 0: there is none. */
static inline uint32_t cr_line_slot(cr_line_kind kind, uint32_t n)
{
    uint32_t left = n;
    for (uint32_t i = 0; i < cr_info()->n_lines; i++) {
        if (cr_info()->lines[i].kind == (uint32_t)kind && left-- == 0) {
            return cr_info()->lines[i].slot;
        }
    }
    return 0;
}

/* The kernel masked the interrupt when it occurred. It unmasks the n-th one of the PD. Returns 0 if
 * there is none. */
static inline int cr_acknowledge(uint32_t n)
{
    const uint32_t slot = cr_line_slot(CR_LINE_IRQ, n);
    return slot != 0 && seL4_IRQHandler_Ack(slot) == seL4_NoError;
}

#ifdef __x86_64__
/* `n`: which range. A port outside of it is refused: then these return 0. */
static inline int cr_port_read(uint32_t n, uint16_t port, uint8_t *out)
{
    const seL4_X86_IOPort_In8_t got = seL4_X86_IOPort_In8(cr_line_slot(CR_LINE_PORT, n), port);
    *out = (uint8_t)got.result;
    return got.error == seL4_NoError;
}

/* As cr_port_read. */
static inline int cr_port_write(uint32_t n, uint16_t port, uint8_t value)
{
    return seL4_X86_IOPort_Out8(cr_line_slot(CR_LINE_PORT, n), port, value) == seL4_NoError;
}

/* The same with 16 bits, of two ports. */
static inline int cr_port_read16(uint32_t n, uint16_t port, uint16_t *out)
{
    const seL4_X86_IOPort_In16_t got = seL4_X86_IOPort_In16(cr_line_slot(CR_LINE_PORT, n), port);
    *out = (uint16_t)got.result;
    return got.error == seL4_NoError;
}

/* As cr_port_read16. */
static inline int cr_port_write16(uint32_t n, uint16_t port, uint16_t value)
{
    return seL4_X86_IOPort_Out16(cr_line_slot(CR_LINE_PORT, n), port, value) == seL4_NoError;
}
#endif

#endif
