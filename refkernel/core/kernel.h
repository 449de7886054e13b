/* SPDX-License-Identifier: BSD-2-Clause
 *
 * refkernel: the part of seL4's API that the root task of cellreap uses, for machines without a
 * build of seL4. It was written from the published API only. It is not seL4, and nothing about
 * it is verified.
 *
 * Rules: one core; interrupts are off inside the kernel; no recursion; no allocation; every loop
 * runs over something finite, which its comment or condition names. Each invocation first checks
 * everything and then acts. */
#ifndef REFKERNEL_KERNEL_H
#define REFKERNEL_KERNEL_H

#include <sel4/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BIT(n) (1ul << (n))
#define MASK(n) ((n) >= 64 ? ~0ul : BIT(n) - 1)

typedef seL4_Word word;

/* -- capabilities: slot.c */

typedef enum cap_type {
    CAP_NULL = 0,
    CAP_UNTYPED,
    CAP_ENDPOINT,
    CAP_NOTIFICATION,
    CAP_REPLY,
    CAP_CNODE,
    CAP_TCB,
    /* authority over something that refkernel does not have: all its operations are illegal */
    CAP_CONTROL,
    CAP_FRAME,
    CAP_TABLE,
    CAP_VSPACE,
    CAP_ASID_CONTROL,
    CAP_ASID_POOL, /* data: the number of the pool */
    CAP_INTERRUPT_CONTROL,
    CAP_INTERRUPT, /* object: the number of the interrupt */
    CAP_PORT_CONTROL,
    CAP_PORTS
} cap_type;

enum { RIGHT_WRITE = 1, RIGHT_READ = 2, RIGHT_GRANT = 4, RIGHT_GRANT_REPLY = 8, RIGHTS_ALL = 15 };

/* A slot and the capability in it. All slots in use, except those of reply capabilities, form
 * one list: the derivation tree in preorder. The descendants of a slot are the slots that follow
 * it with a higher level. A link is the number of a slot in the kernel's window on memory; 0 is
 * none. */
struct slot {
    word object; /* kernel address of the object */
    /* untyped: bytes used; endpoint, notification: badge; CNode: guard; mapped object: its
     * address */
    word data;
    uint32_t prev, next;
    uint8_t type;   /* cap_type */
    uint8_t rights; /* RIGHT_... and CAP_ORIGINAL */
    uint8_t bits;   /* untyped, frame: log2 of bytes; CNode: radix; table: its level */
    uint8_t guard;  /* CNode: bits of guard; untyped: 1 if it is of devices, else 0 */
    uint16_t asid;  /* mapped object: its address space; 0: not mapped */
    uint16_t level; /* depth in the derivation tree */
};

/* A copy of an original capability is its child. A copy of a copy is its sibling. Below the last
 * untyped there are at most 3 levels. */
enum { CAP_ORIGINAL = 0x80, LEVEL_MAX = UINT16_MAX - 4 };

_Static_assert(sizeof(struct slot) == 1 << seL4_SlotBits, "as users reckon");

struct lookup_failure {
    seL4_LookupFailureType why;
    word bits_left, bits_found, guard;
};

/* Finds the slot that the lowest `bits` bits of an address lead to. Null: *failure tells why.
 * *left: the number of bits that were not resolved because a capability is not to a CNode. */
struct slot *slot_resolve(struct slot *root, word cptr, word bits, word *left,
                          struct lookup_failure *failure);
/* The same for an address of which all bits must be resolved. */
struct slot *slot_find(struct slot *root, word cptr, word bits, struct lookup_failure *failure);
/* Writes the words of a message that describe a failure. Returns their number. */
word slot_failure_words(const struct lookup_failure *failure, word *out);

/* Follows a link; null for 0. */
struct slot *slot_link(uint32_t number);
/* Whether this is the only capability to its object. */
bool slot_is_last(const struct slot *slot);
bool slot_has_children(const struct slot *slot);
/* Puts a capability to a new object into an empty slot, as a child of `parent`. Null: it has no
 * parent. */
void slot_create(struct slot *slot, struct slot *parent, struct slot cap);
/* Makes a copy of a capability in *out. CAP_NULL in *out: it cannot be copied. */
seL4_Error slot_derive(const struct slot *from, struct slot *out);
/* Returns the capability with another badge or guard. CAP_NULL: this is not possible. `keep`:
 * badges must not be set. */
struct slot slot_with_data(struct slot cap, bool keep, word data);
/* Puts a derived capability into an empty slot. */
void slot_insert(struct slot *slot, struct slot *from, struct slot cap);
void slot_move(struct slot *to, struct slot *from, struct slot cap);
void slot_delete(struct slot *slot);
/* Empties a slot that holds a reply capability or nothing, without any further effect. */
void slot_drop_reply(struct slot *slot);
void slot_revoke(struct slot *slot);

/* -- objects */

struct queue {
    struct tcb *head, *tail;
};

struct endpoint {
    struct queue queue; /* senders or receivers, as the state of its threads tells */
};

struct notification {
    struct queue queue; /* signalled: empty, with NOTIFICATION_ACTIVE as its tail */
    word badge;
    struct tcb *bound;
};

_Static_assert(sizeof(struct endpoint) == 1 << seL4_EndpointBits, "as users reckon");
_Static_assert(sizeof(struct notification) == 1 << seL4_NotificationBits, "as users reckon");

typedef enum thread_state {
    STATE_INACTIVE = 0,
    STATE_RUNNING, /* or ready to run */
    STATE_SENDING,
    STATE_RECEIVING,
    STATE_WAITING, /* for a notification */
    STATE_CALLING  /* awaits a reply */
} thread_state;

enum {
    TCB_REPLY,
    TCB_CSPACE,
    TCB_VSPACE,
    TCB_BUFFER,
    TCB_SLOT_BITS = 2,
    TCB_SLOTS = 1 << TCB_SLOT_BITS
};
enum { FAULT_WORDS = 20, NAME_BYTES = 64 };

struct fault {
    word label; /* seL4_Fault_NullFault: none */
    word length;
    word words[FAULT_WORDS];
};

#include "arch.h"
#include "arch_api.h"

/* The program counter of a thread in a system call stays at the system call instruction until
 * the call is done. A thread that is stopped during the call and then resumed makes the call
 * again. */
struct tcb {
    struct slot slots[TCB_SLOTS]; /* first: a TCB contains capabilities like a CNode does */
    struct context context;
    thread_state state;
    uint32_t priority, mcp, slice;
    bool ready; /* is in a queue of the scheduler */
    struct tcb *ready_next, *ready_prev;
    struct tcb *queue_next, *queue_prev; /* in a queue of senders, receivers or waiters */
    word blocked_on;                     /* the endpoint or notification that it waits for */
    word badge;                          /* SENDING */
    bool call, grant, grant_reply;       /* SENDING; RECEIVING uses only `grant` */
    /* CALLING: the slot of the reply capability; null: it was deleted */
    struct slot *reply_slot;
    struct notification *bound;
    word fault_handler;
    word buffer; /* user address of the IPC buffer */
    struct fault fault;
    char name[NAME_BYTES];
};

_Static_assert(sizeof(struct tcb) <= 1 << seL4_TCBBits, "as users reckon");

/* -- invocations */

enum { OUT_WORDS = 40 };

struct invocation {
    struct tcb *from;
    struct slot *slot;
    word label, length;
    word extras;
    struct slot *extra[seL4_MsgMaxExtraCaps];
    word out_length; /* words of the result, or further words of an error */
    word out[OUT_WORDS];
};

seL4_Error untyped_invoke(struct invocation *call);
seL4_Error cnode_invoke(struct invocation *call);
seL4_Error tcb_invoke(struct invocation *call);
seL4_Error vspace_invoke(struct invocation *call);

/* Finds the empty slot for a new capability in the CNode that was sent along, or returns an
 * error. */
seL4_Error invocation_target(struct invocation *call, struct slot *root, word index, word depth,
                             struct slot **out);

/* Errors, with the words that describe them. */
seL4_Error bad_argument(struct invocation *call, word number);
seL4_Error bad_capability(struct invocation *call, word number);
seL4_Error bad_range(struct invocation *call, word least, word most);
seL4_Error bad_lookup(struct invocation *call, bool source, const struct lookup_failure *failure);

/* -- messages: message.c */

word message_get(const struct tcb *tcb, word i);
void message_set(struct tcb *tcb, word i, word value);
/* Whether a thread has an IPC buffer, which words beyond the message registers need. */
bool message_has_buffer(const struct tcb *tcb);
seL4_IPCBuffer *message_buffer(const struct tcb *tcb, bool writable);
/* Transfers the words of a message or a fault, its badge, and capabilities if `grant` allows it.
 * endpoint: null for a reply. */
void message_transfer(struct tcb *from, struct tcb *to, const struct endpoint *endpoint, word badge,
                      bool grant);

/* -- IPC: ipc.c */

void endpoint_send(struct tcb *from, struct slot *cap, bool blocking, bool call);
void endpoint_receive(struct tcb *to, struct slot *cap, bool blocking);
void endpoint_cancel_badge(struct endpoint *endpoint, word badge);
void endpoint_cancel_all(struct endpoint *endpoint);
void notification_signal(struct notification *notification, word badge);
void notification_receive(struct tcb *to, struct slot *cap, bool blocking);
void notification_cancel_all(struct notification *notification);
bool notification_is_idle(const struct notification *notification);
/* Answers the caller that the reply capability in the slot belongs to, and deletes the
 * capability. */
void reply_send(struct tcb *from, struct slot *slot);
/* Ends whatever a thread waits for. */
void ipc_cancel(struct tcb *tcb);

/* -- address spaces: vspace.c */

/* The kernel address of the address space that a capability is to. 0: it has no number, or was
 * destroyed. */
word vspace_find(const struct slot *cap);
/* log2 of the bytes that a table of this level maps. */
word vspace_span(uint8_t level);
/* Gives a number of a pool to an address space. 0: none is free. */
uint16_t vspace_assign(struct slot *vspace, word pool);
/* *left: address bits that no table translates. */
seL4_Error vspace_map_table(struct slot *cap, uint16_t asid, word vaddr, word *left);
seL4_Error vspace_map_frame(struct slot *cap, uint16_t asid, word vaddr, word rights,
                            word attributes, word *left);
/* Call this when a capability was deleted; last: its object is destroyed too. */
void vspace_released(const struct slot *cap, bool last);

/* -- interrupts of users: interrupt.c */

/* Memory for ARCH_INTERRUPTS slots, zero. */
void interrupt_init(struct slot *memory);
seL4_Error interrupt_control_invoke(struct invocation *call);
seL4_Error interrupt_invoke(struct invocation *call);
/* Handles an interrupt. */
void interrupt_arrived(word number);
/* The last handler capability of the interrupt was deleted. Returns the slot with the capability
 * to its notification, which the caller must empty. */
struct slot *interrupt_released(word number);

/* -- threads: tcb.c, sched.c, fault.c */

void tcb_init(struct tcb *tcb);
void tcb_destroy(struct tcb *tcb);
void tcb_unbind(struct tcb *tcb);
void tcb_suspend(struct tcb *tcb);
void tcb_restart(struct tcb *tcb);
/* Ends the thread's system call: the thread continues after it. */
void tcb_complete(struct tcb *tcb);

extern struct tcb *current;          /* null: no thread can run */
void sched_wake(struct tcb *tcb);    /* what it waited for has happened */
void sched_restart(struct tcb *tcb); /* it starts again what it was doing */
void sched_stop(struct tcb *tcb);    /* its state is no longer RUNNING */
void sched_set_priority(struct tcb *tcb, uint32_t priority);
void sched_yield(void);
void sched_tick(void);
void sched_choose(void);

void fault_send(struct tcb *tcb, const struct fault *fault);
void fault_capability(struct tcb *tcb, word cptr, bool receiving,
                      const struct lookup_failure *failure);
/* Applies the answer of a fault handler. Returns whether the thread continues. */
bool fault_reply(struct tcb *handler, struct tcb *tcb);

/* -- entry: syscall.c, boot.c, print.c */

void syscall_handle(word number);
enum { IMAGE_SEGMENTS = 16 };

/* The root task as it is laid out in its address space. */
struct image {
    word entry;
    word count;
    struct image_segment {
        word vaddr, bytes; /* the part after its content is zero */
        const uint8_t *content;
        word content_bytes;
    } segments[IMAGE_SEGMENTS];
};

struct region {
    word start, end; /* kernel addresses */
};

extern const struct region arch_devices; /* what the kernel itself does not drive */

void elf_read(const uint8_t *elf, word bytes, struct image *out);
/* Creates the initial thread from free memory, which must lie in the window. */
void boot_start(const struct image *image, struct region *free, word regions);

#define BANNER                                                                                     \
    "refkernel " CONFIG_REFKERNEL_VERSION " (" ARCH_NAME                                           \
    "): this is not seL4, and nothing about it is verified\n"
void print_char(char c);
void print(const char *text);
void print_hex(word value);
_Noreturn void panic(const char *what, word value);

#endif
