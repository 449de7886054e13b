/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The PC: serial line, segments, and entry to and exit from user mode. */
#include "machine.h"
#include "platforms/platforms.h"

#define COM1 ((uint16_t)CR_PC99_UART)
enum { SEL_KERNEL_CODE = 0x08, SEL_KERNEL_DATA = 0x10, SEL_TSS = 0x30 };
enum {
    MSR_EFER = 0xc0000080u,
    MSR_STAR,
    MSR_LSTAR,
    MSR_SFMASK = 0xc0000084u,
    MSR_FS_BASE = 0xc0000100u,
    MSR_GS_BASE
};
enum { FLAGS_OFF_IN_KERNEL = 0x47700 }; /* TF IF DF IOPL NT AC */
enum { VECTOR_PAGE_FAULT = 14, FETCH = 16, CR0_TS = 8 };

struct context *trap_context;
static word loaded_vspace;

static void write_msr(uint32_t msr, word value)
{
    __asm__ volatile("wrmsr" : : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)));
}

void arch_put(char c)
{
    /* A serial line that never becomes ready must not stop the kernel. */
    for (int i = 0; i < 1000000 && (in8(COM1 + CR_UART_16550_STATUS) & CR_UART_16550_BIT) == 0;
         i++) {
    }
    out8(COM1, (uint8_t)c);
}

_Noreturn void arch_halt(void)
{
    for (;;) {
        __asm__ volatile("cli; hlt");
    }
}

void arch_clear(void *start, word bytes)
{
    word count = bytes / sizeof(word);
    __asm__ volatile("rep stosq" : "+D"(start), "+c"(count) : "a"(0ul) : "memory");
}

/* -- segments and interrupts */

struct interrupt_gate {
    uint16_t low, selector, flags, middle;
    uint32_t high, zero;
};

static struct interrupt_gate gates[256];
/* Null, kernel code and data, one unused, user data and code, and the TSS, which takes two. */
static word segments[8] = {0, 0x00af9b000000ffff, 0x00cf93000000ffff,
                           0, 0x00cff3000000ffff, 0x00affb000000ffff};
static uint32_t tss[26];

static void init_serial(void)
{
    static const uint8_t setup[][2] = {{1, 0}, {3, 0x80}, {0, 1},   {1, 0},
                                       {3, 3}, {2, 0xc7}, {4, 0x0b}};
    for (size_t i = 0; i < sizeof(setup) / sizeof(setup[0]); i++) {
        out8((uint16_t)(COM1 + setup[i][0]), setup[i][1]);
    }
}

static void init_segments(void)
{
    struct {
        uint16_t pad[3], limit;
        word base;
    } table = {{0}, sizeof(segments) - 1, (word)segments};
    word stack = (word)kernel_stack_top;
    word base = (word)tss;
    tss[1] = (uint32_t)stack;
    tss[2] = (uint32_t)(stack >> 32);
    tss[25] = sizeof(tss) << 16; /* no bitmap: users have no ports */
    segments[6] =
        (sizeof(tss) - 1) | (base & 0xffffff) << 16 | 0x89ul << 40 | (base >> 24 & 0xff) << 56;
    segments[7] = base >> 32;
    __asm__ volatile("lgdt %0" : : "m"(table.limit), "m"(table));
    __asm__ volatile("ltr %w0" : : "r"(SEL_TSS));
}

static void init_gates(void)
{
    struct {
        uint16_t pad[3], limit;
        word base;
    } table = {{0}, sizeof(gates) - 1, (word)gates};
    for (int i = 0; i < TRAP_VECTORS; i++) {
        word entry = trap_entries[i];
        gates[i] = (struct interrupt_gate){(uint16_t)entry,         SEL_KERNEL_CODE,         0x8e00,
                                           (uint16_t)(entry >> 16), (uint32_t)(entry >> 32), 0};
    }
    gates[3].flags = 0xee00; /* users may execute a breakpoint */
    __asm__ volatile("lidt %0" : : "m"(table.limit), "m"(table));
}

void machine_init(void)
{
    word cr0;
    init_serial();
    init_segments();
    init_gates();
    interrupts_init();
    write_msr(MSR_STAR, (word)SEL_KERNEL_CODE << 32);
    write_msr(MSR_LSTAR, (word)trap_syscall);
    write_msr(MSR_SFMASK, FLAGS_OFF_IN_KERNEL);
    /* Floating point registers are not saved for threads: a thread that uses one gets an
     * exception. */
    __asm__ volatile("mov %%cr0, %0" : "=r"(cr0));
    __asm__ volatile("mov %0, %%cr0" : : "r"(cr0 | CR0_TS));
}

/* -- address spaces */

static void load_vspace(word physical)
{
    __asm__ volatile("mov %0, %%cr3" : : "r"(physical) : "memory");
    loaded_vspace = physical;
}

void arch_flush(word vspace)
{
    if (vspace - ARCH_WINDOW == loaded_vspace) {
        load_vspace(loaded_vspace);
    }
}

void arch_leave(word vspace)
{
    if (vspace - ARCH_WINDOW == loaded_vspace) {
        load_vspace((word)boot_pml4);
    }
}

/* -- traps */

/* No thread can run until an interrupt comes. trap.S handles the interrupt on the kernel's
 * stack, from its beginning. */
static _Noreturn void idle(void)
{
    for (;;) {
        __asm__ volatile("sti; hlt; cli" : : : "memory");
    }
}

/* Prepares the return to the current thread. Does not return if there is none. */
static void switch_to_current(void)
{
    static word fs_base, gs_base;
    sched_choose();
    if (current == 0) {
        idle();
    }
    word vspace = vspace_find(&current->slots[TCB_VSPACE]);
    word physical = vspace != 0 ? vspace - ARCH_WINDOW : (word)boot_pml4;
    if (physical != loaded_vspace) {
        load_vspace(physical);
    }
    trap_context = &current->context;
    if (trap_context->user.fs_base != fs_base) {
        fs_base = trap_context->user.fs_base;
        write_msr(MSR_FS_BASE, fs_base);
    }
    if (trap_context->user.gs_base != gs_base) {
        gs_base = trap_context->user.gs_base;
        write_msr(MSR_GS_BASE, gs_base);
    }
}

static void handle_exception(word vector, word code)
{
    struct fault fault = {0};
    const seL4_UserContext *user = &current->context.user;
    if (vector == VECTOR_PAGE_FAULT) {
        word address;
        __asm__ volatile("mov %%cr2, %0" : "=r"(address));
        fault.label = seL4_Fault_VMFault;
        fault.length = seL4_VMFault_Length;
        fault.words[seL4_VMFault_IP] = user->rip;
        fault.words[seL4_VMFault_Addr] = address;
        fault.words[seL4_VMFault_PrefetchFault] = (code & FETCH) != 0;
        fault.words[seL4_VMFault_FSR] = code;
    } else {
        fault.label = seL4_Fault_UserException;
        fault.length = seL4_UserException_Length;
        fault.words[seL4_UserException_FaultIP] = user->rip;
        fault.words[seL4_UserException_SP] = user->rsp;
        fault.words[seL4_UserException_FLAGS] = user->rflags;
        fault.words[seL4_UserException_Number] = vector;
        fault.words[seL4_UserException_Code] = code;
    }
    fault_send(current, &fault);
}

void trap_handle(word vector, word code)
{
    if (vector == TRAP_SYSCALL) {
        syscall_handle(current->context.user.rdx);
    } else if (vector < TRAP_TIMER) {
        handle_exception(vector, code);
    } else if (vector == TRAP_TIMER) {
        sched_tick();
        interrupts_end();
    } else if (vector >= TRAP_USER) {
        interrupt_arrived(vector - TRAP_USER);
        interrupts_end();
    } /* else: a spurious interrupt */
    switch_to_current();
}

_Noreturn void trap_in_kernel(word vector, word code, word instruction)
{
    word address;
    __asm__ volatile("mov %%cr2, %0" : "=r"(address));
    print("\nexception ");
    print_hex(vector);
    print(" code ");
    print_hex(code);
    print(" address ");
    print_hex(address);
    panic("an exception in the kernel at", instruction);
}

/* -- boot */

enum {
    MULTIBOOT_LOADED = 0x2badb002,
    MULTIBOOT_MODULES = 1 << 3,
    MULTIBOOT_MMAP = 1 << 6,
    REGIONS = 16
};

struct multiboot_info {
    uint32_t flags, mem_lower, mem_upper, boot_device, command_line, modules, module_list,
        symbols[4], mmap_bytes, mmap;
};

struct multiboot_module {
    uint32_t start, end, text, reserved;
};

struct multiboot_memory {
    /* bytes: of the rest of the entry */
    uint32_t bytes, base_low, base_high, length_low, length_high, type;
};

static const void *at_physical(word address)
{
    return (const void *)(ARCH_WINDOW + address);
}

/* Finds usable memory above `from` inside the window. */
static word find_memory(const struct multiboot_info *info, word from, struct region *out)
{
    word count = 0;
    for (word at = 0; at < info->mmap_bytes && count < REGIONS;) {
        const struct multiboot_memory *entry = at_physical(info->mmap + at);
        word start = entry->base_low | (word)entry->base_high << 32;
        word end = start + (entry->length_low | (word)entry->length_high << 32);
        at += entry->bytes + sizeof(entry->bytes);
        start = start < from ? from : start;
        end = end > ARCH_WINDOW_BYTES ? ARCH_WINDOW_BYTES : end;
        start = (start + MASK(seL4_PageBits)) & ~MASK(seL4_PageBits);
        end &= ~MASK(seL4_PageBits);
        if (entry->type == 1 && start < end) {
            out[count++] = (struct region){ARCH_WINDOW + start, ARCH_WINDOW + end};
        }
    }
    return count;
}

/* The HPET, and what is behind it: the interrupt controllers are around it. */
const struct region arch_devices = {ARCH_WINDOW + 0xfed00000, ARCH_WINDOW + 0xfee00000};

_Noreturn void kernel_main(uint32_t magic, uint32_t info_address)
{
    static struct region memory[REGIONS];
    static struct image image;
    machine_init();
    print(BANNER);
    const struct multiboot_info *info = at_physical(info_address);
    if (magic != MULTIBOOT_LOADED || (info->flags & MULTIBOOT_MMAP) == 0) {
        panic("not loaded by a Multiboot 1 loader that tells the memory", magic);
    }
    if ((info->flags & MULTIBOOT_MODULES) == 0 || info->modules != 1) {
        panic("expected one Multiboot module, the root task; modules:", info->modules);
    }
    const struct multiboot_module *module = at_physical(info->module_list);
    word end = (word)kernel_end;
    end = module->end > end ? module->end : end;
    word regions = find_memory(info, end, memory);
    elf_read(at_physical(module->start), module->end - module->start, &image);
    boot_start(&image, memory, regions);
    switch_to_current();
    trap_return();
}
