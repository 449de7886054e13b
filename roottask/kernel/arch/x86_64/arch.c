/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Paging, registers and system calls of x86_64, as arch.h declares them. Code that depends on
 * x86_64 must not be placed outside this folder. */
#include "kernel/arch/arch.h"
#include "kernel/arch/levels.h"

const seL4_Word cr_arch_frame_type = seL4_X86_4K;
const seL4_Word cr_arch_large_type = seL4_X86_LargePageObject;
_Static_assert((int)seL4_LargePageBits == (int)CR_LARGE_PAGE_BITS, "as protocol.h has it");

seL4_Error cr_arch_map_table(uint32_t level, seL4_CPtr table, seL4_CPtr vspace, seL4_Word vaddr)
{
    cr_count_call(CR_CALL_MAP);
    switch (level) {
    case 0:
        return seL4_X86_PDPT_Map(table, vspace, vaddr, seL4_X86_Default_VMAttributes);
    case 1:
        return seL4_X86_PageDirectory_Map(table, vspace, vaddr, seL4_X86_Default_VMAttributes);
    case 2:
        return seL4_X86_PageTable_Map(table, vspace, vaddr, seL4_X86_Default_VMAttributes);
    default:
        return seL4_InvalidArgument;
    }
}

seL4_Error cr_arch_map_frame(seL4_CPtr frame, seL4_CPtr vspace, seL4_Word vaddr, int writable,
                             int executable)
{
    (void)executable; /* seL4 has no execute-never attribute on x86_64. */
    cr_count_call(CR_CALL_MAP);
    return seL4_X86_Page_Map(frame, vspace, vaddr, writable ? seL4_ReadWrite : seL4_CanRead,
                             seL4_X86_Default_VMAttributes);
}

seL4_Error cr_arch_map_device(seL4_CPtr frame, seL4_CPtr vspace, seL4_Word vaddr, int writable)
{
    cr_count_call(CR_CALL_MAP);
    return seL4_X86_Page_Map(frame, vspace, vaddr, writable ? seL4_ReadWrite : seL4_CanRead,
                             seL4_X86_Uncacheable);
}

uint64_t cr_arch_frame_address(seL4_CPtr frame)
{
    const seL4_X86_Page_GetAddress_t got = seL4_X86_Page_GetAddress(frame);
    return got.error ? UINT64_MAX : got.paddr;
}

seL4_Error cr_arch_unmap_frame(seL4_CPtr frame)
{
    cr_count_call(CR_CALL_MAP);
    return seL4_X86_Page_Unmap(frame);
}

seL4_Error cr_arch_sync_code(seL4_CPtr frame)
{
    (void)frame; /* Instruction fetches see all stores. */
    return seL4_NoError;
}

seL4_Error cr_arch_assign_asid(seL4_CPtr pool, seL4_CPtr vspace)
{
    cr_count_call(CR_CALL_CONFIGURE);
    return seL4_X86_ASIDPool_Assign(pool, vspace);
}

seL4_Error cr_arch_make_asid_pool(seL4_CPtr untyped, cr_slot to)
{
    return seL4_X86_ASIDControl_MakePool(seL4_CapASIDControl, untyped, to.root, to.index, to.depth);
}

void cr_arch_start_registers(seL4_UserContext *out, seL4_Word entry, seL4_Word stack_top)
{
    *out = (seL4_UserContext){0};
    out->rip = entry;
    out->rsp = stack_top;
    out->rflags = 0x202; /* the bit that is always set, and the bit that enables interrupts */
}

void cr_arch_set_argument(seL4_UserContext *registers, seL4_Word value)
{
    registers->rdi = value;
}

seL4_Word cr_arch_syscall(const seL4_UserContext *registers, seL4_CPtr *invoked)
{
    *invoked = registers->rdi;
    return registers->rdx;
}

seL4_Word *cr_arch_call_register(seL4_UserContext *registers, uint32_t which)
{
    seL4_Word *const found[CR_CALL_REGISTERS] = {&registers->rip, &registers->rdi, &registers->rsi};
    return found[which];
}

seL4_Word cr_arch_ip(const seL4_UserContext *registers)
{
    return registers->rip;
}

const uint32_t cr_arch_syscall_bytes = 2;

int cr_arch_is_syscall(const uint8_t *code)
{
    return code[0] == 0x0f && (code[1] == 0x05 || code[1] == 0x34); /* syscall, sysenter */
}

const char cr_arch_name[] = "x86_64";

const uint16_t cr_arch_elf_machine = 62; /* EM_X86_64 */

#ifdef CONFIG_PRINTING
/* For its statistics, a debug kernel looks for the argument of each system call in the caller's
 * CSpace, even if it names no capability. With a bit above the character, which the kernel drops,
 * the look-up ends at the guard of the first CNode, which is 0. */
void cr_arch_print(char c)
{
#ifdef CONFIG_SYSENTER
    seL4_DebugPutChar(c);
#else
    const seL4_Word nowhere = (seL4_Word)1 << (seL4_WordBits - 1);
    __asm__ volatile("movq %%rsp, %%rbx\n\tsyscall\n\tmovq %%rbx, %%rsp"
                     :
                     : "d"((seL4_Word)seL4_SysDebugPutChar), "D"(nowhere | (uint8_t)c), "S"(0)
                     : "rcx", "rbx", "r11", "memory");
#endif
}
#endif

uint64_t cr_arch_cycles(void)
{
    uint32_t low;
    uint32_t high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return ((uint64_t)high << 32) | low;
}

uint64_t cr_arch_boot_counter(void)
{
    return cr_arch_cycles();
}

uint64_t cr_arch_counter_hz(void)
{
    return 0;
}
