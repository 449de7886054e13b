/* SPDX-License-Identifier: BSD-2-Clause */
#include "conformance.h"

const cf_check cf_memory_checks[] = {
    {0, 0},
};
