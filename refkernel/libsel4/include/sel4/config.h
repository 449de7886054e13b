/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REFKERNEL_SEL4_CONFIG_H
#define REFKERNEL_SEL4_CONFIG_H

#include <kernel/gen_config.h>

#endif
