/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Paging, registers and system calls of riscv64, as arch.h declares them. Code that depends on
 * riscv64 must not be placed outside this folder. */
#include "kernel/arch/arch.h"
#include "kernel/arch/levels.h"
#include "kernel/arch/mapped/registers.h"

_Static_assert(CONFIG_PT_LEVELS == CR_ARCH_TABLE_LEVELS + 1 && seL4_PageTableIndexBits == 9,
               "as the spans of platforms/riscv64.h have it");

const seL4_Word cr_arch_frame_type = seL4_RISCV_4K_Page;
const seL4_Word cr_arch_large_type = seL4_RISCV_Mega_Page;
_Static_assert((int)seL4_LargePageBits == (int)CR_LARGE_PAGE_BITS, "as protocol.h has it");

seL4_Error cr_arch_map_table(uint32_t level, seL4_CPtr table, seL4_CPtr vspace, seL4_Word vaddr)
{
    (void)level; /* The kernel maps the table at the widest level that is missing at the address. */
    cr_count_call(CR_CALL_MAP);
    return seL4_RISCV_PageTable_Map(table, vspace, vaddr, seL4_RISCV_Default_VMAttributes);
}

seL4_Error cr_arch_map_frame(seL4_CPtr frame, seL4_CPtr vspace, seL4_Word vaddr, int writable,
                             int executable)
{
    seL4_Word attributes = (seL4_Word)seL4_RISCV_Default_VMAttributes;
    if (!executable) {
        attributes |= (seL4_Word)seL4_RISCV_ExecuteNever;
    }
    cr_count_call(CR_CALL_MAP);
    return seL4_RISCV_Page_Map(frame, vspace, vaddr, writable ? seL4_ReadWrite : seL4_CanRead,
                               (seL4_RISCV_VMAttributes)attributes);
}

seL4_Error cr_arch_map_device(seL4_CPtr frame, seL4_CPtr vspace, seL4_Word vaddr, int writable)
{
    /* The machine says which addresses are cached. */
    cr_count_call(CR_CALL_MAP);
    return seL4_RISCV_Page_Map(frame, vspace, vaddr, writable ? seL4_ReadWrite : seL4_CanRead,
                               seL4_RISCV_ExecuteNever);
}

uint64_t cr_arch_frame_address(seL4_CPtr frame)
{
    const seL4_RISCV_Page_GetAddress_t got = seL4_RISCV_Page_GetAddress(frame);
    return got.error ? UINT64_MAX : got.paddr;
}

seL4_Error cr_arch_unmap_frame(seL4_CPtr frame)
{
    cr_count_call(CR_CALL_MAP);
    return seL4_RISCV_Page_Unmap(frame);
}

seL4_Error cr_arch_sync_code(seL4_CPtr frame)
{
    (void)frame;
    __asm__ volatile("fence.i" : : : "memory"); /* for the core, of which there is one */
    return seL4_NoError;
}

seL4_Error cr_arch_assign_asid(seL4_CPtr pool, seL4_CPtr vspace)
{
    cr_count_call(CR_CALL_CONFIGURE);
    return seL4_RISCV_ASIDPool_Assign(pool, vspace);
}

seL4_Error cr_arch_make_asid_pool(seL4_CPtr untyped, cr_slot to)
{
    return seL4_RISCV_ASIDControl_MakePool(seL4_CapASIDControl, untyped, to.root, to.index,
                                           to.depth);
}

void cr_arch_start_registers(seL4_UserContext *out, seL4_Word entry, seL4_Word stack_top)
{
    *out = (seL4_UserContext){0}; /* a frame pointer and a return address of 0 end a stack trace */
    out->pc = entry;
    out->sp = stack_top;
}

void cr_arch_set_argument(seL4_UserContext *registers, seL4_Word value)
{
    registers->a0 = value;
}

seL4_Word cr_arch_syscall(const seL4_UserContext *registers, seL4_CPtr *invoked)
{
    *invoked = registers->a0;
    return registers->a7;
}

seL4_Word *cr_arch_call_register(seL4_UserContext *registers, uint32_t which)
{
    seL4_Word *const found[CR_CALL_REGISTERS] = {&registers->pc, &registers->a0, &registers->a1};
    return found[which];
}

seL4_Word cr_arch_ip(const seL4_UserContext *registers)
{
    return registers->pc;
}

const uint32_t cr_arch_syscall_bytes = 4;

int cr_arch_is_syscall(const uint8_t *code)
{
    /* ecall */
    return code[0] == 0x73 && code[1] == 0 && code[2] == 0 && code[3] == 0;
}

const char cr_arch_name[] = "riscv64";

const uint16_t cr_arch_elf_machine = 243; /* EM_RISCV */

uint64_t cr_arch_cycles(void)
{
    uint64_t count;
    __asm__ volatile("rdcycle %0" : "=r"(count)); /* the loader lets user level read it */
    return count;
}

uint64_t cr_arch_boot_counter(void)
{
    uint64_t count;
    __asm__ volatile("rdtime %0" : "=r"(count));
    return count;
}

enum {
#define CR_TIMEBASE(platform, hz) +(platform##_ROW == CR_ROW) * hz
    timebase = 0 CR_TIMEBASES
#undef CR_TIMEBASE
};
#ifdef CONFIG_TIMER_FREQUENCY /* since 14.0.0 */
_Static_assert(timebase == CONFIG_TIMER_FREQUENCY, "as the kernel has it");
#endif

uint64_t cr_arch_counter_hz(void)
{
    return timebase;
}
