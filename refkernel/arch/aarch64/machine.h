/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Declarations shared by the files of this folder. */
#ifndef REFKERNEL_MACHINE_H
#define REFKERNEL_MACHINE_H

#include "kernel.h"

extern char kernel_end[];
extern char trap_vectors[];
_Noreturn void trap_return(struct context *context);

/* Kinds of kernel entry, as in trap.S. */
enum { TRAP_SYNCHRONOUS = 0, TRAP_INTERRUPT = 1, TRAP_OTHER = 2 };

/* Called by trap.S with interrupts off. The current thread's registers are in its TCB. Returns
 * the registers of the thread that runs next. */
struct context *trap_handle(word kind);
_Noreturn void trap_in_kernel(word kind);
/* The entry as in seL4's boot contract: physical addresses of the root task's image, the offset
 * to its virtual addresses, and its entry point. */
_Noreturn void kernel_main(word image_start, word image_end, word offset, word entry, word fdt,
                           word fdt_bytes);

#endif
