/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REFKERNEL_SEL4_ARCH_TYPES_H
#define REFKERNEL_SEL4_ARCH_TYPES_H

typedef seL4_CPtr seL4_ARM_VSpace, seL4_ARM_PageTable, seL4_ARM_Page, seL4_ARM_ASIDPool,
    seL4_ARM_ASIDControl;

typedef enum {
    seL4_ARM_PageCacheable = 1,
    seL4_ARM_ParityEnabled = 2,
    seL4_ARM_Default_VMAttributes = 3,
    seL4_ARM_ExecuteNever = 4
} seL4_ARM_VMAttributes;

typedef struct seL4_UserContext_ {
    seL4_Word pc, sp, spsr, x0, x1, x2, x3, x4, x5, x6, x7, x8, x16, x17, x18, x29, x30;
    seL4_Word x9, x10, x11, x12, x13, x14, x15, x19, x20, x21, x22, x23, x24, x25, x26, x27, x28;
    seL4_Word tpidr_el0, tpidrro_el0;
} seL4_UserContext;

#endif
