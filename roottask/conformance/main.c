/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The main program of the conformance image: it sets up the image, runs the checks, and prints
 * one line for each check and one at the end. */
#include "conformance.h"
#include "kernel/arch/timer_device.h"
#include "kernel/timer.h"
#include "kernel/uart.h"
#include "kernel/untyped.h"
#include <cellreap/trace.h>

enum { ROOT_STACK = 32768, IDLE_STACK = 4096, WORKER_STACK = 4096, OWN_BLOCK_BITS = 13, TEXT = 24 };
enum {
    SAVED = 3, /* callers at once that a check answers later */
    /* On an emulated machine that others keep waiting, a thread's usual time may end anywhere, and
     * the thread goes to the end of its queue. This is longer than any check needs. */
    SLICE_US = 50000
};

_Alignas(16) char cr_root_stack[ROOT_STACK];
__asm__(".globl cr_root_stack_top\n.set cr_root_stack_top, cr_root_stack + 32768");
_Static_assert(ROOT_STACK == 32768, "as in the line above");

/* Aligned to their size, because a worker finds its own number from the address of its stack. */
static _Alignas(WORKER_STACK) char worker_stacks[CF_WORKERS][WORKER_STACK];
static _Alignas(CF_PAGE) char worker_buffers[CF_WORKERS][CF_PAGE];
static _Alignas(16) char idle_stack[IDLE_STACK];
_Alignas(CF_PAGE) uint8_t cf_window[CF_PAGE];

volatile cf_worker cf_workers[CF_WORKERS];
volatile uint32_t cf_clock;
seL4_CPtr cf_untyped;

static const seL4_BootInfo *boot_info;
static seL4_CPtr idle_done;  /* the idle thread has run, so no other thread could */
static seL4_CPtr idle_again; /* tells the idle thread to look again */
static seL4_CPtr nothing;    /* a notification that is never signalled */
static uint32_t n_workers;
static uint32_t next_slot = CF_FIRST_SLOT;

/* State of the running check. */
static struct {
    int failed;
    uint32_t assertions;
    uint32_t at; /* number of the assertion that failed */
    uint64_t got;
    uint64_t expected;
} now;

void cr_root_main(const seL4_BootInfo *info);

/* -- set-up */

/* The idle thread has the lowest priority. Whenever it runs, all other threads wait. */
_Noreturn void cr_idle_main(void)
{
    for (;;) {
        seL4_Signal(idle_done);
        cr_wait_for(idle_again);
    }
}

static void must(seL4_Error error, const char *what)
{
    if (error) {
        cr_panic(what, (uint64_t)error);
    }
}

static seL4_CPtr own(seL4_CPtr untyped, seL4_Word type)
{
    seL4_CPtr cap = cr_cptr(CR_L1_POOL, cr_pool_take(CR_POOL_OWN));
    must(cr_retype(untyped, type, 0, CR_L1_POOL, (uint32_t)cap, 1),
         "an object of the root task's own cannot be made");
    return cap;
}

static void start_idle_thread(seL4_CPtr tcb, seL4_CPtr sc)
{
    seL4_UserContext registers;
    cr_arch_start_registers(&registers, (seL4_Word)cr_idle_start,
                            (seL4_Word)(idle_stack + IDLE_STACK));
    must(seL4_TCB_SetSpace(tcb, 0, cr_l1_cnode(), cr_l1_data(), seL4_CapInitThreadVSpace, 0),
         "no space for the idle thread");
    must(cr_set_priority(tcb, 0, sc, 0), "no priority for the idle thread");
    must(cr_write_registers(tcb, 1, &registers), "the idle thread does not start");
}

/* Large enough for what the checks make. */
static const cr_image_tables tables = {.pds = 2,
                                       .nodes = 5,
                                       .edges = 1,
                                       .spaces = 2,
                                       .types = 2,
                                       .requests = 1,
                                       .tombstones = 2 * CR_TOMBSTONES_EACH,
                                       .tickets = 1,
                                       .maps = 1,
                                       .slots = 2 << CR_CSPACE_BITS_MIN,
                                       .pairs = 4,
                                       .bodies = 2048,
                                       .pool = 16384,
                                       .blocks = 2048};

static void set_up(const seL4_BootInfo *info)
{
    uint32_t own_block;
    uint32_t block;
    boot_info = info;
    extern char cr_image_base[];
    (void)cr_uart_console(info, (uintptr_t)cr_image_base); /* else nothing is heard */
    seL4_SetIPCBuffer(info->ipcBuffer);
    if (cr_tables_size(&tables) != CR_OK ||
        cr_cspace_init(info, cr_untyped_of_cspace(info)) != CR_OK ||
        cr_untyped_init(info) != CR_OK || cr_tables_init() != CR_OK ||
        cr_untyped_take(OWN_BLOCK_BITS, 0, &own_block) != CR_OK ||
        cr_untyped_take(CF_UNTYPED_BITS, 0, &block) != CR_OK) {
        cr_panic("the kernel gave too little to start with",
                 info->untyped.end - info->untyped.start);
    }
    cr_time_init(info, SAVED);
    cr_device_prepare(info, (uintptr_t)cr_image_base);
    cf_untyped = cr_untyped_cap(block);
    seL4_CPtr untyped = cr_untyped_cap(own_block);
    seL4_CPtr tcb = own(untyped, seL4_TCBObject);
    idle_done = own(untyped, seL4_NotificationObject);
    idle_again = own(untyped, seL4_NotificationObject);
    nothing = own(untyped, seL4_NotificationObject);
    start_idle_thread(tcb, cr_make_sc(untyped));
    must(cr_arch_unmap_frame(cf_window_frame()), "a page of the image cannot be unmapped");
}

const seL4_BootInfo *cf_info(void)
{
    return boot_info;
}

seL4_CPtr cf_image_frame(const volatile void *address)
{
    extern char cr_image_base[];
    return cr_image_frame(boot_info, (uintptr_t)cr_image_base, (const void *)(uintptr_t)address);
}

seL4_CPtr cf_window_frame(void)
{
    return cf_image_frame(cf_window);
}

/* -- assertions and output */

void cf_is(uint64_t got, uint64_t expected)
{
    now.assertions++;
    if (got != expected && !now.failed) {
        now.failed = 1;
        now.at = now.assertions;
        now.got = got;
        now.expected = expected;
    }
}

static void print_hex(const char *before, uint64_t value)
{
    char text[TEXT];
    cr_format_hex(text, value);
    cr_console_string(before);
    cr_console_string(text);
}

static void print_decimal(const char *before, uint64_t value)
{
    char text[TEXT];
    cr_format_decimal(text, value);
    cr_console_string(before);
    cr_console_string(text);
}

/* The kernel may have printed text of its own, so each result starts on a new line. */
static void print_result(const char *name)
{
    cr_console_string("\nconformance: ");
    cr_console_string(name);
    if (!now.failed) {
        cr_console_string(": ok\n");
        return;
    }
    print_hex(": FAILED (got 0x", now.got);
    print_hex(", expected 0x", now.expected);
    print_decimal(", assertion ", now.at);
    cr_console_string(")\n");
}

/* -- objects */

seL4_CPtr cf_slots(uint32_t count)
{
    seL4_CPtr first = cr_cptr(CR_L1_POOL, next_slot);
    if (next_slot + count > cr_most.pool) {
        cr_panic("a check uses more slots than there are", next_slot);
    }
    next_slot += count;
    return first;
}

seL4_Error cf_retype(seL4_CPtr untyped, seL4_Word type, seL4_Word bits, seL4_CPtr to,
                     uint32_t count)
{
    return cr_retype(untyped, type, bits, CR_L1_POOL, (uint32_t)to, count);
}

seL4_CPtr cf_make(seL4_Word type, seL4_Word bits, uint32_t count)
{
    seL4_CPtr first = cf_slots(count);
    cf_is(cf_retype(cf_untyped, type, bits, first, count), seL4_NoError);
    return first;
}

seL4_CPtr cf_endpoint(void)
{
    return cf_make(seL4_EndpointObject, 0, 1);
}

seL4_CPtr cf_notification(void)
{
    return cf_make(seL4_NotificationObject, 0, 1);
}

seL4_CPtr cf_frame(void)
{
    return cf_make(cr_arch_frame_type, seL4_PageBits, 1);
}

seL4_CPtr cf_copy(seL4_CPtr from, seL4_CapRights_t rights)
{
    seL4_CPtr to = cf_slots(1);
    cf_is(cr_copy(cr_slot_at(to), cr_slot_at(from), rights), seL4_NoError);
    return to;
}

seL4_CPtr cf_mint(seL4_CPtr from, seL4_CapRights_t rights, seL4_Word badge)
{
    seL4_CPtr to = cf_slots(1);
    cf_is(cr_mint(cr_slot_at(to), cr_slot_at(from), rights, badge), seL4_NoError);
    return to;
}

int cf_empty_in(cr_slot at)
{
    seL4_CPtr to = cf_slots(1);
    seL4_Error error = cr_copy(cr_slot_at(to), at, seL4_AllRights);
    (void)cr_delete(cr_slot_at(to));
    return error == seL4_FailedLookup;
}

int cf_empty(seL4_CPtr at)
{
    return cf_empty_in(cr_slot_at(at));
}

/* -- workers */

static void worker_main(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    volatile cf_worker *self = &cf_workers[(here - (uintptr_t)worker_stacks) / WORKER_STACK];
    self->run(self);
    for (;;) {
        cr_wait_for(nothing);
    }
}

volatile seL4_IPCBuffer *cf_buffer(volatile cf_worker *worker)
{
    return (volatile seL4_IPCBuffer *)(void *)worker_buffers[worker - cf_workers];
}

static void write_start(volatile cf_worker *worker, int resume)
{
    seL4_UserContext registers;
    cr_arch_start_registers(&registers, (seL4_Word)worker_main,
                            (seL4_Word)(worker_stacks[worker - cf_workers] + WORKER_STACK) - 16);
    cf_is(cr_write_registers(worker->tcb, resume, &registers), seL4_NoError);
}

void cf_go_anew(volatile cf_worker *worker)
{
    cf_is(cr_suspend(worker->tcb), seL4_NoError);
    write_start(worker, 1);
}

volatile cf_worker *cf_worker_make_in(void (*run)(volatile cf_worker *self), seL4_CPtr cap,
                                      seL4_CPtr fault, seL4_CPtr cspace, seL4_Word data)
{
    if (n_workers == CF_WORKERS) {
        cr_panic("a check uses more workers than there are", n_workers);
    }
    uint32_t index = n_workers++;
    volatile cf_worker *w = &cf_workers[index];
    seL4_Word buffer = (seL4_Word)worker_buffers[index];
    *w = (cf_worker){.run = run, .cap = cap, .tcb = cf_make(seL4_TCBObject, 0, 1)};
    if (CR_MCS) {
        w->reply = cf_make((seL4_Word)CR_REPLY_OBJECT, 0, 1);
        w->sc = cf_make((seL4_Word)CR_SC_OBJECT, CR_SC_BITS, 1);
        cf_is(cr_give_time(w->sc, (cr_time){SLICE_US, SLICE_US, 0}, 0), seL4_NoError);
    }
    cf_is(cr_set_spaces(w->tcb, fault, cspace, data, seL4_CapInitThreadVSpace, buffer,
                        cf_image_frame(worker_buffers[index])),
          seL4_NoError);
    cf_is(cr_set_priority(w->tcb, CF_PRIORITY, w->sc, fault), seL4_NoError);
    write_start(w, 0);
    return w;
}

volatile cf_worker *cf_worker_make(void (*run)(volatile cf_worker *self), seL4_CPtr cap,
                                   seL4_CPtr fault)
{
    return cf_worker_make_in(run, cap, fault, cr_l1_cnode(), cr_l1_data());
}

volatile cf_worker *cf_start(void (*run)(volatile cf_worker *self), seL4_CPtr cap, seL4_CPtr fault)
{
    volatile cf_worker *w = cf_worker_make(run, cap, fault);
    cf_go(w);
    return w;
}

void cf_set_priority(volatile cf_worker *worker, seL4_Word priority)
{
    cf_is(seL4_TCB_SetPriority(worker->tcb, seL4_CapInitThreadTCB, priority), seL4_NoError);
}

void cf_go(volatile cf_worker *worker)
{
    cf_is(cr_resume(worker->tcb), seL4_NoError);
}

seL4_Word cf_image_pages(void)
{
    extern char cr_image_base[];
    extern char cr_root_end[];
    return ((uintptr_t)cr_root_end - (uintptr_t)cr_image_base + CF_PAGE - 1) / CF_PAGE;
}

seL4_CPtr cf_vspace(seL4_CPtr untyped)
{
    extern char cr_image_base[];
    seL4_Word base = (seL4_Word)cr_image_base;
    seL4_CPtr vspace = cf_slots(1);
    cf_is(cf_retype(untyped, cr_arch_vspace_type, cr_arch_vspace_bits, vspace, 1), seL4_NoError);
    cf_is(cr_arch_assign_asid(seL4_CapInitThreadASIDPool, vspace), seL4_NoError);
    /* The image is small and needs only one table of each level. */
    for (uint32_t level = 0; level < CR_ARCH_TABLE_LEVELS; level++) {
        seL4_CPtr table = cf_slots(1);
        seL4_Word span = (seL4_Word)1 << cr_arch_table_span[level];
        cf_is(cf_retype(untyped, cr_arch_table_type[level], cr_arch_table_bits[level], table, 1),
              seL4_NoError);
        cf_is(cr_arch_map_table(level, table, vspace, base & ~(span - 1)), seL4_NoError);
    }
    for (seL4_Word page = 0; page < cf_image_pages(); page++) {
        seL4_CPtr frame = boot_info->userImageFrames.start + page;
        seL4_Word vaddr = base + page * CF_PAGE;
        if (frame != cf_window_frame()) {
            cf_is(cr_arch_map_frame(cf_copy(frame, seL4_AllRights), vspace, vaddr, 1, 1),
                  seL4_NoError);
        }
    }
    return vspace;
}

void cf_move_to(volatile cf_worker *worker, seL4_CPtr vspace, seL4_CPtr fault)
{
    cf_is(seL4_TCB_SetSpace(worker->tcb, fault, cr_l1_cnode(), cr_l1_data(), vspace, 0),
          seL4_NoError);
}

void cf_settle(void)
{
    seL4_Word badge;
    seL4_Signal(idle_again);
    seL4_Wait(idle_done, &badge);
}

void cf_wake_root(void)
{
    seL4_Signal(idle_done);
}

static void note_done(volatile cf_worker *self)
{
    self->progress++;
    self->order = ++cf_clock;
}

static void note_message(volatile cf_worker *self, seL4_MessageInfo_t tag, const seL4_Word *words)
{
    self->label = seL4_MessageInfo_get_label(tag);
    self->length = seL4_MessageInfo_get_length(tag);
    self->extra = seL4_MessageInfo_get_extraCaps(tag);
    for (uint32_t i = 0; i < 4; i++) {
        self->words[i] = words[i];
    }
    note_done(self);
}

void cf_do_call(volatile cf_worker *self)
{
    seL4_Word words[4] = {self->words[0], self->words[1], self->words[2], self->words[3]};
    seL4_MessageInfo_t tag =
        seL4_CallWithMRs(self->cap, seL4_MessageInfo_new(self->label, 0, self->extra, self->length),
                         &words[0], &words[1], &words[2], &words[3]);
    note_message(self, tag, words);
}

void cf_do_send(volatile cf_worker *self)
{
    seL4_Word words[4] = {self->words[0], self->words[1], self->words[2], self->words[3]};
    seL4_SendWithMRs(self->cap, seL4_MessageInfo_new(self->label, 0, self->extra, self->length),
                     &words[0], &words[1], &words[2], &words[3]);
    note_done(self);
}

void cf_do_recv(volatile cf_worker *self)
{
    seL4_Word words[4] = {0};
    seL4_Word badge = 0;
    seL4_MessageInfo_t tag = cr_recv_with(self->cap, &badge, words, self->reply);
    self->badge = badge;
    note_message(self, tag, words);
}

void cf_do_signal(volatile cf_worker *self)
{
    seL4_Signal(self->cap);
    note_done(self);
}

void cf_do_read(volatile cf_worker *self)
{
    self->words[0] = *(volatile seL4_Word *)self->address;
    note_done(self);
}

void cf_do_write(volatile cf_worker *self)
{
    *(volatile seL4_Word *)self->address = self->words[0];
    note_done(self);
}

void cf_do_spin(volatile cf_worker *self)
{
    for (;;) {
        self->progress++;
    }
}

/* -- the root task as a receiver */

cf_message cf_receive(seL4_CPtr endpoint)
{
    cf_message m = {0};
    cf_settle();
    m.tag = cr_nb_recv(endpoint, &m.badge, cr_caller_now);
    m.label = seL4_MessageInfo_get_label(m.tag);
    m.length = seL4_MessageInfo_get_length(m.tag);
    m.extra = seL4_MessageInfo_get_extraCaps(m.tag);
    m.unwrapped = seL4_MessageInfo_get_capsUnwrapped(m.tag);
    for (uint32_t i = 0; i < 8; i++) {
        m.words[i] = seL4_GetMR((int)i);
    }
    return m;
}

seL4_CPtr cf_fault_cap(seL4_CPtr endpoint, seL4_Word badge)
{
    return cf_mint(endpoint, seL4_CapRights_new(1, 0, 0, 1), badge);
}

void cf_expect_vm_fault(seL4_CPtr endpoint, seL4_Word badge, uintptr_t address)
{
    cf_message m = cf_receive(endpoint);
    cf_is(m.badge, badge);
    cf_is(m.label, seL4_Fault_VMFault);
    cf_is(m.words[seL4_VMFault_Addr], address);
}

void cf_reply(seL4_Word label, seL4_Word word)
{
    seL4_SetMR(0, word);
    cr_reply(cr_caller_now, seL4_MessageInfo_new(label, 0, 0, 1));
    cf_settle();
}

/* -- running */

/* Removes everything that the check created: revokes its untyped, and deletes the copies of
 * initial capabilities slot by slot. */
static void clear(void)
{
    must(cr_revoke(cr_slot_at(cf_untyped)), "the check's untyped cannot be revoked");
    for (uint32_t slot = CF_FIRST_SLOT; slot < next_slot; slot++) {
        must(cr_delete(cr_pool_slot(slot)), "a check's slot cannot be emptied");
    }
    next_slot = CF_FIRST_SLOT;
    n_workers = 0;
    cf_clock = 0;
    cf_settle(); /* and again, because cf_wake_root may have ended the first */
    cf_settle();
}

static void run_check(const cf_check *check)
{
    now.failed = 0;
    now.assertions = 0;
    check->run();
    /* A check without an assertion proves nothing. */
    if (now.assertions == 0) {
        cf_is(0, 1);
    }
    print_result(check->name);
    clear();
}

void cr_root_main(const seL4_BootInfo *info)
{
    static const cf_check none[] = {{0, 0}};
    static const cf_check *const tables[] = {
        cf_caps_checks,   cf_memory_checks,
        cf_ipc_checks,    CR_MCS ? none : cf_plain_ipc_checks,
        cf_thread_checks, CR_MCS ? cf_mcs_checks : cf_plain_thread_checks,
        cf_device_checks, cf_ack_checks,
        cf_time_checks};
    uint32_t checks = 0;
    uint32_t failed = 0;
    uint32_t left_out = 0;
    set_up(info);
    for (uint32_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        for (const cf_check *check = tables[t]; check->name != 0; check++) {
            if ((tables[t] == cf_device_checks && !cr_device_exists()) ||
                (tables[t] == cf_ack_checks && !(cr_device_exists() && CR_INTERRUPTS_WAIT)) ||
                (tables[t] == cf_time_checks && !cr_timer_exists())) {
                left_out++;
                cr_console_string("\nconformance: ");
                cr_console_string(check->name);
                cr_console_string(": not on this kernel\n");
                continue;
            }
            run_check(check);
            checks++;
            failed += now.failed != 0;
        }
    }
    print_decimal("\nconformance: ", checks);
    print_decimal(" checks, ", failed);
    cr_console_string(" failed");
    if (left_out != 0) {
        print_decimal(", ", left_out);
        cr_console_string(" not on this kernel");
    }
    cr_console_string("\n");
    for (;;) {
        (void)seL4_TCB_Suspend(seL4_CapInitThreadTCB);
    }
}
