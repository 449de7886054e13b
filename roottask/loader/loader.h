/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The boot loader of aarch64 images. It holds a kernel, a root task and a device tree, puts them where they
 * belong, and enters the kernel as seL4 wants it: EL1, MMU and caches on, the kernel's window mapped through
 * TTBR1, everything else one to one through TTBR0, and in x0 to x5
 *
 *     first and last + 1 physical address of the root task's image, their distance to its virtual addresses,
 *     its entry, address and size of the device tree.
 *
 * The machine's firmware enters the loader at its first byte, in EL1 or EL2, at the address that it is linked
 * for, with the address of a device tree in x0 or not. */
#ifndef CELLREAP_LOADER_H
#define CELLREAP_LOADER_H

#include <stdint.h>

/* Facts, each a name of its own, in the source that the image builder writes. Physical addresses, but where
 * they are said to be virtual; sizes in bytes. Addresses where something begins are aligned to 4 KiB. */
extern const uint64_t cr_fact_ram_start;
extern const uint64_t cr_fact_ram_end;
extern const uint64_t cr_fact_uart;         /* a PL011 */
extern const uint64_t cr_fact_loader;       /* where the loader is linked */
extern const uint64_t cr_fact_kernel;       /* where it goes */
extern const uint64_t cr_fact_kernel_bytes; /* in memory */
extern const uint64_t cr_fact_kernel_virt;  /* where it is linked: as far from the former as whole GiB make */
extern const uint64_t cr_fact_kernel_entry; /* virtual */
extern const uint64_t cr_fact_user_bytes;   /* in memory */
extern const uint64_t cr_fact_user_virt;    /* the root task's first address */
extern const uint64_t cr_fact_user_entry;   /* virtual */

/* What is put into memory, zeros at the ends left out. Aligned to 8. */
extern const uint8_t cr_kernel_start[], cr_kernel_end[];
extern const uint8_t cr_user_start[], cr_user_end[];
extern const uint8_t cr_fdt_start[], cr_fdt_end[]; /* used if the firmware gives none */

/* The loader itself, from the linker script; the end is that of its bss. */
extern uint8_t cr_loader_start[], cr_loader_end[];

/* Translation tables of 4 KiB, for start.S: the first level of both halves. */
extern uint64_t cr_tables_low[512];
extern uint64_t cr_tables_high[512];

/* Called with the MMU off: fills the tables. */
void cr_loader_map(void);
/* Called with the MMU on. `hint`: what the firmware left in x0; `level`: the exception level it entered at. */
_Noreturn void cr_loader_main(uint64_t hint, uint64_t level);
/* Entered at an exception level that cannot be used. The MMU is off. */
_Noreturn void cr_loader_refuse(uint64_t level);
/* An exception: `syndrome` is ESR_EL1. May be called with the MMU off. */
_Noreturn void cr_loader_fault(uint64_t syndrome, uint64_t ip, uint64_t address);

/* In start.S. Cleans and invalidates the data cache over [start, end), to the point of coherency. */
void cr_loader_clean(uint64_t start, uint64_t end);
/* Enters the kernel; argument for argument what it finds in x0 to x5. */
_Noreturn void cr_loader_enter(uint64_t user_start, uint64_t user_end, uint64_t offset, uint64_t entry, uint64_t fdt,
                               uint64_t fdt_bytes, uint64_t kernel_entry);

#endif
