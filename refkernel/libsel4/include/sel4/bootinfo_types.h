/* SPDX-License-Identifier: BSD-2-Clause */
#include <sel4/types.h>
