/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The body of a PD: its TCB, CSpace, address space, endpoint and notification. All of them are
 * retyped from one untyped that no other PD uses. The same untyped provides a CNode (the body's
 * CNode), which holds all of the root task's capabilities to these objects.
 *
 * To destroy a body, the root task suspends its TCB and revokes its untyped. These are two kernel
 * calls, no matter what the PD holds. For this to remain true, nothing of a PD may be retyped from
 * another untyped, and nothing of another PD from this one.
 *
 * The threads of a process share the address space of the first one, which has the program's pages.
 * The body of another thread has a copy of the capability, and in its own span of addresses
 * (protocol.h) its own pages and the page table for them. It must be destroyed before the first
 * one: plans have that order because the first one owns the others. */
#ifndef CELLREAP_SEL4_BODY_H
#define CELLREAP_SEL4_BODY_H

#include "kernel/kernel.h"
#include <cellreap/limits.h>
#include <cellreap/make_steps.h>
#include <cellreap/protocol.h>

/* Slots of the body's CNode. */
enum {
    CR_BODY_CALLER = 0, /* a reply capability is saved here first */
    CR_BODY_SC = 0,     /* with MCS, which saves none: its scheduling context */
    CR_BODY_TCB = 1,
    CR_BODY_CSPACE = 2,
    CR_BODY_VSPACE = 3,
    CR_BODY_ENDPOINT = 4,
    CR_BODY_NOTIFICATION = 5,
    CR_BODY_SIGNAL = 6, /* the notification, badged as the root task's signal */
    CR_BODY_REPLY = 7,  /* the reply capability of an operation that is answered later */
    CR_BODY_TABLES = 8, /* then the frames, then the parents */
    CR_BODY_TABLES_MAX = 32,
    /* + the index of a configured PD: the owner of the memory for its body. A lower owner is the
     * number of an account, and owns the memory for what it spawns. */
    CR_OWNER_BODY = 0x1000,
    CR_OWNER_MEMORY = 0x2000, /* + what configured regions have: regions.c */
    /* Slots of the root task that a body uses: the slot of its untyped and its L1 slot. */
    CR_BODY_ROOT_SLOTS = 2,
    CR_RESOURCE_ROOT_SLOTS = 1, /* the slot of the parent of a resource's capabilities */
    /* Of a PD that another PD spawned. */
    CR_SPAWNED_CSPACE_BITS = 6,
    CR_SPAWNED_STACK_PAGES = 4,
    CR_PRIORITY_OF_SAVED = 1 /* of a PD of a saved state (saved.h), which never runs */
};

typedef struct cr_body {
    uint32_t block; /* the block of its untyped */
    uint32_t l1;    /* L1 slot of the body's CNode */
    uint32_t cspace_bits;
    /* first slot in the body's CNode of the parents of REQUEST capabilities; one per slot of the
     * PD's CSpace */
    uint32_t parents;
} cr_body;

/* The rights of clients' and holders' capabilities: to send, and to receive a reply. */
#define CR_CLIENT_RIGHTS seL4_CapRights_new(1, 0, 0, 1)

/* A capability to another PD's notification, or with which it calls that PD. */
typedef struct cr_peer_cap {
    uint32_t slot;
    seL4_CPtr to;
    seL4_Word badge;
    int calls;
} cr_peer_cap;

typedef struct cr_pages {
    uint32_t count;
    uint32_t bits; /* of each: CR_PAGE_BITS or CR_LARGE_PAGE_BITS */
} cr_pages;

static inline uint64_t cr_bytes_of(cr_pages pages)
{
    return (uint64_t)pages.count << pages.bits;
}

/* Addresses of a region, for which the body has page tables. */
typedef struct cr_body_range {
    uint64_t vaddr;
    cr_pages pages;
} cr_body_range;

typedef struct cr_body_params {
    const uint8_t *elf; /* an ELF64 executable, aligned to 8 bytes */
    uint64_t elf_bytes;
    uint32_t cspace_bits;
    uint32_t stack_pages;
    uint32_t priority;
    cr_time time;
    int passive;      /* it runs on the time of its callers */
    int microkit;     /* it has the slots of protocol.h for that */
    uint32_t number;  /* of the PD, which a timeout fault names */
    uint32_t l1;      /* a free L1 slot */
    uint32_t thread;  /* its number in its process */
    seL4_CPtr vspace; /* of a thread other than 0: the address space of the process */
    const cr_startup *startup;
    seL4_CPtr root_endpoint;  /* unbadged */
    seL4_CPtr bell;           /* its notification, if that outlives it (channels.h); else 0 */
    seL4_CPtr door;           /* its endpoint, if that outlives it (doors.h); else 0 */
    const cr_peer_cap *peers; /* with which it signals and calls other PDs */
    uint32_t n_peers;
    const cr_body_range *ranges; /* of its regions */
    uint32_t n_ranges;
    seL4_Word request_badge;  /* for the PD's operations */
    seL4_CPtr fault_endpoint; /* unbadged */
    seL4_Word fault_badge;
    const char *name; /* of the thread, for the kernel's own messages */
    uint32_t owner;   /* of the memory */
} cr_body_params;

/* Prepares the address in the root task's image at which frames are filled. Must be called once,
 * before the first body is made. */
cr_status cr_body_init(const seL4_BootInfo *info, uintptr_t image_start);

/* Maps a frame where the root task may write to it. uncached: a frame of a device, or memory that
 * a PD has without a cache. */
seL4_Error cr_window_open(seL4_CPtr frame, uint32_t page_bits, int uncached, uint8_t **out);
seL4_Error cr_window_close(void);
/* Makes what is in a CNode visible in L1 slot cr_l1_spare(). `bits`: log2 of its slots. If a
 * cleaner died before it closed and hid what it had there, that is done first. */
seL4_Error cr_cnode_show(cr_slot cnode, uint32_t bits);
seL4_Error cr_cnode_hide(void);

/* Takes a block of 2^bits bytes. What is of the configuration has an owner from CR_OWNER_BODY on,
 * and its memory is set aside for it from the first time on. */
cr_status cr_body_take_block(uint32_t bits, uint32_t owner, uint32_t *block);
/* Destroys all that was made of the block, gives it back, and makes it CR_BLOCK_NONE, which is
 * ignored. CR_ERR_KERNEL. */
cr_status cr_body_give_block(uint32_t *block);

/* A body is made in steps: cr_body_lay_out, cr_body_take, and each step of cr_body_step. At the end
 * the program is loaded, and the thread is suspended, ready to be resumed. The parameters must stay
 * the same, and one body is made at a time. cr_body_give_block removes everything from
 * cr_body_take on. The TCB should be suspended before that. */
/* Computes the body. Changes nothing. CR_ERR_ARG: the ELF file cannot be loaded. */
cr_status cr_body_lay_out(const cr_body_params *params);
/* Takes the untyped. CR_ERR_MEMORY. */
cr_status cr_body_take(const cr_body_params *params, cr_body *out);
/* How many steps there are, and step `at`, from 0. Returns 0 if there is no such step. */
uint32_t cr_body_steps(void);
int cr_body_step(uint32_t at, cr_make_step *out);
/* CR_ERR_MEMORY: the kernel refused. */
cr_status cr_body_apply(const cr_body_params *params, const cr_body *body,
                        const cr_make_step *step);

/* Sets memory aside for a body with this owner. CR_ERR_ARG, CR_ERR_MEMORY. */
cr_status cr_body_reserve(const cr_body_params *params);

/* The contents of the program at these addresses, if they are code that nobody can change. 0: they
 * are not. */
const uint8_t *cr_body_code(const uint8_t *elf, uint64_t vaddr, uint64_t bytes);

/* Copies words from an address to the end of its page, but at most `max`. With `out` 0 only counts
 * them. The parameters are those that the body was made with, as far as they are about its pages.
 * Returns 0 if nothing is mapped there or the kernel refuses. No body may be made meanwhile. */
uint32_t cr_body_read(const cr_body_params *params, const cr_body *body, uint64_t vaddr,
                      uint64_t *out, uint32_t max);

static inline seL4_CPtr cr_body_cap(const cr_body *body, uint32_t slot)
{
    return cr_cptr(body->l1, slot);
}

#endif
