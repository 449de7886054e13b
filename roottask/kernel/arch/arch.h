/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What an architecture has to tell: paging, registers, faults. One folder each implements it. */
#ifndef CELLREAP_SEL4_ARCH_H
#define CELLREAP_SEL4_ARCH_H

#include "kernel/kernel.h"

enum { CR_ARCH_TABLE_LEVELS = 3 };

/* Object types and the log2 of the bytes that one table of a level spans, the widest first. */
extern const seL4_Word cr_arch_table_type[CR_ARCH_TABLE_LEVELS];
extern const uint32_t cr_arch_table_span[CR_ARCH_TABLE_LEVELS];
extern const uint32_t cr_arch_table_bits[CR_ARCH_TABLE_LEVELS];
extern const seL4_Word cr_arch_vspace_type;
extern const uint32_t cr_arch_vspace_bits;
extern const seL4_Word cr_arch_frame_type; /* a page of 4 KiB */

/* `level`: index into the tables above. */
seL4_Error cr_arch_map_table(uint32_t level, seL4_CPtr table, seL4_CPtr vspace, seL4_Word vaddr);
seL4_Error cr_arch_map_frame(seL4_CPtr frame, seL4_CPtr vspace, seL4_Word vaddr, int writable, int executable);
seL4_Error cr_arch_unmap_frame(seL4_CPtr frame);
/* Makes code written through another mapping visible to instruction fetches. */
seL4_Error cr_arch_sync_code(seL4_CPtr frame);
seL4_Error cr_arch_assign_asid(seL4_CPtr vspace);

/* Where the root task's second thread begins, in start.S: runs cr_idle_main, if the root task has one. */
void cr_idle_start(void);
_Noreturn void cr_idle_main(void);

/* A thread about to run at `entry`, which is no function of C but assembler that calls one, with this stack. It is
 * aligned to 16. */
void cr_arch_start_registers(seL4_UserContext *out, seL4_Word entry, seL4_Word stack_top);

/* The capability address that a thread with these registers invokes, if they are those of a seL4_Call. */
int cr_arch_is_call(const seL4_UserContext *registers, seL4_CPtr *invoked);

uint16_t cr_arch_elf_machine(void);

/* A counter that rises with what the machine did; 0 if there is none, or none that user threads may read. */
uint64_t cr_arch_cycles(void);

#endif
