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

enum { EM_AARCH64 = 183 };

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

const cr_arch_register cr_arch_registers[] = {
    {"pc", offsetof(seL4_UserContext, pc)},
    {"sp", offsetof(seL4_UserContext, sp)},
    {"x0", offsetof(seL4_UserContext, x0)},
    {"x1", offsetof(seL4_UserContext, x1)},
    {"x2", offsetof(seL4_UserContext, x2)},
    {"x3", offsetof(seL4_UserContext, x3)},
    {"x4", offsetof(seL4_UserContext, x4)},
    {"x5", offsetof(seL4_UserContext, x5)},
    {"x6", offsetof(seL4_UserContext, x6)},
    {"x7", offsetof(seL4_UserContext, x7)},
    {"x8", offsetof(seL4_UserContext, x8)},
    {"x9", offsetof(seL4_UserContext, x9)},
    {"x10", offsetof(seL4_UserContext, x10)},
    {"x11", offsetof(seL4_UserContext, x11)},
    {"x12", offsetof(seL4_UserContext, x12)},
    {"x13", offsetof(seL4_UserContext, x13)},
    {"x14", offsetof(seL4_UserContext, x14)},
    {"x15", offsetof(seL4_UserContext, x15)},
    {"x16", offsetof(seL4_UserContext, x16)},
    {"x17", offsetof(seL4_UserContext, x17)},
    {"x18", offsetof(seL4_UserContext, x18)},
    {"x19", offsetof(seL4_UserContext, x19)},
    {"x20", offsetof(seL4_UserContext, x20)},
    {"x21", offsetof(seL4_UserContext, x21)},
    {"x22", offsetof(seL4_UserContext, x22)},
    {"x23", offsetof(seL4_UserContext, x23)},
    {"x24", offsetof(seL4_UserContext, x24)},
    {"x25", offsetof(seL4_UserContext, x25)},
    {"x26", offsetof(seL4_UserContext, x26)},
    {"x27", offsetof(seL4_UserContext, x27)},
    {"x28", offsetof(seL4_UserContext, x28)},
    {"x29", offsetof(seL4_UserContext, x29)},
    {"x30", offsetof(seL4_UserContext, x30)},
    {"cpsr", offsetof(seL4_UserContext, spsr)},
    {"tpidr_el0", offsetof(seL4_UserContext, tpidr_el0)},
    {"tpidrro_el0", offsetof(seL4_UserContext, tpidrro_el0)},
};
const uint32_t cr_arch_register_count = sizeof(cr_arch_registers) / sizeof(cr_arch_registers[0]);
_Static_assert(sizeof(cr_arch_registers) / sizeof(cr_arch_registers[0]) ==
                   sizeof(seL4_UserContext) / sizeof(seL4_Word),
               "every register has a name");

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

uint16_t cr_arch_elf_machine(void)
{
    return EM_AARCH64;
}

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
