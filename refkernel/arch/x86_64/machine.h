/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Declarations shared by the files of this folder. */
#ifndef REFKERNEL_MACHINE_H
#define REFKERNEL_MACHINE_H

#include "kernel.h"

/* boot.S, trap.S */
extern word boot_pml4[]; /* at its physical address */
extern char kernel_end[];
extern char kernel_stack_top[];
extern const word trap_entries[];
extern struct context *trap_context; /* where registers are saved and loaded */
void trap_syscall(void);
_Noreturn void trap_return(void);

/* Vectors, in this order: exceptions, the tick, the old interrupt controllers (always masked),
 * spurious interrupts, interrupts of users. */
enum {
    TRAP_TIMER = 32,
    TRAP_SPURIOUS = 47,
    TRAP_USER = 48,
    TRAP_VECTORS = TRAP_USER + ARCH_INTERRUPTS
};
enum { TRAP_SYSCALL = 256 };
_Static_assert(TRAP_VECTORS == 64, "as in trap.S");

static inline void out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint8_t in8(uint16_t port)
{
    uint8_t value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline void out16(uint16_t port, uint16_t value)
{
    __asm__ volatile("outw %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint16_t in16(uint16_t port)
{
    uint16_t value;
    __asm__ volatile("inw %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

void machine_init(void);
/* interrupts.c: sets up the interrupt controllers and starts the tick. */
void interrupts_init(void);
/* Ends the handling of an interrupt: the next one may come. */
void interrupts_end(void);

/* Called by trap.S with interrupts off. The current thread's registers are in its TCB. */
void trap_handle(word vector, word code);
_Noreturn void trap_in_kernel(word vector, word code, word instruction);
_Noreturn void kernel_main(uint32_t magic, uint32_t info);

#endif
