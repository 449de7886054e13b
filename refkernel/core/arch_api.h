/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What an architecture provides, besides ARCH_NAME, ARCH_WINDOW and struct context, which arch.h
 * of its folder defines. kernel.h includes this file where struct slot is known. */
#ifndef REFKERNEL_ARCH_API_H
#define REFKERNEL_ARCH_API_H

struct invocation;

/* -- registers */

/* Removes privileges from the register values that a user wrote. */
void arch_sanitise(struct context *context);
/* Moves the program counter past the system call instruction. */
void arch_advance(struct context *context);
word *arch_instruction(struct context *context);
word *arch_cap_register(struct context *context);
word *arch_info_register(struct context *context);
word *arch_message_register(struct context *context, word i);
/* The register that a word of the answer to a fault is written to; null: none. */
word *arch_fault_register(struct context *context, word label, word i);
word arch_unknown_syscall(struct context *context, word *words);
/* Sets the registers of a thread that is about to start. */
void arch_start(struct context *context, word entry, word argument);

/* -- object types that only this architecture has */

word arch_object_bits(word type); /* 0: no such type */
void arch_make_object(word type, struct slot *cap);
void arch_clear(void *start, word bytes);

/* -- paging: see vspace.c */

enum { ARCH_TABLE_LEVELS = 3, TABLE_ANY = 0xff /* the level of a table that can have any level */ };

typedef enum paging_call {
    PAGING_NONE = 0,
    PAGING_MAP_TABLE,
    PAGING_UNMAP_TABLE,
    PAGING_MAP_FRAME,
    PAGING_UNMAP_FRAME,
    PAGING_FRAME_ADDRESS,
    PAGING_SYNC_CODE,
    PAGING_ASSIGN,
    PAGING_MAKE_POOL
} paging_call;

extern const word arch_table_type[ARCH_TABLE_LEVELS]; /* the widest first */
extern const word arch_vspace_type;
extern const word arch_frame_type;
paging_call arch_paging_call(const struct slot *slot, word label);
word arch_table_entry(word physical);
/* bits: log2 of the bytes of the page. */
word arch_page_entry(word physical, word bits, word rights, word attributes);
/* Whether an entry leads to a table. Not for entries of the last level. */
bool arch_is_table(word entry);
void arch_set_entry(word *entry, word value);
/* Call this when mappings of an address space have changed, and when it is destroyed. */
void arch_flush(word vspace);
void arch_leave(word vspace);
/* Makes newly written code visible to instruction fetches. */
void arch_sync_code(word start, word bytes);

/* -- interrupts and ports of users. Numbers are below ARCH_INTERRUPTS, which is
 * 1 << ARCH_INTERRUPT_BITS. */

enum { ARCH_INTERRUPTS = 1 << ARCH_INTERRUPT_BITS };

struct interrupt_request {
    word number;
    word index, depth; /* where the capability to the handler is put */
    /* input pin, level-triggered, active low: only if the architecture uses them */
    word pin, level, low;
};

/* Checks all arguments of an interrupt control invocation except the slot. Interrupts of the
 * kernel itself are refused. */
seL4_Error arch_interrupt_request(struct invocation *call, struct interrupt_request *out);
void arch_interrupt_set_up(const struct interrupt_request *request);
void arch_interrupt_mask(word number, bool masked);
seL4_Error arch_ports_invoke(struct invocation *call);
/* The last capability to these ports was deleted. */
void arch_ports_released(const struct slot *cap);

/* -- the machine */

void arch_put(char c);
_Noreturn void arch_halt(void);

#endif
