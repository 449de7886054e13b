/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REFKERNEL_ARCH_H
#define REFKERNEL_ARCH_H

#define ARCH_NAME "aarch64"

/* The kernel's window on physical memory: the first 4 GiB. The kernel itself is linked to run in
 * the window. */
#define ARCH_WINDOW 0xffffff8000000000ul
#define ARCH_WINDOW_BYTES 0x100000000ul

#define ARCH_INTERRUPT_BITS 8

struct context {
    seL4_UserContext user;
} __attribute__((aligned(16))); /* The stack pointer points to this while a user runs. */

#endif
