/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The registers of devices that the root task drives itself. They take the place of a page of its
 * image, so they need no table of their own. Nothing but the UART and the timer may use this. These
 * files are for architectures whose devices are memory. */
#ifndef CELLREAP_SEL4_REGISTERS_H
#define CELLREAP_SEL4_REGISTERS_H

#include "kernel/kernel.h"
#include "platforms/platforms.h"
#include <cellreap/status.h>

enum { CR_REGISTER_BYTES = 1 << seL4_PageBits };

/* 1 if an option of the kernel is defined as 1, else 0. */
#define CR_PAIR_1 0,
#define CR_SECOND(first, second, ...) second
#define CR_IS_ON(option) CR_IS_ON_(option)
#define CR_IS_ON_(value) CR_IS_ON__(CR_PAIR_##value)
#define CR_IS_ON__(pair) CR_SECOND(pair 1, 0, 0)

/* The row of the platform that the kernel is for. CR_NO_ROW: it is none of them. */
enum {
    CR_NO_ROW,
#define CR_PLATFORM(prefix, config, name, arch, uart, address) prefix##_ROW,
    CR_PLATFORMS
#undef CR_PLATFORM
        CR_ROWS,
#define CR_PLATFORM(prefix, config, name, arch, uart, address) +CR_IS_ON(config) * prefix##_ROW
    CR_ROW = CR_NO_ROW CR_PLATFORMS
#undef CR_PLATFORM
};

/* Its timer, from CR_TIMERS. All are 0: it has none. */
#define CR_TIMER(platform, address, interrupt, mhz) +(platform##_ROW == CR_ROW) * address##ul
static const uint64_t cr_timer_paddr = 0 CR_TIMERS;
#undef CR_TIMER
enum {
#define CR_TIMER(platform, address, interrupt, mhz) +(platform##_ROW == CR_ROW) * interrupt
    CR_TIMER_IRQ = 0 CR_TIMERS,
#undef CR_TIMER
#define CR_TIMER(platform, address, interrupt, mhz) +(platform##_ROW == CR_ROW) * mhz
    CR_TIMER_MHZ = 0 CR_TIMERS
#undef CR_TIMER
};

/* Maps the page of registers at a physical address in the place of a page of the image. `slots`:
 * the first of CR_REGISTER_SLOTS empty slots of the CNode of boot time. image_start: see
 * cr_image_frame. Of devices in one untyped of the kernel's, that with the lowest address comes
 * first. CR_ERR_ABSENT: the kernel does not give it. */
cr_status cr_registers_map(const seL4_BootInfo *info, uintptr_t image_start, uint64_t paddr,
                           seL4_CPtr slots, const void *page);
/* The same for the timer, if there is one (CR_TIMERS), with slots of boot time of its own. */
cr_status cr_registers_map_timer(const seL4_BootInfo *info, uintptr_t image_start,
                                 const void *page);

#endif
