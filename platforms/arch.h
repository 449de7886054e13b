/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The file of the architecture that is compiled for. */
#ifndef CELLREAP_PLATFORMS_ARCH_H
#define CELLREAP_PLATFORMS_ARCH_H

#if defined(__x86_64__)
#include "platforms/x86_64.h"
#elif defined(__aarch64__)
#include "platforms/aarch64.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "platforms/riscv64.h"
#else
#error "no file in platforms/ for this architecture"
#endif

#define CR_TABLE_LEVEL(word, object, bits, span) +1
enum { CR_ARCH_TABLE_LEVELS = 0 CR_TABLE_LEVELS };
#undef CR_TABLE_LEVEL

#endif
