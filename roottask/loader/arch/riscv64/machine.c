/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the boot loader needs of riscv64. See loader.h. */
#include "../../loader.h"

#define GIB ((uint64_t)1 << 30)

/* Page table entries of Sv39 (RISC-V Privileged Architecture, 4.4): a leaf in the first table maps
 * one GiB. */
enum { ENTRIES = 512, VALID_LEAF = 0xcf, PAGE_NUMBER_SHIFT = 2 };

_Alignas(4096) uint64_t cr_tables[ENTRIES];

static void map(uint64_t virt, uint64_t at)
{
    cr_tables[(virt / GIB) % ENTRIES] = (at & ~(GIB - 1)) >> PAGE_NUMBER_SHIFT | VALID_LEAF;
}

void cr_loader_map(void)
{
    for (uint64_t at = cr_fact_ram_start & ~(GIB - 1); at < cr_fact_ram_end; at += GIB) {
        map(at, at);
    }
    /* The kernel replaces this with its own map before it uses more than its image. The host made
     * sure that the image lies in one GiB; physical and virtual offsets in it agree. */
    map(cr_fact_kernel_virt, cr_fact_kernel);
}

void cr_loader_open(void)
{
}

/* The firmware's console (RISC-V SBI, legacy extension 1). */
void cr_loader_put(char c)
{
    register uint64_t byte __asm__("a0") = (uint8_t)c;
    register uint64_t extension __asm__("a7") = 1;
    __asm__ volatile("ecall" : "+r"(byte) : "r"(extension) : "a1", "memory");
}

const char *cr_loader_level(uint64_t level)
{
    (void)level;
    return "S mode";
}

_Noreturn void cr_loader_stop(void)
{
    for (;;) {
        __asm__ volatile("wfi");
    }
}
