/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The boot loader of images for machines on which neither the emulator nor the firmware loads both
 * the kernel and the root task. It contains a kernel, a root task and a device tree, copies them to
 * their places, and enters the kernel in the state that seL4 requires: MMU and caches on; the
 * kernel at its virtual addresses, everything else mapped one to one; and these arguments in
 * registers:
 * 1. the first physical address of the root task's image;
 * 2. its last physical address plus 1;
 * 3. the difference between its physical and its virtual addresses;
 * 4. its entry;
 * 5. and 6. address and size of the device tree.
 *
 * aarch64: the kernel runs in EL1, or in EL2 if it was built with hypervisor support, and needs an
 * entry in EL2 then. The firmware enters the loader at its first byte, in EL1 or EL2, at the
 * address that the loader is linked for. A machine without firmware enters it in EL3: if the table
 * of machines says so, the loader goes down from there. x0 may contain the address of a device
 * tree.
 *
 * riscv64: the firmware enters the loader there in S mode, and stays. a1 contains the address of a
 * device tree.
 *
 * The loader must not assume anything else about the machine. */
#ifndef CELLREAP_LOADER_H
#define CELLREAP_LOADER_H

#include <stdint.h>

/* Facts, as separate symbols in the source that the image builder writes. Addresses are physical
 * unless marked virtual. Sizes are in bytes. Start addresses are aligned to 4 KiB, except those of
 * registers. */
extern const uint64_t cr_fact_ram_start; /* the kernel may be built for a later part of it only */
extern const uint64_t cr_fact_ram_end;
extern const uint64_t cr_fact_uart;         /* any register of the UART */
extern const uint64_t cr_fact_uart_data;    /* its register for bytes to be sent, of 32 bits */
extern const uint64_t cr_fact_uart_status;  /* its status, of 32 bits */
extern const uint64_t cr_fact_uart_mask;    /* the bit of the status that says whether it is busy */
extern const uint64_t cr_fact_uart_busy;    /* that bit's value as long as it takes no byte */
extern const uint64_t cr_fact_uart_control; /* its control register, of 32 bits */
extern const uint64_t cr_fact_uart_on;      /* what is written there first; 0: nothing */
/* The interrupt controller of a machine that enters the loader in EL3. 0: no machine does. */
extern const uint64_t cr_fact_gic_distributor;
extern const uint64_t cr_fact_gic_cpu;
extern const uint64_t cr_fact_loader;       /* where the loader is linked */
extern const uint64_t cr_fact_kernel;       /* where the kernel is placed */
extern const uint64_t cr_fact_kernel_bytes; /* in memory */
/* where the kernel is linked, in one GiB; like cr_fact_kernel a multiple of 2 MiB */
extern const uint64_t cr_fact_kernel_virt;
extern const uint64_t cr_fact_kernel_entry; /* virtual */
extern const uint64_t cr_fact_kernel_level; /* the exception level in which it runs: 1 or 2 */
/* of physical addresses, as TCR_EL2.PS has it: a kernel in EL2 runs with no other */
extern const uint64_t cr_fact_physical_size;
extern const uint64_t cr_fact_user_bytes; /* in memory */
extern const uint64_t cr_fact_user_end;   /* where the memory of the root task ends at least */
extern const uint64_t cr_fact_user_virt;  /* the first address of the root task, virtual */
extern const uint64_t cr_fact_user_entry; /* virtual */

/* The contents to be placed, without the zeros at the end. Aligned to 8. */
extern const uint8_t cr_kernel_start[], cr_kernel_end[];
extern const uint8_t cr_user_start[], cr_user_end[];
extern const uint8_t cr_fdt_start[], cr_fdt_end[]; /* for firmware without one; may be empty */

/* The loader itself, from the linker script. The end is the end of its bss. */
extern uint8_t cr_loader_start[], cr_loader_end[];

/* In loader.c. The MMU may be off. */
_Noreturn void cr_loader_fail(const char *what, uint64_t found, uint64_t expected);
/* Reports an exception. `syndrome` is the ESR or scause. The MMU may be off. */
_Noreturn void cr_loader_fault(uint64_t syndrome, uint64_t ip, uint64_t address);
/* Called with the MMU on. `hint` is the address that the firmware left in a register. `level` is
 * the exception level in which the firmware entered the loader. */
_Noreturn void cr_loader_main(uint64_t hint, uint64_t level);

/* In machine.c of an architecture. The first translation table, for start.S. In EL1 it is that of
 * both halves. */
extern uint64_t cr_tables[512];

/* aarch64. Lets the lower levels have all interrupts. Called in EL3 with the MMU off. */
void cr_loader_hand_over(void);
/* aarch64. Called in an exception level that cannot be used, with the one that can. The MMU is
 * off. */
_Noreturn void cr_loader_refuse(uint64_t level, uint64_t expected);
/* Fills the tables. Called with the MMU off. */
void cr_loader_map(void);
/* Turns the console on. */
void cr_loader_open(void);
void cr_loader_put(char c);
const char *cr_loader_level(uint64_t level);
_Noreturn void cr_loader_stop(void);

/* In start.S. Memory agrees with the data cache over [start, end) afterwards. */
void cr_loader_clean(uint64_t start, uint64_t end);
/* Enters the kernel. The first six arguments are the kernel's. */
_Noreturn void cr_loader_enter(uint64_t user_start, uint64_t user_end, uint64_t offset,
                               uint64_t entry, uint64_t fdt, uint64_t fdt_bytes,
                               uint64_t kernel_entry);

#endif
