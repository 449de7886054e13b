/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The interface between the root task and an architecture: paging, registers and system calls. One
 * folder per architecture implements it. Code that depends on an architecture must not be placed
 * outside these folders, so that a new architecture is a new folder. */
#ifndef CELLREAP_SEL4_ARCH_H
#define CELLREAP_SEL4_ARCH_H

#include "kernel/kernel.h"
#include "platforms/arch.h"
#include <cellreap/protocol.h>
#include <stddef.h>

/* Object types, and the log2 of the bytes that one table of each level spans. The widest level is
 * first. */
extern const seL4_Word cr_arch_table_type[CR_ARCH_TABLE_LEVELS];
extern const uint32_t cr_arch_table_span[CR_ARCH_TABLE_LEVELS];
extern const uint32_t cr_arch_table_bits[CR_ARCH_TABLE_LEVELS];
extern const seL4_Word cr_arch_vspace_type;
extern const uint32_t cr_arch_vspace_bits;
extern const seL4_Word cr_arch_frame_type; /* a page of 4 KiB */
extern const seL4_Word cr_arch_large_type; /* a page of 2^CR_LARGE_PAGE_BITS bytes */

/* `level` is an index into the tables above. */
seL4_Error cr_arch_map_table(uint32_t level, seL4_CPtr table, seL4_CPtr vspace, seL4_Word vaddr);
seL4_Error cr_arch_map_frame(seL4_CPtr frame, seL4_CPtr vspace, seL4_Word vaddr, int writable,
                             int executable);
/* Maps a frame of a device, past the caches. Nothing in it is executable. */
seL4_Error cr_arch_map_device(seL4_CPtr frame, seL4_CPtr vspace, seL4_Word vaddr, int writable);
/* The physical address, or ~0. */
uint64_t cr_arch_frame_address(seL4_CPtr frame);
seL4_Error cr_arch_unmap_frame(seL4_CPtr frame);
/* Makes code that was written through another mapping visible to instruction fetches. */
seL4_Error cr_arch_sync_code(seL4_CPtr frame);
/* Gives an address space a number of this pool. seL4_DeleteFirst: the pool has none left. */
seL4_Error cr_arch_assign_asid(seL4_CPtr pool, seL4_CPtr vspace);
/* Makes a further pool of an untyped of 2^seL4_ASIDPoolBits bytes. */
seL4_Error cr_arch_make_asid_pool(seL4_CPtr untyped, cr_slot to);

/* The entry point of the root task's second thread, in threads.S. It runs cr_idle_main if the root
 * task has that function. */
void cr_idle_start(void);
_Noreturn void cr_idle_main(void);
/* The entry point of the root task's turn threads, in threads.S. It runs cr_turns_main with
 * the argument that cr_arch_set_argument has set, if the root task has that function. */
void cr_turns_start(void);
_Noreturn void cr_turns_main(uint64_t index);

/* The entry points of the writer and the pump (kernel/writer.h), in threads.S. They run
 * cr_writer_main and cr_pump_main if the root task has these functions. */
void cr_writer_start(void);
_Noreturn void cr_writer_main(void);
void cr_pump_start(void);
_Noreturn void cr_pump_main(void);

/* The entry point of the worker (kernel/worker.h), in threads.S. It runs cr_worker_main if the
 * root task has that function. */
void cr_worker_begin(void);
_Noreturn void cr_worker_main(void);

/* The entry point of the sleeper (kernel/sleeper.h), in threads.S. It runs cr_sleeper_main if the
 * root task has that function. */
void cr_sleeper_begin(void);
_Noreturn void cr_sleeper_main(void);

/* Sets the registers of a thread that starts at `entry` with this stack. `entry` is assembler code
 * that calls a C function, not a C function itself. `stack_top` is aligned to 16. */
void cr_arch_start_registers(seL4_UserContext *out, seL4_Word entry, seL4_Word stack_top);
/* Sets the first argument of the C function that the entry calls. */
void cr_arch_set_argument(seL4_UserContext *registers, seL4_Word value);

/* The number of the system call that a thread with these registers is in, if it is in one.
 * `invoked` is the address of the capability that the call invokes. */
seL4_Word cr_arch_syscall(const seL4_UserContext *registers, seL4_CPtr *invoked);
/* The registers that an answer without words may change: of the instruction, of the capability and
 * of the description of the message. */
enum { CR_CALL_REGISTERS = 3 };
seL4_Word *cr_arch_call_register(seL4_UserContext *registers, uint32_t which);
/* Returns whether these are the registers of a thread in a seL4_Call. */
static inline int cr_arch_is_call(const seL4_UserContext *registers, seL4_CPtr *invoked)
{
    return cr_arch_syscall(registers, invoked) == (seL4_Word)seL4_SysCall;
}
/* The same for a seL4_Send. After a Send the registers are unchanged, so the caller must also look
 * at the instruction. */
static inline int cr_arch_is_send(const seL4_UserContext *registers, seL4_CPtr *invoked)
{
    return cr_arch_syscall(registers, invoked) == (seL4_Word)seL4_SysSend;
}
/* The same for a receive that waits. Where it also sends, `invoked` is what it receives from. */
static inline int cr_arch_is_receive(const seL4_UserContext *registers, seL4_CPtr *invoked)
{
    const seL4_Word number = cr_arch_syscall(registers, invoked);
    return number == (seL4_Word)seL4_SysRecv || number == (seL4_Word)CR_SYS_WAIT ||
           number == (seL4_Word)seL4_SysReplyRecv || number == (seL4_Word)CR_SYS_NBSEND_RECV ||
           number == (seL4_Word)CR_SYS_NBSEND_WAIT;
}
/* The registers of a thread as words: CR_REGISTER_COUNT, in the order of CR_REGISTERS
 * (platforms/). */
static inline const seL4_Word *cr_arch_registers(const seL4_UserContext *registers)
{
    return (const seL4_Word *)(const void *)registers;
}
enum {
#define CR_REGISTER(field) CR_PLACE_OF_##field,
    CR_REGISTERS
#undef CR_REGISTER
        CR_REGISTER_COUNT
};
#define CR_REGISTER(field)                                                                         \
    _Static_assert(offsetof(seL4_UserContext, field) == CR_PLACE_OF_##field * sizeof(seL4_Word),   \
                   "the place of " #field);
CR_REGISTERS
#undef CR_REGISTER
_Static_assert(sizeof(seL4_UserContext) == CR_REGISTER_COUNT * sizeof(seL4_Word),
               "every register has a name");

/* The address of the instruction that the thread executes when it is resumed. For a thread that
 * waits in the kernel, this is its system call. */
seL4_Word cr_arch_ip(const seL4_UserContext *registers);
/* The length of a system call instruction, and whether these bytes are one. */
enum { CR_ARCH_SYSCALL_BYTES_MAX = 4 };
extern const uint32_t cr_arch_syscall_bytes;
int cr_arch_is_syscall(const uint8_t *code);

#ifdef CONFIG_PRINTING
/* The kernel prints a character. */
void cr_arch_print(char c);
#endif

/* As traces name the architecture. */
extern const char cr_arch_name[];
extern const uint16_t cr_arch_elf_machine; /* as ELF files name it */

/* A counter that increases with the work of the machine. 0: there is no counter, or user threads
 * may not read it. */
uint64_t cr_arch_cycles(void);
/* A counter that has another value at each boot. 0: there is none, or user threads may not read
 * it. */
uint64_t cr_arch_boot_counter(void);
/* How often it counts in a second, if there is one and a register tells; else 0. */
uint64_t cr_arch_counter_hz(void);

#endif
