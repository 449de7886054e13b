/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The stack of a root task that begins with start.S. */
#include <cellreap/component.h>

_Alignas(16) char cr_root_stack[CR_COMPONENT_STACK];
/* The name that start.S uses for the end of the stack. */
__asm__(".globl cr_root_stack_top\n.set cr_root_stack_top, cr_root_stack + 32768");
_Static_assert((int)CR_COMPONENT_STACK == 32768, "as in the line above");
