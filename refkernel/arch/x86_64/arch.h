/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REFKERNEL_ARCH_H
#define REFKERNEL_ARCH_H

#define ARCH_NAME "x86_64"

/* The kernel's window on physical memory: the first 4 GiB of it. */
#define ARCH_WINDOW 0xffffff8000000000ul
#define ARCH_WINDOW_BYTES 0x100000000ul

#define ARCH_INTERRUPT_BITS 4

struct context {
    seL4_UserContext user;
};

#endif
