/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The body of a PD: its TCB, CSpace, address space, endpoint and notification, all retyped from one untyped
 * that belongs to it alone, and all capabilities that the root task has to them in one CNode that is made of
 * it too. Destroying a body is suspending its TCB and revoking its untyped: two kernel calls, whatever the
 * PD held. */
#ifndef CELLREAP_SEL4_BODY_H
#define CELLREAP_SEL4_BODY_H

#include "kernel/kernel.h"
#include <cellreap/limits.h>
#include <cellreap/protocol.h>

/* Slots of a body's CNode. */
enum {
    CR_BODY_CALLER = 0, /* where a reply capability is saved first */
    CR_BODY_TCB = 1,
    CR_BODY_CSPACE = 2,
    CR_BODY_VSPACE = 3,
    CR_BODY_ENDPOINT = 4,
    CR_BODY_NOTIFICATION = 5,
    CR_BODY_SIGNAL = 6, /* the notification again, badged as the root task's signal */
    CR_BODY_REPLY = 7,  /* the reply capability of a request that is answered later */
    CR_BODY_TABLES = 8,
    CR_BODY_FRAMES = 40,
    /* Slots of the root task's that a body takes: its untyped's and its place in the first level. */
    CR_BODY_ROOT_SLOTS = 2
};

typedef struct cr_body {
    uint32_t block; /* of its untyped */
    uint32_t l1;    /* L1 slot of its CNode */
    uint32_t cspace_bits;
    uint32_t parents; /* slot of its CNode from which on, one a slot of its CSpace, the parents of REQUESTs are */
} cr_body;

typedef struct cr_body_params {
    const uint8_t *elf; /* an ELF64 executable, aligned to 8 bytes */
    uint64_t elf_bytes;
    uint32_t cspace_bits;
    uint32_t stack_pages;
    uint32_t priority;
    uint32_t l1; /* a free L1 slot */
    const cr_startup *startup;
    seL4_CPtr root_endpoint;  /* unbadged */
    seL4_Word request_badge;  /* for the PD's requests to the root task */
    seL4_CPtr fault_endpoint; /* unbadged: the root task's or the fault handler's */
    seL4_Word fault_badge;
    const char *name;
} cr_body_params;

/* Addresses of the root task's image that frames are mapped at to be filled; kept from boot. */
cr_status cr_body_init(const seL4_BootInfo *info);

/* Makes a body, loads the program and leaves the thread suspended, ready to be resumed. On failure nothing is
 * left behind. CR_ERR_ARG: the ELF file is none that can be loaded. CR_ERR_MEMORY: no kernel memory. */
cr_status cr_body_make(const cr_body_params *params, cr_body *out);

/* Revokes the untyped and gives it back. The TCB should be suspended by now. */
cr_status cr_body_destroy(cr_body *body);

static inline seL4_CPtr cr_body_cap(const cr_body *body, uint32_t slot)
{
    return cr_cptr(body->l1, slot);
}

#endif
