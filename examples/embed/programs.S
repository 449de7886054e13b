/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The programs of the PDs, in the root task's image. */
    .section .rodata
    .macro program name, file
    .balign 16
    .globl \name, \name\()_end
\name:
    .incbin "\file"
\name\()_end:
    .endm
    program ledger_elf, "ledger.elf"
    program clerk_elf, "clerk.elf"
    .section .note.GNU-stack, "", %progbits
