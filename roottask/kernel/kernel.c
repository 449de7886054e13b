/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Kernel calls, the root task's CSpace and the console. See kernel.h. A wrapper must not handle an
 * error: it returns the error to its caller. */
#include "kernel.h"
#include "arch/arch.h"
#include "debug.h"
#include "objects.h"
#include "untyped.h"
#include <cellreap/trace.h>

seL4_IPCBuffer *__sel4_ipc_buffer;

uint64_t cr_calls[CR_CALL_COUNT];
uint64_t cr_calls_changed = 1;

uint64_t cr_calls_sum(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        sum += i != CR_CALL_TIMER ? cr_calls[i] : 0;
    }
    return sum;
}

static int (*refuses)(void);

#define NAME(word) {.text = word, .length = sizeof(word) - 1}
static const cr_name call_names[] = {
    [CR_CALL_RETYPE] = NAME("retype"),       [CR_CALL_COPY] = NAME("copy"),
    [CR_CALL_DELETE] = NAME("delete"),       [CR_CALL_REVOKE] = NAME("revoke"),
    [CR_CALL_CANCEL] = NAME("cancel-sends"), [CR_CALL_SUSPEND] = NAME("suspend"),
    [CR_CALL_RESUME] = NAME("resume"),       [CR_CALL_READ_REGISTERS] = NAME("read-registers"),
    [CR_CALL_CONFIGURE] = NAME("configure"), [CR_CALL_MAP] = NAME("map"),
    [CR_CALL_SIGNAL] = NAME("signal"),       [CR_CALL_REPLY] = NAME("reply"),
    [CR_CALL_TIMER] = NAME("timer"),
};
#undef NAME

_Static_assert(sizeof(call_names) / sizeof(call_names[0]) == CR_CALL_COUNT,
               "one name a kind of call");

/* The root task's CSpace. Both are slots in the CNode that the kernel gave at boot. */
enum { OWN_CNODES = CR_L1_BODIES };
_Static_assert((int)CR_BOOT_SLOTS ==
                   (int)OWN_CNODES + (int)CR_TABLES_PAGES_MAX + (int)CR_REGISTER_SLOTS,
               "the CNodes, pages of the tables, and the timer's registers");
static seL4_CPtr l1_cnode;
static seL4_CPtr pool_cnode;
static uint32_t boot_cnode_bits;
static uint32_t boot_free;

static uint32_t l1_bits;
static uint32_t pool_bits;

/* Slots that were given back, and what each slot is for. */
static uint32_t *pool_next;
static uint8_t *pool_use;
static uint32_t pool_first;
static uint32_t pool_top;
static uint32_t pool_in_use[CR_POOL_USE_COUNT];

const cr_name *cr_call_name(cr_call call)
{
    return &call_names[call];
}

void cr_before_calls(int (*hook)(void))
{
    refuses = hook;
}

void cr_calls_aside(cr_calls_kept *kept)
{
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        kept->calls[i] = cr_calls[i];
    }
    kept->hook = refuses;
    refuses = 0;
}

void cr_calls_back(const cr_calls_kept *kept, uint64_t made[CR_CALL_COUNT])
{
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        if (made != 0) {
            made[i] = cr_calls[i] - kept->calls[i];
        }
        cr_calls[i] = kept->calls[i];
    }
    cr_calls_changed++;
    refuses = kept->hook;
}

/* -- the answer that is kept */

int cr_answer_is_kept;

static struct {
    seL4_Word label;
    seL4_Word count;
    seL4_Word words[CR_KEPT_ANSWER_MAX];
} kept_answer;

void cr_keep_answer(seL4_Word label, uint32_t count, const uint64_t *words)
{
    cr_count_call(CR_CALL_REPLY);
    kept_answer.label = label;
    kept_answer.count = count < CR_KEPT_ANSWER_MAX ? count : CR_KEPT_ANSWER_MAX;
    for (uint32_t i = 0; i < kept_answer.count; i++) {
        kept_answer.words[i] = words[i];
    }
    cr_answer_is_kept = 1;
}

static seL4_MessageInfo_t take_kept_answer(void)
{
    cr_answer_is_kept = 0;
    for (seL4_Word i = 0; i < kept_answer.count; i++) {
        seL4_SetMR((int)i, kept_answer.words[i]);
    }
    return seL4_MessageInfo_new(kept_answer.label, 0, 0, kept_answer.count);
}

seL4_CPtr cr_caller_now;

void cr_make_kept_answer(void)
{
    if (cr_answer_is_kept) {
        cr_reply(cr_caller_now, take_kept_answer());
    }
}

seL4_MessageInfo_t cr_answer_and_receive(seL4_CPtr endpoint, seL4_Word *badge)
{
    if (!cr_answer_is_kept) {
        return cr_recv(endpoint, badge, cr_caller_now);
    }
    return cr_reply_recv(endpoint, take_kept_answer(), badge, cr_caller_now);
}

seL4_MessageInfo_t cr_receive_words(seL4_CPtr endpoint, seL4_Word *badge, seL4_Word words[4])
{
    return cr_recv_with(endpoint, badge, words, cr_caller_now);
}

void cr_answer_now(seL4_MessageInfo_t answer)
{
    cr_reply(cr_caller_now, answer);
}

/* -- calls */

int cr_is_refused(cr_call call)
{
    if (refuses != 0 && refuses()) {
        return 1;
    }
    cr_count_call(call);
    return 0;
}

uint64_t cr_console_written;

#ifdef CONFIG_PRINTING
static void (*console_put)(char c) = cr_arch_print;
#else
static void (*console_put)(char c);
#endif

void cr_console_use(void (*put)(char c))
{
    console_put = put;
}

int cr_console_exists(void)
{
    return console_put != 0;
}

void cr_console_put(char c)
{
    if (console_put != 0) {
        console_put(c);
    }
    cr_console_written++;
}

void cr_console_string(const char *text)
{
    for (; *text != '\0'; text++) {
        cr_console_put(*text);
    }
}

static void (*before_panic)(void);
static void (*after_panic)(void);
static volatile int has_panicked;

void cr_before_panic(void (*hook)(void))
{
    before_panic = hook;
}

void cr_after_panic(void (*hook)(void))
{
    after_panic = hook;
}

int cr_has_panicked(void)
{
    return has_panicked;
}

_Noreturn void cr_panic(const char *what, uint64_t value)
{
    char text[24];
    void (*const hook)(void) = before_panic;
    before_panic = 0; /* The hook itself may end here. */
    if (hook != 0) {
        hook();
    }
    cr_console_string("\ncellreap: panic: ");
    cr_console_string(what);
    cr_console_string(" 0x");
    cr_format_hex(text, value);
    cr_console_string(text);
    cr_console_put('\n');
    cr_debug_halt();
    has_panicked = 1;
    if (after_panic != 0) {
        after_panic();
    }
    for (;;) {
    }
}

cr_slot cr_slot_at(seL4_CPtr cptr)
{
    return (cr_slot){l1_cnode, cptr, (uint8_t)(l1_bits + CR_SUBSPACE_BITS)};
}

cr_slot cr_slot_l1(uint32_t l1)
{
    return (cr_slot){l1_cnode, l1, (uint8_t)l1_bits};
}

cr_slot cr_pool_slot(uint32_t slot)
{
    return (cr_slot){pool_cnode, slot, (uint8_t)pool_bits};
}

cr_slot cr_slot_in(seL4_CPtr cnode, uint32_t slot, uint32_t bits)
{
    return (cr_slot){cnode, slot, (uint8_t)bits};
}

seL4_Word cr_cnode_data(uint32_t guard_bits)
{
    return seL4_CNode_CapData_new(0, guard_bits).words[0];
}

seL4_CPtr cr_l1_cnode(void)
{
    return l1_cnode;
}

seL4_CPtr cr_pool_cnode(void)
{
    return pool_cnode;
}

uint32_t cr_boot_bits(void)
{
    return boot_cnode_bits;
}

uint32_t cr_boot_free(void)
{
    return boot_free;
}

uint32_t cr_boot_take(void)
{
    return boot_free++;
}

seL4_Word cr_l1_data(void)
{
    return cr_cnode_data(seL4_WordBits - l1_bits - CR_SUBSPACE_BITS);
}

static seL4_Error retype(seL4_CPtr untyped, seL4_Word type, seL4_Word bits, cr_slot cnode,
                         uint32_t slot, uint32_t count)
{
    return cr_is_refused(CR_CALL_RETYPE)
               ? seL4_IllegalOperation
               : seL4_Untyped_Retype(untyped, type, bits, cnode.root, cnode.index, cnode.depth,
                                     slot, count);
}

seL4_Error cr_retype(seL4_CPtr untyped, seL4_Word type, seL4_Word bits, uint32_t l1, uint32_t slot,
                     uint32_t count)
{
    return cr_retype_into(untyped, type, bits, cr_slot_l1(l1), slot, count);
}

seL4_Error cr_retype_vspace(seL4_CPtr untyped, uint32_t l1, uint32_t slot)
{
    const seL4_Error error =
        retype(untyped, cr_arch_vspace_type, cr_arch_vspace_bits, cr_slot_l1(l1), slot, 1);
    if (!error) {
        cr_objects_add(cr_untyped_find(untyped), CR_OBJECT_VSPACE);
    }
    return error;
}

seL4_Error cr_retype_into(seL4_CPtr untyped, seL4_Word type, seL4_Word bits, cr_slot cnode,
                          uint32_t slot, uint32_t count)
{
    const seL4_Error error = retype(untyped, type, bits, cnode, slot, count);
    if (!error) {
        cr_objects_retyped(untyped, type, count);
    }
    return error;
}

seL4_Error cr_copy(cr_slot to, cr_slot from, seL4_CapRights_t rights)
{
    if (cr_is_refused(CR_CALL_COPY)) {
        return seL4_IllegalOperation;
    }
    return seL4_CNode_Copy(to.root, to.index, to.depth, from.root, from.index, from.depth, rights);
}

seL4_Error cr_mint(cr_slot to, cr_slot from, seL4_CapRights_t rights, seL4_Word badge)
{
    if (cr_is_refused(CR_CALL_COPY)) {
        return seL4_IllegalOperation;
    }
    return seL4_CNode_Mint(to.root, to.index, to.depth, from.root, from.index, from.depth, rights,
                           badge);
}

seL4_Error cr_mutate(cr_slot to, cr_slot from, seL4_Word badge)
{
    if (cr_is_refused(CR_CALL_COPY)) {
        return seL4_IllegalOperation;
    }
    return seL4_CNode_Mutate(to.root, to.index, to.depth, from.root, from.index, from.depth, badge);
}

seL4_Error cr_move(cr_slot to, cr_slot from)
{
    if (cr_is_refused(CR_CALL_COPY)) {
        return seL4_IllegalOperation;
    }
    return seL4_CNode_Move(to.root, to.index, to.depth, from.root, from.index, from.depth);
}

/* A call without further capabilities. The kernel tries each call on its fast path, which only
 * messages to endpoints have, unless the message is too long for it. */
static seL4_Error call_cnode(cr_call call, seL4_Word label, cr_slot at)
{
    enum { TOO_LONG = 5 };
    if (cr_is_refused(call)) {
        return seL4_IllegalOperation;
    }
    seL4_Word index = at.index;
    seL4_Word depth = at.depth;
    seL4_Word third = 0;
    seL4_Word fourth = 0;
    const seL4_MessageInfo_t answer = seL4_CallWithMRs(
        at.root, seL4_MessageInfo_new(label, 0, 0, TOO_LONG), &index, &depth, &third, &fourth);
    return (seL4_Error)seL4_MessageInfo_get_label(answer);
}

seL4_Error cr_delete(cr_slot at)
{
    return call_cnode(CR_CALL_DELETE, CNodeDelete, at);
}

seL4_Error cr_revoke(cr_slot at)
{
    return call_cnode(CR_CALL_REVOKE, CNodeRevoke, at);
}

seL4_Error cr_cancel_sends(cr_slot at)
{
    return call_cnode(CR_CALL_CANCEL, CNodeCancelBadgedSends, at);
}

seL4_Error cr_suspend(seL4_CPtr tcb)
{
    if (cr_is_refused(CR_CALL_SUSPEND)) {
        return seL4_IllegalOperation;
    }
    return seL4_TCB_Suspend(tcb);
}

seL4_Error cr_resume(seL4_CPtr tcb)
{
    if (cr_is_refused(CR_CALL_RESUME)) {
        return seL4_IllegalOperation;
    }
    return seL4_TCB_Resume(tcb);
}

seL4_Error cr_read_registers(seL4_CPtr tcb, seL4_UserContext *out)
{
    if (cr_is_refused(CR_CALL_READ_REGISTERS)) {
        return seL4_IllegalOperation;
    }
    return seL4_TCB_ReadRegisters(tcb, 0, 0, sizeof(*out) / sizeof(seL4_Word), out);
}

seL4_Error cr_write_registers(seL4_CPtr tcb, int resume, seL4_UserContext *in)
{
    if (cr_is_refused(CR_CALL_CONFIGURE)) {
        return seL4_IllegalOperation;
    }
    return seL4_TCB_WriteRegisters(tcb, (seL4_Bool)(resume != 0), 0,
                                   sizeof(*in) / sizeof(seL4_Word), in);
}

void cr_signal(seL4_CPtr notification)
{
    if (!cr_is_refused(CR_CALL_SIGNAL)) {
        seL4_Signal(notification);
    }
}

uint32_t cr_cspace_bits(void)
{
    /* None of the three is larger than the pool (cr_tables_size), so this is enough however they
     * are aligned. */
    return cr_bits_for(cr_most.pool) + 2 + seL4_SlotBits;
}

cr_status cr_cspace_init(const seL4_BootInfo *info, seL4_CPtr untyped)
{
    uint32_t boot_bits = (uint32_t)info->initThreadCNodeSizeBits;
    if (info->empty.end - info->empty.start < CR_BOOT_SLOTS || boot_bits > CR_SUBSPACE_BITS) {
        return CR_ERR_MEMORY;
    }
    l1_cnode = info->empty.start;
    pool_cnode = l1_cnode + CR_L1_POOL;
    l1_bits = cr_bits_for(cr_most.bodies);
    pool_bits = cr_bits_for(cr_most.pool);
    /* By L1 slot: that of L1 itself is for the CNode of boot time. */
    const uint32_t bits[OWN_CNODES] = {l1_bits, pool_bits, cr_bits_for(cr_most.blocks)};
    seL4_Error error = untyped == 0 ? seL4_NotEnoughMemory : seL4_NoError;
    /* Until the thread uses the new CSpace, addresses are those of boot time: one CNode that
     * resolves all bits. */
    for (uint32_t i = 0; !error && i < OWN_CNODES; i++) {
        error = seL4_Untyped_Retype(untyped, seL4_CapTableObject, bits[i], seL4_CapInitThreadCNode,
                                    0, 0, l1_cnode + i, 1);
    }
    for (uint32_t i = 0; !error && i < OWN_CNODES; i++) {
        const int is_boot = i == CR_L1_BOOT;
        error = seL4_CNode_Mint(l1_cnode, i, (uint8_t)l1_bits, seL4_CapInitThreadCNode,
                                is_boot ? (seL4_CPtr)seL4_CapInitThreadCNode : l1_cnode + i,
                                seL4_WordBits, seL4_AllRights,
                                cr_cnode_data(CR_SUBSPACE_BITS - (is_boot ? boot_bits : bits[i])));
    }
    if (error || seL4_TCB_SetSpace(seL4_CapInitThreadTCB, 0, l1_cnode, cr_l1_data(),
                                   seL4_CapInitThreadVSpace, 0)) {
        return CR_ERR_MEMORY;
    }
    boot_cnode_bits = boot_bits;
    boot_free = (uint32_t)info->empty.start + OWN_CNODES;
    pool_top = CR_POOL_SPARE + 1;
    return CR_OK;
}

void cr_pool_tables(void)
{
    CR_TABLE_MAKE(pool_next, cr_most.pool);
    CR_TABLE_MAKE(pool_use, cr_most.pool);
}

uint32_t cr_pool_take(cr_pool_use use)
{
    uint32_t slot = pool_first;
    if (slot != 0) {
        pool_first = pool_next[slot];
    } else if (pool_top < cr_most.pool) {
        slot = pool_top++;
    } else {
        return 0;
    }
    pool_use[slot] = (uint8_t)use;
    pool_in_use[use]++;
    return slot;
}

void cr_pool_give(uint32_t slot)
{
    slot &= cr_most.pool - 1; /* inside the pool (docs/proof.md) */
    pool_next[slot] = pool_first;
    pool_first = slot;
    pool_in_use[pool_use[slot]]--;
}

uint32_t cr_pool_top(void)
{
    return pool_top;
}

uint32_t cr_pool_used(cr_pool_use use)
{
    return pool_in_use[use];
}

/* The assertions of libsel4 call this function when they fail, unless a root task that includes the
 * component has another one. */
__attribute__((weak)) void __assert_fail(const char *expression, const char *file, int line,
                                         const char *function)
{
    (void)file;
    (void)function;
    cr_panic(expression, (uint64_t)line);
}

void cr_must(uint32_t error, const char *what)
{
    if (error != 0) {
        cr_panic(what, error);
    }
}

seL4_CPtr cr_pool_cap(void)
{
    uint32_t slot = cr_pool_take(CR_POOL_OWN);
    if (slot == 0) {
        cr_panic("no slot is left", 0);
    }
    return cr_cptr(CR_L1_POOL, slot);
}

seL4_CPtr cr_pool_make_sized(seL4_CPtr untyped, seL4_Word type, seL4_Word bits, const char *what)
{
    seL4_CPtr cap = cr_pool_cap();
    cr_must(cr_retype(untyped, type, bits, CR_L1_POOL, (uint32_t)cap, 1), what);
    return cap;
}

seL4_CPtr cr_pool_make(seL4_CPtr untyped, seL4_Word type, const char *what)
{
    return cr_pool_make_sized(untyped, type, 0, what);
}

uint32_t cr_pool_make_each(seL4_CPtr *caps, uint32_t count, seL4_Word type, uint32_t bits,
                           const char *what)
{
    uint32_t wanted = 0;
    uint32_t block = CR_BLOCK_NONE;
    for (uint32_t i = 0; i < count; i++) {
        wanted += caps[i] != 0;
    }
    if (wanted != 0 && cr_untyped_take(cr_bits_for(wanted) + bits, 0, &block) != CR_OK) {
        cr_panic(what, wanted);
    }
    for (uint32_t i = 0; i < count; i++) {
        caps[i] = caps[i] != 0 ? cr_pool_make_sized(cr_untyped_cap(block), type, bits, what) : 0;
    }
    return wanted;
}

seL4_CPtr cr_image_frame(const seL4_BootInfo *info, uintptr_t image_start, const void *page)
{
    seL4_CPtr frame =
        info->userImageFrames.start + (((uintptr_t)page - image_start) >> seL4_PageBits);
    return frame < info->userImageFrames.end ? frame : 0;
}

void cr_start_thread(seL4_CPtr tcb, seL4_CPtr sc, seL4_Word priority, void (*entry)(void),
                     char *stack_top, seL4_Word argument)
{
    seL4_UserContext registers;
    cr_arch_start_registers(&registers, (seL4_Word)entry, (seL4_Word)stack_top);
    cr_arch_set_argument(&registers, argument);
    cr_must(seL4_TCB_SetSpace(tcb, 0, cr_l1_cnode(), cr_l1_data(), seL4_CapInitThreadVSpace, 0),
            "a thread of the root task has no space");
    cr_must(cr_set_priority(tcb, priority, sc, 0), "a thread of the root task has no priority");
    cr_must(cr_write_registers(tcb, 1, &registers), "a thread of the root task does not start");
    /* The kernel's snapshots leave out threads of this name. A snapshot of this thread would not
     * end, because the thread shares the root task's CSpace. */
    cr_debug_name(tcb, "rootserver");
}
