/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The conformance image: a root task that checks every behaviour of the kernel that the root
 * task of this project and its PDs rely on. Each check has a name and makes assertions. It
 * starts with only what the kernel provides at boot and an untyped of its own, which is revoked
 * after the check.
 *
 * The root task has the highest priority. It creates workers, which are threads in its own
 * address space. It lets them run until no thread can run (cf_settle), looks at the result, and
 * receives without waiting. So a check ends whatever the kernel does. The exceptions are the
 * checks of preemption, where workers wait for each other, and some checks of interrupts, where
 * the root task waits. */
#ifndef CELLREAP_CONFORMANCE_H
#define CELLREAP_CONFORMANCE_H

#include "kernel/arch/arch.h"
#include "kernel/fault.h"
#include "kernel/kernel.h"

enum {
    CF_PAGE = 4096,
    CF_WORKERS = 6,
    CF_PRIORITY = 100,    /* priority of workers where the check does not depend on it */
    CF_UNTYPED_BITS = 22, /* size of the untyped that a check creates its objects from */
    CF_FIRST_SLOT = 8192, /* the check uses the slots of the pool from this one on */
    /* 1 << CF_CPTR_BEYOND is an address beyond any CSpace, because guards contain no 1 bits */
    CF_CPTR_BEYOND = 44
};

typedef struct cf_check {
    const char *name;
    void (*run)(void);
} cf_check;

/* The tables of checks, in the order in which they run. Each ends with a row without a name. */
extern const cf_check cf_caps_checks[];
extern const cf_check cf_memory_checks[];
extern const cf_check cf_ipc_checks[];
extern const cf_check cf_thread_checks[];
extern const cf_check cf_plain_ipc_checks[]; /* these two: only of kernels without MCS */
extern const cf_check cf_plain_thread_checks[];
extern const cf_check cf_mcs_checks[];    /* only of those with it */
extern const cf_check cf_device_checks[]; /* only if the kernel leaves a timer to user level */
extern const cf_check cf_ack_checks[];    /* only if an interrupt waits for an acknowledgement */
extern const cf_check cf_time_checks[];   /* only if the root task has the time from anywhere */

/* Makes one assertion. A check fails with its first failed assertion. */
void cf_is(uint64_t got, uint64_t expected);

/* -- objects */

extern seL4_CPtr cf_untyped; /* the untyped of the running check */

/* Returns the first of `count` consecutive empty slots. */
seL4_CPtr cf_slots(uint32_t count);
/* Creates objects from the check's untyped in new slots, and asserts success. Returns the first
 * slot. */
seL4_CPtr cf_make(seL4_Word type, seL4_Word bits, uint32_t count);
seL4_CPtr cf_endpoint(void);
seL4_CPtr cf_notification(void);
seL4_CPtr cf_frame(void);
/* Retypes into slots of the pool. Returns the kernel's result. */
seL4_Error cf_retype(seL4_CPtr untyped, seL4_Word type, seL4_Word bits, seL4_CPtr to,
                     uint32_t count);
/* Copies a capability with rights, or with a badge and rights, into a new slot, and asserts
 * success. */
seL4_CPtr cf_copy(seL4_CPtr from, seL4_CapRights_t rights);
seL4_CPtr cf_mint(seL4_CPtr from, seL4_CapRights_t rights, seL4_Word badge);
/* Whether a slot of the root task is empty. */
int cf_empty(seL4_CPtr at);
/* Whether a slot of a CNode is empty, which means that it cannot be copied. */
int cf_empty_in(cr_slot at);

/* -- workers */

typedef struct cf_worker {
    void (*run)(volatile struct cf_worker *self);
    seL4_CPtr tcb;
    seL4_CPtr sc;    /* with MCS: its time */
    seL4_CPtr reply; /* with MCS: where it receives callers */
    seL4_CPtr cap;
    seL4_CPtr other;
    uintptr_t address;
    /* The message to send, then the message received. 4 words fit into registers on every
     * architecture. */
    seL4_Word label;
    seL4_Word length;
    seL4_Word extra;
    seL4_Word words[4];
    seL4_Word badge;
    uint32_t progress; /* the number of steps done, counted by `run` */
    uint32_t order;    /* the value of cf_clock after the last step */
} cf_worker;

extern volatile cf_worker cf_workers[CF_WORKERS];
/* Counts the steps of all workers, so that checks can tell their order. */
extern volatile uint32_t cf_clock;

/* Creates the next worker: a thread in the root task's CSpace and address space, with its own
 * IPC buffer. Its faults go to `fault`, an address in its CSpace, or with MCS in the root task's;
 * 0: no handler. Its registers are set, but it is not started. */
volatile cf_worker *cf_worker_make(void (*run)(volatile cf_worker *self), seL4_CPtr cap,
                                   seL4_CPtr fault);
/* The same, with a CSpace of its own. */
volatile cf_worker *cf_worker_make_in(void (*run)(volatile cf_worker *self), seL4_CPtr cap,
                                      seL4_CPtr fault, seL4_CPtr cspace, seL4_Word data);
/* cf_start creates a worker and starts it. cf_set_priority sets a worker's priority, which is
 * CF_PRIORITY at first. cf_go starts a worker. */
volatile cf_worker *cf_start(void (*run)(volatile cf_worker *self), seL4_CPtr cap, seL4_CPtr fault);
void cf_set_priority(volatile cf_worker *worker, seL4_Word priority);
void cf_go(volatile cf_worker *worker);
/* Suspends a worker, wherever it is, and starts it from its beginning. */
void cf_go_anew(volatile cf_worker *worker);
/* Returns the IPC buffer of a worker. */
volatile seL4_IPCBuffer *cf_buffer(volatile cf_worker *worker);
/* Lets the other threads run until none can run. */
void cf_settle(void);
/* Makes cf_settle return although some thread can still run. */
void cf_wake_root(void);

/* Functions for workers. Each does one thing, counts it in `progress`, and then does nothing
 * more. */
void cf_do_call(volatile cf_worker *self);
void cf_do_send(volatile cf_worker *self);
void cf_do_recv(volatile cf_worker *self);
void cf_do_signal(volatile cf_worker *self);
void cf_do_read(volatile cf_worker *self);
void cf_do_write(volatile cf_worker *self);
void cf_do_spin(volatile cf_worker *self); /* counts for ever */

/* -- the root task as a receiver */

typedef struct cf_message {
    seL4_Word badge; /* 0: no thread sends */
    seL4_Word label;
    seL4_Word length;
    seL4_Word extra;
    seL4_Word unwrapped;
    seL4_Word words[8];
    seL4_MessageInfo_t tag;
} cf_message;

/* Settles, then receives the message of the thread that has waited longest. */
cf_message cf_receive(seL4_CPtr endpoint);
/* Creates a capability for a fault handler's endpoint, with the rights that the root task gives
 * to these. */
seL4_CPtr cf_fault_cap(seL4_CPtr endpoint, seL4_Word badge);
/* Receives, and asserts that the message is a fault caused by an access to that address. */
void cf_expect_vm_fault(seL4_CPtr endpoint, seL4_Word badge, uintptr_t address);
/* Answers the last message with a label and one word, and settles. */
void cf_reply(seL4_Word label, seL4_Word word);

/* Creates, from an untyped, an address space with the root task's image in it, except the
 * window. */
seL4_CPtr cf_vspace(seL4_CPtr untyped);
/* The pages of the image. It may be loaded with more behind them (docs/machines.md). */
seL4_Word cf_image_pages(void);
/* Moves a worker that has not started yet into that address space. */
void cf_move_to(volatile cf_worker *worker, seL4_CPtr vspace, seL4_CPtr fault);

/* A page of the root task's image where no frame is mapped, but whose tables exist. */
extern uint8_t cf_window[CF_PAGE];
/* Returns the capability to the frame that was mapped there. */
seL4_CPtr cf_window_frame(void);
/* Returns the capability to a page of the image. */
seL4_CPtr cf_image_frame(const volatile void *address);
const seL4_BootInfo *cf_info(void);

#endif
