/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Between the files of this folder. */
#ifndef REFKERNEL_MACHINE_H
#define REFKERNEL_MACHINE_H

#include "kernel.h"

extern char kernel_end[];
extern char trap_vectors[];
_Noreturn void trap_return(struct context *context);

/* Kinds of entry, as trap.S has them. */
enum { TRAP_SYNCHRONOUS = 0, TRAP_INTERRUPT = 1, TRAP_OTHER = 2 };

/* Called by trap.S with interrupts off; the current thread's registers are in its TCB. Returns the registers of
 * who runs next. */
struct context *trap_handle(word kind);
_Noreturn void trap_in_kernel(word kind);
/* As seL4's boot contract has it: physical addresses of the image, what to add to its virtual ones, its entry. */
_Noreturn void kernel_main(word image_start, word image_end, word offset, word entry, word fdt, word fdt_bytes);

#endif
