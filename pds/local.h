/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the library keeps for one thread: in the page of its IPC buffer, behind the buffer. The
 * variables of a program are those of all threads of its process. */
#ifndef CELLREAP_PD_LOCAL_H
#define CELLREAP_PD_LOCAL_H

#include <cellreap/client.h>

/* What it stated (statements.c). */
typedef struct cr_stated {
    uint64_t secret; /* 0: no statements */
    uint64_t sum;
    uint32_t count; /* entries */
    int is_stated;  /* the last line has all of them, or announced them */
    uint32_t answers;
    uint32_t refusals;
    /* The sum and the number of entries if the operation that was announced is carried out. */
    uint64_t sum_then;
    uint32_t count_then;
} cr_stated;

/* Its subscriptions of one handler with one data to one node (handlers.c). */
typedef struct cr_subscription {
    cr_subject subject;
    uint32_t pd; /* the number of the PD in notices, 0 for a space */
    cr_handler handler;
    uint64_t data;
    uint32_t count; /* 0: the entry is free */
} cr_subscription;

typedef struct cr_local {
    cr_stated stated;
    cr_subscription subscriptions[CR_HANDLERS_MAX];
    cr_handler destructor; /* null: there is none */
    uint64_t destructor_data;
    uint32_t rung;       /* the bits of channels and interrupts that were signalled */
    seL4_Word calls;     /* that cr_call made */
    cr_incoming message; /* that cr_serve serves */
} cr_local;

enum { CR_PAGE_BYTES = 1 << CR_PAGE_BITS };

_Static_assert(sizeof(seL4_IPCBuffer) + sizeof(cr_local) <= CR_PAGE_BYTES, "one page has both");

static inline cr_local *cr_here(void)
{
    return (cr_local *)(void *)(seL4_GetIPCBuffer() + 1);
}

#endif
