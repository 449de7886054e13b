/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The conformance image: a root task that asserts, one named check after the other, every behaviour of the kernel
 * that the root task of this project and its PDs rely on. Each check starts with nothing but what the kernel
 * gave at boot and an untyped of its own, which is revoked after it.
 *
 * The root task has the highest priority. It makes workers, threads in its own address space, lets everybody
 * run until nobody can (cf_settle), looks at what has become of them, and receives without waiting. So a check
 * ends whatever the kernel does, but for those of preemption, where workers wait for each other, and for some of
 * interrupts, where the root task waits. */
#ifndef CELLREAP_CONFORMANCE_H
#define CELLREAP_CONFORMANCE_H

#include "kernel/arch/arch.h"
#include "kernel/fault.h"
#include "kernel/kernel.h"

enum {
    CF_PAGE = 4096,
    CF_WORKERS = 6,
    CF_PRIORITY = 100,     /* of workers, where it does not matter */
    CF_UNTYPED_BITS = 22,  /* of the untyped that checks make things of */
    CF_FIRST_SLOT = 8192,  /* slots of the pool from here on are the check's */
    CF_CPTR_BEYOND = 44    /* 1 << that: an address beyond any CSpace, as guards have no ones in them */
};

typedef struct cf_check {
    const char *name;
    void (*run)(void);
} cf_check;

/* The tables of checks, in the order in which they run; a row without a name ends one. */
extern const cf_check cf_caps_checks[];
extern const cf_check cf_memory_checks[];
extern const cf_check cf_ipc_checks[];
extern const cf_check cf_thread_checks[];
extern const cf_check cf_timer_checks[]; /* only where the kernel leaves a timer to user level */

/* One assertion of the check that runs. A check fails with its first assertion that does. */
void cf_is(uint64_t got, uint64_t expected);

/* -- objects */

extern seL4_CPtr cf_untyped; /* the check's untyped */

/* `count` slots one after the other, empty. */
seL4_CPtr cf_slots(uint32_t count);
/* Objects of the check's untyped in new slots; asserts that it can be done. The address of the first. */
seL4_CPtr cf_make(seL4_Word type, seL4_Word bits, uint32_t count);
seL4_CPtr cf_endpoint(void);
seL4_CPtr cf_notification(void);
seL4_CPtr cf_frame(void);
/* A retype into slots of the pool, whatever comes of it. */
seL4_Error cf_retype(seL4_CPtr untyped, seL4_Word type, seL4_Word bits, seL4_CPtr to, uint32_t count);
/* A copy with rights, or with a badge and rights, in a new slot; asserts that it can be made. */
seL4_CPtr cf_copy(seL4_CPtr from, seL4_CapRights_t rights);
seL4_CPtr cf_mint(seL4_CPtr from, seL4_CapRights_t rights, seL4_Word badge);
/* Whether a slot of the root task's holds nothing. */
int cf_empty(seL4_CPtr at);
/* Whether a slot of a CNode holds nothing: nothing can be copied from it. */
int cf_empty_in(cr_slot at);

/* -- workers */

typedef struct cf_worker {
    void (*run)(volatile struct cf_worker *self);
    seL4_CPtr tcb;
    seL4_CPtr cap;
    seL4_CPtr other;
    uintptr_t address;
    seL4_Word label;    /* of the message that it sends, then of the one that it received */
    seL4_Word length;   /* likewise */
    seL4_Word extra;    /* likewise */
    seL4_Word words[4]; /* likewise; 4 travel in registers on every architecture */
    seL4_Word badge;
    uint32_t progress; /* what it has done so far, counted by its function */
    uint32_t order;    /* the value of cf_clock when it was done */
} cf_worker;

extern volatile cf_worker cf_workers[CF_WORKERS];
/* Counts what workers do, so that the order of it can be told. */
extern volatile uint32_t cf_clock;

/* Makes the next worker: a thread of the root task's CSpace and address space with an IPC buffer of its own, faults to
 * `fault` (an address in its CSpace, 0: none), not started. Registers are set. */
volatile cf_worker *cf_worker_make(void (*run)(volatile cf_worker *self), seL4_CPtr cap, seL4_CPtr fault);
/* The same with a CSpace of its own. */
volatile cf_worker *cf_worker_make_in(void (*run)(volatile cf_worker *self), seL4_CPtr cap, seL4_CPtr fault,
                                      seL4_CPtr cspace, seL4_Word data);
/* Made, and resumed at the usual priority or another. */
volatile cf_worker *cf_start(void (*run)(volatile cf_worker *self), seL4_CPtr cap, seL4_CPtr fault);
void cf_set_priority(volatile cf_worker *worker, seL4_Word priority);
void cf_go(volatile cf_worker *worker);
/* A worker's IPC buffer. */
volatile seL4_IPCBuffer *cf_buffer(volatile cf_worker *worker);
/* Lets everybody run until nobody can. */
void cf_settle(void);
/* Tells the root task that everything has been seen, though somebody still runs: cf_settle returns. */
void cf_wake_root(void);

/* What workers do: one thing, counted in `progress` when it is done, and then nothing any more. */
void cf_do_call(volatile cf_worker *self);
void cf_do_send(volatile cf_worker *self);
void cf_do_recv(volatile cf_worker *self);
void cf_do_signal(volatile cf_worker *self);
void cf_do_read(volatile cf_worker *self);
void cf_do_write(volatile cf_worker *self);
void cf_do_spin(volatile cf_worker *self); /* counts for ever */

/* -- the root task as a receiver */

typedef struct cf_message {
    seL4_Word badge; /* 0: nobody sends */
    seL4_Word label;
    seL4_Word length;
    seL4_Word extra;
    seL4_Word unwrapped;
    seL4_Word words[8];
    seL4_MessageInfo_t tag;
} cf_message;

/* Lets everybody run until nobody can, and takes the message of who waits longest. */
cf_message cf_receive(seL4_CPtr endpoint);
/* A capability that a fault handler's endpoint is named by, with the rights that the root task gives to those. */
seL4_CPtr cf_fault_cap(seL4_CPtr endpoint, seL4_Word badge);
/* Receives, and asserts that it is the fault of an access to that address. */
void cf_expect_vm_fault(seL4_CPtr endpoint, seL4_Word badge, uintptr_t address);
/* Answers the last message, with a label and one word, and lets everybody run. */
void cf_reply(seL4_Word label, seL4_Word word);

/* An address space with the root task's image in it, all but the window, made of an untyped. */
seL4_CPtr cf_vspace(seL4_CPtr untyped);
/* Moves a worker that has not started yet there. */
void cf_move_to(volatile cf_worker *worker, seL4_CPtr vspace, seL4_CPtr fault);

/* A page of the root task's image where nothing is mapped, and its tables are there. */
extern uint8_t cf_window[CF_PAGE];
/* The capability to the frame that was there. */
seL4_CPtr cf_window_frame(void);
/* The capability to a page of the image. */
seL4_CPtr cf_image_frame(const volatile void *address);
const seL4_BootInfo *cf_info(void);

#endif
