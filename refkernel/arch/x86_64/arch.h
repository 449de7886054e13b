/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What an architecture provides. Included by kernel.h where struct slot is known. */
#ifndef REFKERNEL_ARCH_H
#define REFKERNEL_ARCH_H

#define ARCH_NAME "x86_64"

/* The kernel's window on physical memory: the first 4 GiB of it. */
#define ARCH_WINDOW 0xffffff8000000000ul
#define ARCH_WINDOW_BYTES 0x100000000ul

struct invocation;

struct context {
    seL4_UserContext user;
};

void arch_context_init(struct context *context);
/* Takes privileges out of what a user wrote into the registers. */
void arch_sanitise(struct context *context);
/* Behind the instruction of a system call. */
void arch_advance(struct context *context);
word *arch_instruction(struct context *context);
word *arch_cap_register(struct context *context);
word *arch_info_register(struct context *context);
word *arch_message_register(struct context *context, word i);
/* The register that a word of a fault's answer goes to; null: none. */
word *arch_fault_register(struct context *context, word label, word i);
word arch_unknown_syscall(struct context *context, word *words);
/* Arguments of a thread about to begin. */
void arch_start(struct context *context, word entry, word argument);

/* Objects that only this architecture has. 0 bits: no such type. */
word arch_object_bits(word type);
void arch_make_object(word type, struct slot *cap);
void arch_clear(void *start, word bytes);
seL4_Error arch_invoke(struct invocation *call);
/* A capability to a frame or table is gone; last: the object too. */
void arch_released(const struct slot *cap, bool last);

/* For the initial thread: the types of tables from the widest on, and what one spans (log2 of bytes). */
enum { ARCH_TABLE_LEVELS = 3 };
extern const word arch_table_type[ARCH_TABLE_LEVELS];
extern const word arch_table_span[ARCH_TABLE_LEVELS];
extern const word arch_vspace_type;
extern const word arch_frame_type;
/* An address space gets its number. 0: none is left. */
uint16_t arch_assign_asid(struct slot *vspace);
/* *left: bits of the address for which there is no table. */
seL4_Error arch_map_table(struct slot *cap, uint16_t asid, word vaddr, word *left);
seL4_Error arch_map_frame(struct slot *cap, uint16_t asid, word vaddr, word rights, word attributes, word *left);

void arch_put(char c);
_Noreturn void arch_halt(void);

#endif
