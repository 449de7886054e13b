/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The UART of the platform, if there is a driver for it. Its registers take the place of a page of
 * the root task's image, so they need no table of their own. */
#include "kernel/arch/arch.h"
#include "kernel/uart.h"
#include "platforms/platforms.h"

/* 1 if an option of the kernel is defined as 1, else 0. */
#define PAIR_1 0,
#define SECOND(first, second, ...) second
#define IS_ON(option) IS_ON_(option)
#define IS_ON_(value) IS_ON__(PAIR_##value)
#define IS_ON__(pair) SECOND(pair 1, 0, 0)

/* The row of the platform that the kernel is for; 0: it is none of them. */
enum {
    NONE,
#define CR_PLATFORM(prefix, config, name, arch, uart, address) prefix##_ROW,
    CR_PLATFORMS
#undef CR_PLATFORM
#define CR_PLATFORM(prefix, config, name, arch, uart, address) +IS_ON(config) * prefix##_ROW
    HERE = NONE CR_PLATFORMS,
#undef CR_PLATFORM
    PAGE = 1 << seL4_PageBits
};

static const struct {
    int driven;
    uint32_t data, status, bit, busy, control, on;
    uint64_t paddr;
} rows[] = {
    [NONE] = {0},
#define CR_PLATFORM(prefix, config, name, arch, uart, address)                                     \
    [prefix##_ROW] = {uart##_DRIVER, uart##_DATA,    uart##_STATUS, uart##_BIT,                    \
                      uart##_BUSY,   uart##_CONTROL, uart##_ON,     address},
    CR_PLATFORMS
#undef CR_PLATFORM
};
#define UART rows[HERE]

static _Alignas(4096) uint32_t page[PAGE / sizeof(uint32_t)];
static volatile uint32_t *const registers = page;

/* The kernel allocates from the start of an untyped. One untyped for each bit of the offset, the
 * largest first, leads to the registers. */
static seL4_Error make_frame(const seL4_UntypedDesc *from, seL4_CPtr untyped, seL4_CPtr slots,
                             seL4_CPtr *frame)
{
    const uint64_t offset = UART.paddr - from->paddr;
    *frame = slots;
    for (uint32_t bit = from->sizeBits; bit-- > seL4_PageBits;) {
        if (((offset >> bit) & 1) == 0) {
            continue;
        }
        if (*frame - slots + 1 == CR_UART_SLOTS) {
            return seL4_NotEnoughMemory;
        }
        seL4_Error error = seL4_Untyped_Retype(untyped, seL4_UntypedObject, bit,
                                               seL4_CapInitThreadCNode, 0, 0, *frame, 1);
        if (error) {
            return error;
        }
        (*frame)++;
    }
    return seL4_Untyped_Retype(untyped, cr_arch_frame_type, seL4_PageBits,
                               seL4_CapInitThreadCNode, 0, 0, *frame, 1);
}

cr_status cr_uart_open(const seL4_BootInfo *info, seL4_CPtr slots, uintptr_t image_start)
{
    const seL4_CPtr own = cr_image_frame(info, image_start, page);
    if (!UART.driven) {
        return CR_ERR_ABSENT;
    }
    for (seL4_SlotPos i = 0; i < info->untyped.end - info->untyped.start; i++) {
        const seL4_UntypedDesc *desc = &info->untypedList[i];
        seL4_CPtr frame;
        if (!desc->isDevice || desc->paddr > UART.paddr ||
            (UART.paddr - desc->paddr) >> desc->sizeBits != 0) {
            continue;
        }
        /* Without seL4_ARM_PageCacheable it is device memory. */
        if (own == 0 || make_frame(desc, info->untyped.start + i, slots, &frame) ||
            seL4_ARM_Page_Unmap(own) ||
            seL4_ARM_Page_Map(frame, seL4_CapInitThreadVSpace, (seL4_Word)page, seL4_ReadWrite,
                              seL4_ARM_ExecuteNever)) {
            return CR_ERR_ABSENT;
        }
        if (UART.on != 0) {
            registers[UART.control / 4] = UART.on;
        }
        return CR_OK;
    }
    return CR_ERR_ABSENT;
}

void cr_uart_put(char c)
{
    /* No character is lost, however long the other end takes. */
    const volatile uint32_t *const status = &registers[UART.status / 4];
    for (uint64_t i = 0; i < UINT64_MAX && (*status & UART.bit) == UART.busy; i++) {
    }
    registers[UART.data / 4] = (uint8_t)c;
}
