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

/* What the rows of the platforms say of the one that the kernel is for. */
enum {
#define CR_PLATFORM(prefix, config, name, arch, uart, address)                                     \
    prefix##_HERE = IS_ON(config) * uart##_DRIVER,
    CR_PLATFORMS
#undef CR_PLATFORM
#define CR_PLATFORM(prefix, config, name, arch, uart, address) +prefix##_HERE
    DRIVEN = 0 CR_PLATFORMS,
#undef CR_PLATFORM
#define CR_PLATFORM(prefix, config, name, arch, uart, address) +prefix##_HERE * uart##_DATA / 4
    DATA = 0 CR_PLATFORMS,
#undef CR_PLATFORM
#define CR_PLATFORM(prefix, config, name, arch, uart, address) +prefix##_HERE * uart##_STATUS / 4
    STATUS = 0 CR_PLATFORMS,
#undef CR_PLATFORM
#define CR_PLATFORM(prefix, config, name, arch, uart, address) +prefix##_HERE * uart##_BIT
    BIT = 0 CR_PLATFORMS,
#undef CR_PLATFORM
#define CR_PLATFORM(prefix, config, name, arch, uart, address) +prefix##_HERE * uart##_BUSY
    BUSY = 0 CR_PLATFORMS,
#undef CR_PLATFORM
#define CR_PLATFORM(prefix, config, name, arch, uart, address) +prefix##_HERE * uart##_CONTROL / 4
    CONTROL = 0 CR_PLATFORMS,
#undef CR_PLATFORM
#define CR_PLATFORM(prefix, config, name, arch, uart, address) +prefix##_HERE * uart##_ON
    ON = 0 CR_PLATFORMS,
#undef CR_PLATFORM
    PAGE = 1 << seL4_PageBits
};
#define CR_PLATFORM(prefix, config, name, arch, uart, address) +(uint64_t)prefix##_HERE * address
static const uint64_t PADDR = 0 CR_PLATFORMS;
#undef CR_PLATFORM

static _Alignas(4096) uint32_t page[PAGE / sizeof(uint32_t)];
static volatile uint32_t *const registers = page;

/* The kernel allocates from the start of an untyped. One untyped for each bit of the offset, the
 * largest first, leads to the registers. */
static seL4_Error make_frame(const seL4_UntypedDesc *from, seL4_CPtr untyped, seL4_CPtr slots,
                             seL4_CPtr *frame)
{
    const uint64_t offset = PADDR - from->paddr;
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
    if (!DRIVEN) {
        return CR_ERR_ABSENT;
    }
    for (seL4_SlotPos i = 0; i < info->untyped.end - info->untyped.start; i++) {
        const seL4_UntypedDesc *desc = &info->untypedList[i];
        seL4_CPtr frame;
        if (!desc->isDevice || desc->paddr > PADDR ||
            (PADDR - desc->paddr) >> desc->sizeBits != 0) {
            continue;
        }
        /* Without seL4_ARM_PageCacheable it is device memory. */
        if (own == 0 || make_frame(desc, info->untyped.start + i, slots, &frame) ||
            seL4_ARM_Page_Unmap(own) ||
            seL4_ARM_Page_Map(frame, seL4_CapInitThreadVSpace, (seL4_Word)page, seL4_ReadWrite,
                              seL4_ARM_ExecuteNever)) {
            return CR_ERR_ABSENT;
        }
        if (ON != 0) {
            registers[CONTROL] = ON;
        }
        return CR_OK;
    }
    return CR_ERR_ABSENT;
}

void cr_uart_put(char c)
{
    /* No character is lost, however long the other end takes. */
    for (uint64_t i = 0; i < UINT64_MAX && (registers[STATUS] & BIT) == BUSY; i++) {
    }
    registers[DATA] = (uint8_t)c;
}
