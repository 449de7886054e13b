/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Paging, registers and system calls of aarch64, as arch.h declares them. Code that depends on
 * aarch64 must not be placed outside this folder. */
#include "kernel/arch/arch.h"
#include "kernel/arch/levels.h"
#include "kernel/arch/mapped/registers.h"

_Static_assert(seL4_VSpaceBits == (CR_ARCH_TABLE_LEVELS == 2 ? 13 : 12) &&
                   seL4_PageTableIndexBits == 9,
               "as the spans of platforms/aarch64.h have it");

const seL4_Word cr_arch_frame_type = seL4_ARM_SmallPageObject;
const seL4_Word cr_arch_large_type = seL4_ARM_LargePageObject;
_Static_assert((int)seL4_LargePageBits == (int)CR_LARGE_PAGE_BITS, "as protocol.h has it");

seL4_Error cr_arch_map_table(uint32_t level, seL4_CPtr table, seL4_CPtr vspace, seL4_Word vaddr)
{
    (void)level; /* The kernel maps the table at the widest level that is missing at the address. */
    cr_count_call(CR_CALL_MAP);
    return seL4_ARM_PageTable_Map(table, vspace, vaddr, seL4_ARM_Default_VMAttributes);
}

seL4_Error cr_arch_map_frame(seL4_CPtr frame, seL4_CPtr vspace, seL4_Word vaddr, int writable,
                             int executable)
{
    seL4_Word attributes = (seL4_Word)seL4_ARM_Default_VMAttributes;
    if (!executable) {
        attributes |= (seL4_Word)seL4_ARM_ExecuteNever;
    }
    cr_count_call(CR_CALL_MAP);
    return seL4_ARM_Page_Map(frame, vspace, vaddr, writable ? seL4_ReadWrite : seL4_CanRead,
                             (seL4_ARM_VMAttributes)attributes);
}

seL4_Error cr_arch_map_device(seL4_CPtr frame, seL4_CPtr vspace, seL4_Word vaddr, int writable)
{
    /* Without seL4_ARM_PageCacheable it is device memory. */
    cr_count_call(CR_CALL_MAP);
    return seL4_ARM_Page_Map(frame, vspace, vaddr, writable ? seL4_ReadWrite : seL4_CanRead,
                             seL4_ARM_ExecuteNever);
}

uint64_t cr_arch_frame_address(seL4_CPtr frame)
{
    const seL4_ARM_Page_GetAddress_t got = seL4_ARM_Page_GetAddress(frame);
    return got.error ? UINT64_MAX : got.paddr;
}

seL4_Error cr_arch_unmap_frame(seL4_CPtr frame)
{
    cr_count_call(CR_CALL_MAP);
    return seL4_ARM_Page_Unmap(frame);
}

seL4_Error cr_arch_sync_code(seL4_CPtr frame)
{
    cr_count_call(CR_CALL_MAP);
    return seL4_ARM_Page_Unify_Instruction(frame, 0, (seL4_Word)1 << seL4_PageBits);
}

seL4_Error cr_arch_assign_asid(seL4_CPtr pool, seL4_CPtr vspace)
{
    cr_count_call(CR_CALL_CONFIGURE);
    return seL4_ARM_ASIDPool_Assign(pool, vspace);
}

seL4_Error cr_arch_make_asid_pool(seL4_CPtr untyped, cr_slot to)
{
    return seL4_ARM_ASIDControl_MakePool(seL4_CapASIDControl, untyped, to.root, to.index, to.depth);
}

void cr_arch_start_registers(seL4_UserContext *out, seL4_Word entry, seL4_Word stack_top)
{
    *out = (seL4_UserContext){0}; /* a frame pointer and a return address of 0 end a stack trace */
    out->pc = entry;
    out->sp = stack_top;
}

void cr_arch_set_argument(seL4_UserContext *registers, seL4_Word value)
{
    registers->x0 = value;
}

seL4_Word cr_arch_syscall(const seL4_UserContext *registers, seL4_CPtr *invoked)
{
    *invoked = registers->x0;
    return registers->x7;
}

seL4_Word *cr_arch_call_register(seL4_UserContext *registers, uint32_t which)
{
    seL4_Word *const found[CR_CALL_REGISTERS] = {&registers->pc, &registers->x0, &registers->x1};
    return found[which];
}

seL4_Word cr_arch_ip(const seL4_UserContext *registers)
{
    return registers->pc;
}

const uint32_t cr_arch_syscall_bytes = 4;

int cr_arch_is_syscall(const uint8_t *code)
{
    /* svc #imm16: the immediate is in bits 5 to 20 */
    return (code[0] & 0x1f) == 0x01 && (code[2] & 0xe0) == 0 && code[3] == 0xd4;
}

const char cr_arch_name[] = "aarch64";

const uint16_t cr_arch_elf_machine = 183; /* EM_AARCH64 */

uint64_t cr_arch_cycles(void)
{
    uint64_t count = 0;
#ifdef CONFIG_EXPORT_VCNT_USER
    /* The isb prevents the CPU from reading the counter before earlier instructions complete. */
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count));
#endif
    return count; /* Without that option the kernel denies user threads access to the counter. */
}

/* Below a kernel in EL2, QEMU 7.2 denies the counter to those who have no timer. */
#if defined(CONFIG_EXPORT_PCNT_USER) &&                                                            \
    (defined(CONFIG_EXPORT_PTMR_USER) || !defined(CONFIG_ARM_HYPERVISOR_SUPPORT))
#define HAS_COUNTER
#endif

uint64_t cr_arch_boot_counter(void)
{
#ifdef HAS_COUNTER
    uint64_t count;
    __asm__ volatile("isb\n\tmrs %0, cntpct_el0" : "=r"(count));
    return count;
#else
    return cr_arch_cycles();
#endif
}

uint64_t cr_arch_counter_hz(void)
{
    uint64_t hz = 0;
#ifdef HAS_COUNTER
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
#endif
    return hz;
}
