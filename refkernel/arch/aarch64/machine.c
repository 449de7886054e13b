/* SPDX-License-Identifier: BSD-2-Clause
 *
 * QEMU's machine `virt`: PL011 serial line, GICv2, the virtual timer, and entry to and exit from
 * user mode. */
#include "machine.h"
#include "platforms/aarch64.h"
#include "platforms/platforms.h"

/* the same values as in support/platform_gen.json */
enum { RAM_START = 0x40000000, RAM_END = 0x80000000u };
enum {
    GIC_DISTRIBUTOR = CR_QEMU_ARM_VIRT_GIC_DISTRIBUTOR,
    GIC_CPU = CR_QEMU_ARM_VIRT_GIC_CPU,
    GIC_ENABLE = 0x100,
    GIC_DISABLE = 0x180,
    GIC_TARGETS = 0x800,
    GIC_TRIGGERS = 0xc00
};
enum { GIC_ACKNOWLEDGE = 0xc, GIC_END = 0x10 };
enum { TIMER_INTERRUPT = CR_TIMER_VIRTUAL, FIRST_SHARED = 32, SPURIOUS = 1020 };
enum { TRIGGER_LEVEL, TRIGGER_EDGE, TRIGGER_AS_IS };
enum { EL0_PHYSICAL_COUNTER = 1 << 0, EL0_PHYSICAL_TIMER = 1 << 9 };
enum { CLASS_SYSCALL = 0x15, CLASS_FETCH = 0x20, CLASS_ACCESS = 0x24 };

#define READ(name, value) __asm__ volatile("mrs %0, " #name : "=r"(value))
#define WRITE(name, value) __asm__ volatile("msr " #name ", %0" : : "r"((word)(value)))

static word kernel_top[512] __attribute__((aligned(4096)));
static word kernel_gibs[512] __attribute__((aligned(4096)));
static word no_vspace[512] __attribute__((aligned(4096)));
static word loaded_vspace;
static word tick; /* length of a tick in timer counts */

/* the same values as in support/platform_gen.json: behind the interrupt controller */
const struct region arch_devices = {ARCH_WINDOW + 0x8020000, ARCH_WINDOW + RAM_START};

static volatile uint32_t *device(word address)
{
    return (volatile uint32_t *)(ARCH_WINDOW + address);
}

void arch_put(char c)
{
    /* A serial line that never becomes ready must not stop the kernel. */
    const word uart = CR_QEMU_ARM_VIRT_UART;
    for (int i = 0; i < 1000000 && (*device(uart + CR_UART_PL011_STATUS) & CR_UART_PL011_BIT) != 0;
         i++) {
    }
    *device(uart + CR_UART_PL011_DATA) = (uint8_t)c;
}

_Noreturn void arch_halt(void)
{
    for (;;) {
        __asm__ volatile("wfi");
    }
}

void arch_clear(void *start, word bytes)
{
    volatile word *out = start;
    for (word i = 0; i < bytes / sizeof(word); i++) {
        out[i] = 0;
    }
}

/* -- address spaces. Hardware ASIDs are not used: a change of address space flushes all
 * translations. */

static void flush(void)
{
    __asm__ volatile("dsb ish\n\ttlbi vmalle1\n\tdsb ish\n\tisb" : : : "memory");
}

static void load_vspace(word vspace)
{
    WRITE(ttbr0_el1, vspace - ARCH_WINDOW);
    loaded_vspace = vspace;
    flush();
}

void arch_flush(word vspace)
{
    if (vspace == loaded_vspace) {
        flush();
    }
}

void arch_leave(word vspace)
{
    if (vspace == loaded_vspace) {
        load_vspace((word)no_vspace);
    }
}

/* Maps the window, which replaces the loader's mapping: devices in the first GiB, memory above. */
static void init_window(void)
{
    enum {
        TABLE = 3,
        BLOCK = 1,
        DEVICE = 0,
        NORMAL = 4 << 2,
        INNER_SHAREABLE = 3 << 8,
        ACCESSED = 1 << 10
    };
    kernel_top[511] = ((word)kernel_gibs - ARCH_WINDOW) | TABLE;
    kernel_gibs[0] = BLOCK | DEVICE | ACCESSED | 3ul << 53;
    for (word i = 1; i < ARCH_WINDOW_BYTES >> 30; i++) {
        kernel_gibs[i] = i << 30 | BLOCK | NORMAL | INNER_SHAREABLE | ACCESSED;
    }
    __asm__ volatile("dsb ish" : : : "memory");
    WRITE(ttbr1_el1, (word)kernel_top - ARCH_WINDOW);
    load_vspace((word)no_vspace);
}

static void init_interrupts(void)
{
    word frequency;
    WRITE(vbar_el1, trap_vectors);
    /* Floating point registers are not saved for threads: a thread that uses one gets an
     * exception. */
    WRITE(cpacr_el1, 0);
    /* Users may use the physical timer, which is stopped now. The kernel uses the virtual timer. */
    WRITE(cntkctl_el1, EL0_PHYSICAL_COUNTER | EL0_PHYSICAL_TIMER);
    WRITE(cntp_ctl_el0, 0);
    READ(cntfrq_el0, frequency);
    tick = frequency * CONFIG_TIMER_TICK_MS / 1000;
    WRITE(cntv_tval_el0, tick);
    WRITE(cntv_ctl_el0, 1);
    *device(GIC_DISTRIBUTOR) = 1;
    *device(GIC_DISTRIBUTOR + GIC_ENABLE) = 1u << TIMER_INTERRUPT;
    *device(GIC_CPU + 4) = 0xff; /* all priorities */
    *device(GIC_CPU) = 1;
}

/* -- interrupts of users */

seL4_Error arch_interrupt_request(struct invocation *call, struct interrupt_request *out)
{
    bool trigger = call->label == ARMIRQIssueIRQHandlerTrigger;
    if (!trigger && call->label != IRQIssueIRQHandler) {
        return seL4_IllegalOperation;
    }
    if (call->length < (trigger ? 4u : 3u) || call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    word at = trigger ? 2 : 1;
    *out = (struct interrupt_request){.number = message_get(call->from, 0),
                                      .level = TRIGGER_AS_IS,
                                      .index = message_get(call->from, at),
                                      .depth = message_get(call->from, at + 1)};
    if (trigger) {
        out->level = message_get(call->from, 1) != 0 ? (word)TRIGGER_EDGE : (word)TRIGGER_LEVEL;
    }
    if (out->number >= ARCH_INTERRUPTS) {
        return bad_range(call, 0, ARCH_INTERRUPTS - 1);
    }
    return out->number == TIMER_INTERRUPT ? seL4_RevokeFirst : seL4_NoError;
}

void arch_interrupt_set_up(const struct interrupt_request *request)
{
    word number = request->number;
    if (number >= FIRST_SHARED) {
        ((volatile uint8_t *)device(GIC_DISTRIBUTOR + GIC_TARGETS))[number] =
            1; /* this processor */
    }
    if (request->level != TRIGGER_AS_IS) {
        volatile uint32_t *triggers = device(GIC_DISTRIBUTOR + GIC_TRIGGERS + number / 16 * 4);
        uint32_t edge = 2u << number % 16 * 2;
        *triggers = request->level == TRIGGER_EDGE ? *triggers | edge : *triggers & ~edge;
    }
}

void arch_interrupt_mask(word number, bool masked)
{
    *device(GIC_DISTRIBUTOR + (masked ? (word)GIC_DISABLE : (word)GIC_ENABLE) + number / 32 * 4) =
        1u << number % 32;
}

seL4_Error arch_ports_invoke(struct invocation *call)
{
    (void)call; /* There are no ports. */
    return seL4_IllegalOperation;
}

void arch_ports_released(const struct slot *cap)
{
    panic("a capability to ports, which there are none of", cap->object);
}

/* -- traps */

static void handle_interrupt(void)
{
    uint32_t number = *device(GIC_CPU + GIC_ACKNOWLEDGE);
    word id = number & 0x3ff;
    if (id >= SPURIOUS) {
        return;
    }
    if (id == TIMER_INTERRUPT) {
        WRITE(cntv_tval_el0, tick);
        sched_tick();
    } else if (id < ARCH_INTERRUPTS) {
        interrupt_arrived(id);
    } else {
        panic("an interrupt that was never enabled", id);
    }
    *device(GIC_CPU + GIC_END) = number;
}

static struct context *next_context(void)
{
    sched_choose();
    while (current == 0) {
        /* No thread can run until an interrupt comes. A pending interrupt ends the wait although
         * the kernel does not take it. */
        __asm__ volatile("dsb sy\n\twfi" : : : "memory");
        handle_interrupt();
        sched_choose();
    }
    word vspace = vspace_find(&current->slots[TCB_VSPACE]);
    vspace = vspace != 0 ? vspace : (word)no_vspace;
    if (vspace != loaded_vspace) {
        load_vspace(vspace);
    }
    WRITE(tpidr_el0, current->context.user.tpidr_el0);
    WRITE(tpidrro_el0, current->context.user.tpidrro_el0);
    return &current->context;
}

static void handle_exception(void)
{
    struct fault fault = {0};
    seL4_UserContext *user = &current->context.user;
    word syndrome;
    word address;
    READ(esr_el1, syndrome);
    READ(far_el1, address);
    word kind = syndrome >> 26;
    if (kind == CLASS_SYSCALL) {
        user->pc -= 4; /* It stays at the instruction until the call is done. */
        syscall_handle(user->x7);
        return;
    }
    if (kind == CLASS_FETCH || kind == CLASS_ACCESS) {
        fault.label = seL4_Fault_VMFault;
        fault.length = seL4_VMFault_Length;
        fault.words[seL4_VMFault_IP] = user->pc;
        fault.words[seL4_VMFault_Addr] = address;
        fault.words[seL4_VMFault_PrefetchFault] = kind == CLASS_FETCH;
        fault.words[seL4_VMFault_FSR] = syndrome;
    } else {
        fault.label = seL4_Fault_UserException;
        fault.length = seL4_UserException_Length;
        fault.words[seL4_UserException_FaultIP] = user->pc;
        fault.words[seL4_UserException_SP] = user->sp;
        fault.words[seL4_UserException_SPSR] = user->spsr;
        fault.words[seL4_UserException_Number] = syndrome;
        fault.words[seL4_UserException_Code] = 0;
    }
    fault_send(current, &fault);
}

struct context *trap_handle(word kind)
{
    READ(tpidr_el0, current->context.user.tpidr_el0);
    if (kind == TRAP_SYNCHRONOUS) {
        handle_exception();
    } else if (kind == TRAP_INTERRUPT) {
        handle_interrupt();
    } else {
        panic("an exception that nobody handles; kind", kind);
    }
    return next_context();
}

_Noreturn void trap_in_kernel(word kind)
{
    word syndrome;
    word address;
    word instruction;
    READ(esr_el1, syndrome);
    READ(far_el1, address);
    READ(elr_el1, instruction);
    print("\nexception ");
    print_hex(kind);
    print(" syndrome ");
    print_hex(syndrome);
    print(" address ");
    print_hex(address);
    panic("an exception in the kernel at", instruction);
}

_Noreturn void kernel_main(word image_start, word image_end, word offset, word entry, word fdt,
                           word fdt_bytes)
{
    static struct image image;
    static struct region memory;
    init_window();
    init_interrupts();
    print(BANNER);
    word used = (word)kernel_end - ARCH_WINDOW;
    used = image_end > used ? image_end : used;
    used = fdt + fdt_bytes > used ? fdt + fdt_bytes : used;
    used = (used + MASK(seL4_PageBits)) & ~MASK(seL4_PageBits);
    if (image_start < RAM_START || image_end <= image_start || used >= RAM_END) {
        panic("not entered as seL4 is; image at", image_start);
    }
    word bytes = image_end - image_start;
    image.entry = entry;
    image.count = 1;
    const uint8_t *content = (const uint8_t *)(ARCH_WINDOW + image_start);
    image.segments[0] = (struct image_segment){image_start - offset, bytes, content, bytes};
    memory = (struct region){ARCH_WINDOW + used, ARCH_WINDOW + RAM_END};
    boot_start(&image, &memory, 1);
    /* Pages of the image contain code. */
    __asm__ volatile("dsb ish\n\tic iallu\n\tdsb ish\n\tisb" : : : "memory");
    trap_return(next_context());
}
