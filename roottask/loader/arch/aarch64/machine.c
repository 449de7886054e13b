/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the boot loader needs of aarch64. See loader.h. cr_loader_map runs with the MMU off, so it
 * must use aligned accesses only. */
#include "../../loader.h"

#define GIB ((uint64_t)1 << 30)
#define BLOCK_BYTES ((uint64_t)2 << 20)

enum { ENTRIES = 512 };

/* Descriptors (Arm Architecture Reference Manual, D8.3). The attribute index is that of the MAIR in
 * start.S, which the kernel continues to use. */
enum {
    TABLE = 3,
    BLOCK = 1,
    DEVICE = 0 << 2,
    NORMAL = 4 << 2,
    INNER_SHAREABLE = 3 << 8,
    ACCESSED = 1 << 10
};
#define NEVER_EXECUTE ((uint64_t)3 << 53)

_Alignas(4096) uint64_t cr_tables[ENTRIES];
static _Alignas(4096) uint64_t low_gibs[ENTRIES];
static _Alignas(4096) uint64_t kernel_gibs[ENTRIES];
static _Alignas(4096) uint64_t kernel_blocks[ENTRIES];

void cr_loader_put(char c)
{
    const volatile uint32_t *status = (const volatile uint32_t *)cr_fact_uart_status;
    while ((*status & cr_fact_uart_mask) == cr_fact_uart_busy) {
    }
    *(volatile uint32_t *)cr_fact_uart_data = (uint32_t)(uint8_t)c;
}

void cr_loader_open(void)
{
    if (cr_fact_uart_on != 0) {
        *(volatile uint32_t *)cr_fact_uart_control = (uint32_t)cr_fact_uart_on;
    }
}

const char *cr_loader_level(uint64_t level)
{
    static const char *const names[] = {"EL0", "EL1", "EL2", "EL3"};
    return names[level % 4];
}

_Noreturn void cr_loader_stop(void)
{
    for (;;) {
        __asm__ volatile("wfe");
    }
}

_Noreturn void cr_loader_refuse(uint64_t level, uint64_t expected)
{
    cr_loader_fail("entered in exception level ", level, expected);
}

/* Registers of the GICv2 (Arm IHI 0048B), as indices of words. */
enum { GICD_CTLR = 0, GICD_TYPER = 1, GICD_IGROUPR = 0x80 / 4, GICC_CTLR = 0, GICC_PMR = 1 };

void cr_loader_hand_over(void)
{
    volatile uint32_t *const distributor = (volatile uint32_t *)cr_fact_gic_distributor;
    volatile uint32_t *const cpu = (volatile uint32_t *)cr_fact_gic_cpu;
    const uint32_t last = distributor[GICD_TYPER] & 31;
    for (uint32_t i = 0; i <= last; i++) {
        distributor[GICD_IGROUPR + i] = UINT32_MAX; /* not secure */
    }
    distributor[GICD_CTLR] = 3; /* both groups */
    cpu[GICC_PMR] = 0xf0;       /* every priority that lower levels can give */
    cpu[GICC_CTLR] = 3;
}

void cr_loader_map(void)
{
    cr_tables[0] = (uint64_t)low_gibs | TABLE;
    for (uint64_t at = cr_fact_ram_start & ~(GIB - 1); at < cr_fact_ram_end; at += GIB) {
        low_gibs[at / GIB] = at | BLOCK | NORMAL | INNER_SHAREABLE | ACCESSED;
    }
    /* Memory may share its GiB with the UART. The image is far below it. */
    low_gibs[cr_fact_uart / GIB] =
        (cr_fact_uart & ~(GIB - 1)) | BLOCK | DEVICE | ACCESSED | NEVER_EXECUTE;
    /* The kernel replaces this with its own map before it uses more than its image. */
    const uint64_t virt = cr_fact_kernel_virt;
    cr_tables[(virt / GIB / ENTRIES) % ENTRIES] = (uint64_t)kernel_gibs | TABLE;
    kernel_gibs[(virt / GIB) % ENTRIES] = (uint64_t)kernel_blocks | TABLE;
    for (uint64_t at = 0; at < cr_fact_kernel_bytes; at += BLOCK_BYTES) {
        kernel_blocks[((virt + at) / BLOCK_BYTES) % ENTRIES] =
            (cr_fact_kernel + at) | BLOCK | NORMAL | INNER_SHAREABLE | ACCESSED;
    }
}
