/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A driver of a UART, and a server of what is typed there: a 16550, the second UART of a PC, or a
 * PL011, whose registers are at 2 GiB. That one may be the console, so nothing is sent there. A
 * client asks for the next character with the number of those that it has. A character that the
 * driver took from the UART is noted in memory that outlives the driver (a region that the client
 * has, too), so the next instance answers with it again if its answer was lost, and with no other
 * one twice. */
#include "console.h"

#ifndef __riscv
#include <cellreap/device.h>

#ifdef __x86_64__
enum {
    DATA = 0x2f8,
    ENABLE = 0x2f9,
    FIFO = 0x2fa,
    MODEM = 0x2fc,
    STATUS = 0x2fd,
    RECEIVES = 1, /* ENABLE: an interrupt when something was received; STATUS: something was */
    NO_FIFO = 0,
    LETS_INTERRUPT = 8 /* MODEM */
};

static uint8_t read(uint16_t port)
{
    uint8_t value = 0;
    (void)cr_port_read(0, port, &value);
    return value;
}

static void enable(void)
{
    (void)cr_port_write(0, FIFO, NO_FIFO);
    (void)cr_port_write(0, MODEM, LETS_INTERRUPT);
    (void)cr_port_write(0, ENABLE, RECEIVES);
}

static int has_received(void)
{
    return (read(STATUS) & RECEIVES) != 0;
}

static uint8_t take(void)
{
    return read(DATA);
}
#else
enum {
    DATA = 0,
    FLAGS = 0x18 / 4,
    CONTROL = 0x30 / 4,
    ENABLE = 0x38 / 4,
    NONE = 1 << 4,     /* FLAGS: nothing was received */
    ON = 0x201,        /* CONTROL: the UART and its receiver */
    RECEIVES = 1 << 4, /* ENABLE: an interrupt when something was received, until it is taken */
};

static volatile uint32_t *const registers =
    (volatile uint32_t *)((uintptr_t)2 << CR_REGION_SPAN_BITS);

static void enable(void)
{
    registers[CONTROL] |= ON;
    registers[ENABLE] = RECEIVES;
}

static int has_received(void)
{
    return (registers[FLAGS] & NONE) == 0;
}

static uint8_t take(void)
{
    return (uint8_t)registers[DATA];
}
#endif

/* Written in this order: the character counts when its number is there. */
static volatile struct {
    uint64_t number;
    uint64_t character;
} *const last = (void *)((uintptr_t)1 << CR_REGION_SPAN_BITS);

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

/* An edge that comes while the line is masked is lost, so the UART is asked again after that. */
static void await_character(void)
{
    while (!has_received()) {
        (void)cr_acknowledge(0);
        if (!has_received()) {
            cr_await_signal(work);
        }
    }
}

static uint32_t serve(cr_incoming *m)
{
    cr_checkpoint();
    if (m->label != CO_NEXT || m->count != 1) {
        return CO_BAD_REQUEST;
    }
    if (last->number == m->words[0]) {
        await_character();
        last->character = take();
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        last->number = m->words[0] + 1;
    }
    if (last->number != m->words[0] + 1) {
        return CO_BAD_REQUEST;
    }
    m->reply[0] = last->character;
    m->reply_count = 1;
    return CO_OK;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    enable();
    (void)cr_own_space();
    cr_serve(&server);
}
#else
void cr_main(void)
{
    cr_say_text("no UART is known here");
    cr_exit(1);
}
#endif
