/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Serves the operations of PDs. Each has two functions, in operations_<topic>.c:
 *
 * - cr_check_<word> decides. It must not change anything: not the model, the kernel, the tables or
 *   the trace. It refuses with one precise result, or stores in `found` what cr_do_<word> needs.
 * - cr_do_<word> does the operation directly afterwards. What makes something can be refused by the
 *   kernel while it is being made. The operation is then undone, and `undone` says why.
 *
 * CR_OPERATIONS in protocol.h lists the operations. An operation that lacks one of the functions
 * does not link. The badge that the kernel delivered identifies the caller. Everything else in a
 * message is only a claim and must be checked against the model. */
#ifndef CELLREAP_SUPERVISOR_OPERATIONS_H
#define CELLREAP_SUPERVISOR_OPERATIONS_H

#include "interleaved.h"
#include "cleaner.h"
#include "extract.h"
#include "faults.h"
#include <cellreap/decode.h>

enum { CR_MAX_RESULTS = 2 + CR_WORK_MAX * CR_WORK_WORDS };

/* The findings of a check. An operation uses the members that it needs. */
typedef struct cr_found {
    cr_ref node;           /* the space or resource of the operation; the first end of a map */
    cr_ref target;         /* the second end of a map */
    cr_pd *pd;             /* the PD that is named, or the client with the badge */
    uint32_t slot;         /* in a PD's CSpace, for the new capability */
    uint32_t there;        /* CONNECT: whether space and request exist */
    uint32_t state;        /* LOOK: a cr_look_state */
    uint32_t program;      /* SPAWN */
    uint32_t config;       /* STAY_DOWN: the configured PD */
    uint32_t tells;        /* DISCONNECT: the server receives a notice */
    cr_work_notice notice; /* RESUME_WORK, SUBGRAPH */
    cr_work_answer answers[CR_WORK_MAX]; /* FINISH_WORK */
    cr_pieces pieces;                    /* SUBGRAPH */
    const cr_held_fault *fault;          /* FAULT_INFO */
    const cr_tombstone *tombstone;       /* POST_MORTEM */
} cr_found;

/* An operation, from its message to its answer. */
typedef struct cr_asked {
    cr_pd *from;
    cr_way way;
    cr_operation_args args;
    cr_found found;
    /* The answer. A check that refuses may also set results. */
    uint32_t count;
    uint64_t results[CR_MAX_RESULTS];
    cr_wait wait;     /* not CR_WAIT_NOTHING: the answer comes later */
    int never;        /* the operation is never answered */
    cr_result undone; /* not OK: the operation was undone */
    /* A PD that becomes a trigger after the operation, or 0. */
    cr_pd *down;
    cr_cause cause;
    int later;       /* it goes on until its cleanup begins */
    uint64_t ticket; /* of the cleanup */
} cr_asked;

typedef struct cr_operations {
    cr_message message;
    cr_asked asked;
} cr_operations;

#define CR_OPERATION(enumerator, number, word, ...)                                                \
    cr_result cr_check_##word(cr_asked *a);                                                        \
    void cr_do_##word(cr_asked *a);
CR_OPERATIONS
#undef CR_OPERATION

/* Serves one operation of a PD. Answers it now or later. */
void cr_serve(cr_pd *from, const cr_message *message, cr_way way);
/* Serves an operation between two steps of a cleanup. See cr_interleaved. */
int cr_serve_interleaved(cr_pd *from, const cr_kept *kept);

/* Fetches and finishes the notices of the PDs that were built for Microkit. */
void cr_acknowledge_for_microkit(void);

/* -- shared by several checks */

/* The PD that the PD capability in the message refers to. CR_RESULT_BAD_BADGE, GONE. */
cr_result cr_find_named_pd(const cr_asked *a, cr_pd **out);
/* The same, or the caller if the message has none. */
cr_result cr_find_named_or_self(const cr_asked *a, cr_pd **out);
/* A space, or a resource, that the caller manages. CR_RESULT_NO_SUCH, GONE, DENIED. */
cr_result cr_find_own_space(const cr_asked *a, cr_ref *out);
cr_result cr_find_own_resource(const cr_asked *a, cr_ref *out);
/* The client whose REQUEST has the badge in the message. The REQUEST must be to a space of the
 * caller. CR_RESULT_BAD_BADGE, DENIED, GONE. */
cr_result cr_find_own_client(const cr_asked *a, cr_pd **out);
/* The answer to the operation is its new ticket, at once or when the ticket is over. */
void cr_answer_ticket(cr_asked *a, uint64_t ticket);
/* The number in the id of an existing node. */
uint32_t cr_number_of(cr_ref node);

#endif
