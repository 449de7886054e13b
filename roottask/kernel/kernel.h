/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The root task's kernel calls, counted by kind, and the root task's own CSpace. The counts show
 * what a cleanup costs, so each wrapper must count exactly the call that it makes.
 *
 * The CSpace is a CNode (L1) with cr_most.bodies slots. Each L1 slot can hold another CNode, which
 * resolves the remaining 32 bits. L1 slot CR_L1_BOOT holds the CNode that the kernel gave at boot,
 * so capability addresses of boot time remain valid. L1 slot CR_L1_POOL holds a pool of slots for
 * any use but untypeds, which are in L1 slot CR_L1_UNTYPEDS. From CR_L1_BODIES on, each PD's body
 * has its own L1 slot. */
#ifndef CELLREAP_SEL4_KERNEL_H
#define CELLREAP_SEL4_KERNEL_H

#include "compat.h"
#include "tables.h"
#include <stdint.h>

enum {
    CR_L1_BOOT = 0,
    CR_L1_POOL = 1,
    CR_L1_UNTYPEDS = 2,
    CR_L1_BODIES = 3,
    CR_BOOT_SLOTS = 69,    /* that the root task takes of the CNode that the kernel gave */
    CR_REGISTER_SLOTS = 2, /* of these or others of it, to map the registers of a device */
    CR_POOL_SPARE = 0,     /* a slot of the pool that is always empty */
    /* A slot of the pool is for each resource, and for the probe of each PD. What else the root
     * task keeps there is less than this: three for the turn thread of each priority, and some for
     * its other threads, the timer and the pools of numbers of address spaces. */
    CR_POOL_OWN_MAX = 768,
    CR_SUBSPACE_BITS = 32 /* the bits that the CNode in an L1 slot resolves, guard and index */
};

/* log2 of the smallest CNode with so many slots, or of the smallest block with so many bytes. */
static inline uint32_t cr_bits_for(uint64_t count)
{
    uint32_t bits = 0;
    while (bits < 63 && 1ull << bits < count) {
        bits++;
    }
    return bits;
}

/* The last slot of L1: always empty, except while its user looks into a CNode. */
static inline uint32_t cr_l1_spare(void)
{
    return cr_most.bodies - 1;
}

typedef enum cr_call {
    CR_CALL_RETYPE = 0,
    CR_CALL_COPY,
    CR_CALL_DELETE,
    CR_CALL_REVOKE,
    CR_CALL_CANCEL,
    CR_CALL_SUSPEND,
    CR_CALL_RESUME,
    CR_CALL_READ_REGISTERS,
    CR_CALL_CONFIGURE,
    CR_CALL_MAP,
    CR_CALL_SIGNAL,
    CR_CALL_REPLY,
    CR_CALL_TIMER,
    CR_CALL_COUNT
} cr_call;

extern uint64_t cr_calls[CR_CALL_COUNT];
/* How often any of them changed. Never 0. */
extern uint64_t cr_calls_changed;
/* Their sum. What the timer takes is no part of what is being done. */
uint64_t cr_calls_sum(void);

/* The answer to the message that was received last, which is made together with the next receive:
 * that is one system call with a fast path, and not two. The main thread makes it at once if it
 * calls the kernel before that, for whatever reason, so nothing else ever comes before it. */
enum { CR_KEPT_ANSWER_MAX = 4 }; /* words; the kernel copies no more in its fast path */
extern int cr_answer_is_kept;

/* Keeps an answer of at most CR_KEPT_ANSWER_MAX words, which is counted as made. */
void cr_keep_answer(seL4_Word label, uint32_t count, const uint64_t *words);
/* Makes the answer that is kept, if there is one. Only for the main thread. */
void cr_make_kept_answer(void);
/* Makes it and receives. */
seL4_MessageInfo_t cr_answer_and_receive(seL4_CPtr endpoint, seL4_Word *badge);
/* Receives without an answer. The first registers of the message are `words`. */
seL4_MessageInfo_t cr_receive_words(seL4_CPtr endpoint, seL4_Word *badge, seL4_Word words[4]);
/* Answers the message that was received last. The call is not counted. */
void cr_answer_now(seL4_MessageInfo_t answer);

/* With MCS: the reply object that keeps who sent the message that was received last. Else 0. */
extern seL4_CPtr cr_caller_now;

/* Counts a call that is about to be made. Its message must not be set before. */
static inline void cr_count_call(cr_call call)
{
    if (cr_answer_is_kept) {
        cr_make_kept_answer();
    }
    cr_calls[call]++;
    cr_calls_changed++;
}

/* With its length, so that it is copied by words. */
typedef struct cr_name {
    char text[16];
    size_t length;
} cr_name;

const cr_name *cr_call_name(cr_call call);
/* Counts a call that is about to be made. Returns whether it must not be made (cr_before_calls). */
int cr_is_refused(cr_call call);

/* For tests: before each of the calls below `hook` is asked whether the call is refused. A refused
 * call is not made, and returns seL4_IllegalOperation. 0: none is. */
void cr_before_calls(int (*hook)(void));

/* What the main thread calls while another thread of the root task is in the middle of its work is
 * no part of this work: it counts for nothing and no test refuses it. cr_calls_back ends that, and
 * returns in `made` what was called meanwhile. `made` may be 0. */
typedef struct cr_calls_kept {
    uint64_t calls[CR_CALL_COUNT];
    int (*hook)(void);
} cr_calls_kept;

void cr_calls_aside(cr_calls_kept *kept);
void cr_calls_back(const cr_calls_kept *kept, uint64_t made[CR_CALL_COUNT]);

/* A slot: the CNode, the index in the CNode and the number of bits to resolve. */
typedef struct cr_slot {
    seL4_CPtr root;
    seL4_Word index;
    uint8_t depth;
} cr_slot;

static inline seL4_CPtr cr_cptr(uint32_t l1, uint32_t slot)
{
    return ((seL4_CPtr)l1 << CR_SUBSPACE_BITS) | slot;
}

/* The slot of the capability at this address. */
cr_slot cr_slot_at(seL4_CPtr cptr);
/* The L1 slot itself. */
cr_slot cr_slot_l1(uint32_t l1);
/* A slot of the pool: as cr_slot_at, but the kernel looks at one CNode less. */
cr_slot cr_pool_slot(uint32_t slot);
/* A slot of a PD's CSpace. */
cr_slot cr_slot_in(seL4_CPtr cnode, uint32_t slot, uint32_t bits);

seL4_Word cr_cnode_data(uint32_t guard_bits);
/* The root task's CSpace and its guard, for threads that share the CSpace. */
seL4_CPtr cr_l1_cnode(void);
seL4_Word cr_l1_data(void);
/* log2 of the slots of the CNode that the kernel gave at boot. */
uint32_t cr_boot_bits(void);
/* The first slot in it that is still empty. cr_boot_take takes it, before there is a pool. */
uint32_t cr_boot_free(void);
uint32_t cr_boot_take(void);
/* The capability to the pool, without a guard. */
seL4_CPtr cr_pool_cnode(void);

/* Each function makes one kernel call. cr_retype creates `count` objects in consecutive slots of
 * the CNode in L1 slot `l1`. */
seL4_Error cr_retype(seL4_CPtr untyped, seL4_Word type, seL4_Word bits, uint32_t l1, uint32_t slot,
                     uint32_t count);
/* An address space. */
seL4_Error cr_retype_vspace(seL4_CPtr untyped, uint32_t l1, uint32_t slot);
/* cr_retype, in slots of the CNode whose capability is in a slot. */
seL4_Error cr_retype_into(seL4_CPtr untyped, seL4_Word type, seL4_Word bits, cr_slot cnode,
                          uint32_t slot, uint32_t count);
seL4_Error cr_copy(cr_slot to, cr_slot from, seL4_CapRights_t rights);
seL4_Error cr_mint(cr_slot to, cr_slot from, seL4_CapRights_t rights, seL4_Word badge);
seL4_Error cr_mutate(cr_slot to, cr_slot from, seL4_Word badge);
seL4_Error cr_move(cr_slot to, cr_slot from);
seL4_Error cr_delete(cr_slot at);
seL4_Error cr_revoke(cr_slot at);
seL4_Error cr_cancel_sends(cr_slot at);
/* Keeps who sent the message that was received last. It is answered with the capability in this
 * slot. `of`: the number of the sender, which no other caller that is kept has. */
seL4_Error cr_save_caller(cr_slot at, uint32_t of);
seL4_Error cr_suspend(seL4_CPtr tcb);
seL4_Error cr_resume(seL4_CPtr tcb);
seL4_Error cr_read_registers(seL4_CPtr tcb, seL4_UserContext *out);
seL4_Error cr_write_registers(seL4_CPtr tcb, int resume, seL4_UserContext *in);
void cr_signal(seL4_CPtr notification);

/* Makes the tables of the pool, of which no slot was taken yet. */
void cr_pool_tables(void);
/* log2 of the bytes that the three CNodes need. */
uint32_t cr_cspace_bits(void);
/* Builds the CSpace from the objects that the kernel gave. Must be the first kernel call of the
 * root task, but for those of cr_uart_console. */
cr_status cr_cspace_init(const seL4_BootInfo *info, seL4_CPtr untyped);

/* What a slot of the pool is for. */
typedef enum cr_pool_use {
    CR_POOL_OWN = 0, /* the root task's own objects */
    CR_POOL_PARENT,  /* the parent of the capabilities to a resource */
    CR_POOL_USE_COUNT
} cr_pool_use;

/* Slots of the pool. 0: no slot is left. A slot that is given back must be empty before the next
 * cr_pool_take. */
uint32_t cr_pool_take(cr_pool_use use);
void cr_pool_give(uint32_t slot);
uint32_t cr_pool_used(cr_pool_use use);

/* The address of an empty slot of the pool, and of a new object in such a slot. Only for setup:
 * both stop the system if there is no room. */
seL4_CPtr cr_pool_cap(void);
/* No slot from here on was ever taken. */
uint32_t cr_pool_top(void);
seL4_CPtr cr_pool_make(seL4_CPtr untyped, seL4_Word type, const char *what);
/* The same for an object of 2^bits bytes, whose size its type leaves open. */
seL4_CPtr cr_pool_make_sized(seL4_CPtr untyped, seL4_Word type, seL4_Word bits, const char *what);
/* The same for each of so many entries that is not 0, from a block of their own. The entries become
 * their addresses. Returns how many there are. */
uint32_t cr_pool_make_each(seL4_CPtr *caps, uint32_t count, seL4_Word type, uint32_t bits,
                           const char *what);
/* Stops the system if there is an error: a seL4_Error, or a cr_status. */
void cr_must(uint32_t error, const char *what);

/* The frame of a page of the root task's own image, or 0 if it has none. image_start: the address
 * of its first page. */
seL4_CPtr cr_image_frame(const seL4_BootInfo *info, uintptr_t image_start, const void *page);

/* Starts a further thread of the root task, in its CSpace and address space and without an IPC
 * buffer, which belongs to the main thread. `argument`: see cr_arch_set_argument. Only for setup:
 * stops the system if there is an error. */
void cr_start_thread(seL4_CPtr tcb, seL4_CPtr sc, seL4_Word priority, void (*entry)(void),
                     char *stack_top, seL4_Word argument);

/* What a kernel with scheduling contexts (CR_MCS) needs besides. All of this is nothing without. */

/* Keeps the right to give time, and makes the objects that keep callers, one more than there can be
 * senders, from a block of their own. Each takes a slot of the pool. Only for setup. */
void cr_time_init(const seL4_BootInfo *info, uint32_t senders);
/* A scheduling context for round robin, in a slot of the pool. Without, 0. Only for setup. */
seL4_CPtr cr_make_sc(seL4_CPtr untyped);
/* How much a thread may run in each period. Zeros: a time slice each round, as without MCS. So it
 * is if both are the same: no timeout fault ever comes then. */
typedef struct cr_time {
    uint32_t budget_us;
    uint32_t period_us;
    int waits; /* who has used it up waits for the next period, and makes no fault */
} cr_time;

/* Whether a thread with this time can use it up. */
static inline int cr_time_ends(cr_time time)
{
    return time.budget_us < time.period_us;
}

/* Whether that is a fault. */
static inline int cr_time_faults(cr_time time)
{
    return cr_time_ends(time) && !time.waits;
}

/* Of an interval in which a thread with this time could run, how long it could. */
static inline uint64_t cr_time_share(cr_time time, uint64_t interval)
{
    return cr_time_ends(time) ? interval * time.budget_us / time.period_us : interval;
}

/* Gives a scheduling context time. `badge`: of whom it is, in the message of a timeout fault. One
 * kernel call. */
seL4_Error cr_give_time(seL4_CPtr sc, cr_time time, seL4_Word badge);
/* Gives it nearly its whole period, which begins when its thread is resumed. */
seL4_Error cr_give_sporadic_time(seL4_CPtr sc, uint32_t period_us);

/* Has a thread give its scheduling context back to its notification whenever it waits: then it runs
 * on the time of who calls it, and on its own for its signals. One kernel call. */
seL4_Error cr_make_passive(seL4_CPtr sc, seL4_CPtr notification);
/* Takes a scheduling context from a thread. Returns whether the thread had it. */
int cr_take_time(seL4_CPtr sc, seL4_CPtr from);
/* Gives a thread that has none its scheduling context. Its budget begins anew if it is used up: the
 * kernel gives none to a thread that waits otherwise. Returns whether the thread had none. No test
 * refuses these two. */
int cr_give_time_back(seL4_CPtr sc, seL4_CPtr to, cr_time time, seL4_Word badge);
/* Whether a thread that has none waits: for a message, or until it is received or answered. Changes
 * nothing. A debug kernel prints that it does. With MCS, after cr_waits_init. */
void cr_waits_init(void);
int cr_waits(seL4_CPtr tcb);
/* Whether a thread has a scheduling context. So it seems, too, if nobody has it and the thread has
 * none. Of a thread that waits and has used up the time, the kernel does not say. Changes nothing,
 * and is not counted. */
int cr_has_time(seL4_CPtr sc, seL4_CPtr tcb);
/* The microseconds for which a scheduling context was used since it was asked last. */
uint64_t cr_time_used(seL4_CPtr sc);
/* Whether the kernel can be asked who has one; some releases have one answer for all. */
int cr_tells_time(void);

/* Prints a message on the console and stops the system. Only for states that a correct root task
 * cannot reach. */
_Noreturn void cr_panic(const char *what, uint64_t value);
/* What cr_panic does first: it writes what is not on the console yet. */
void cr_before_panic(void (*hook)(void));
/* What it does last, on a kernel that cannot halt the machine. Then the thread never stops: the
 * main thread has the highest priority, and no PD runs. */
void cr_after_panic(void (*hook)(void));
int cr_has_panicked(void);
/* The console is the kernel's if it prints (KernelPrinting). Another one writes a character with
 * `put`, which may use no IPC buffer. Until there is a console, nothing is seen of what is put. */
void cr_console_use(void (*put)(char c));
int cr_console_exists(void);
void cr_console_put(char c);
extern uint64_t cr_console_written; /* characters */
void cr_console_string(const char *text);

#endif
