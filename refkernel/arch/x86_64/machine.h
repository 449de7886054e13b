/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Between the files of this folder. */
#ifndef REFKERNEL_MACHINE_H
#define REFKERNEL_MACHINE_H

#include "kernel.h"

/* boot.S, trap.S */
extern word boot_pml4[]; /* at its physical address */
extern char kernel_end[];
extern char kernel_stack_top[];
extern const word trap_entries[];
extern struct context *trap_context; /* where registers are saved to and loaded from */
void trap_syscall(void);
_Noreturn void trap_return(void);

enum { TRAP_VECTORS = 48, TRAP_TIMER = 32, TRAP_SYSCALL = 256 };

void machine_init(void);

/* Called by trap.S with interrupts off; the current thread's registers are in its TCB. */
void trap_handle(word vector, word code);
_Noreturn void trap_in_kernel(word vector, word code, word instruction);
_Noreturn void kernel_main(uint32_t magic, uint32_t info);

#endif
