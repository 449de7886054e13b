/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations of PDs. Each has two functions, in operations_<topic>.c:
 *
 * - cr_check_<word> decides. It changes nothing: not in the model, the kernel, the tables, or
 *   the trace. It refuses with one precise result, or notes in `found` what cr_do_<word> needs.
 * - cr_do_<word> does it, right afterwards. It cannot refuse. SPAWN alone may run out of kernel
 *   memory while the PD is being made: it then undoes what it made, and says so in `undone`.
 *
 * CR_OPERATIONS in protocol.h lists them: an operation without either does not link. The badge
 * that the kernel delivered tells who asks. What a message claims beyond that is checked
 * against the model. */
#ifndef CELLREAP_SUPERVISOR_OPERATIONS_H
#define CELLREAP_SUPERVISOR_OPERATIONS_H

#include "cleaner.h"
#include "extract.h"
#include <cellreap/decode.h>

/* A message as it came, out of the IPC buffer, which the next kernel call overwrites. */
typedef struct cr_message {
    cr_raw_message raw; /* of `words` */
    uint64_t words[seL4_MsgMaxLength];
} cr_message;

enum { CR_MAX_RESULTS = 2 + CR_WORK_MAX * CR_WORK_WORDS };

/* What a check found out. An operation uses those members that it needs. */
typedef struct cr_found {
    cr_ref node;        /* the space or resource that it is about; the first end of a map */
    cr_ref target;      /* the second end of a map */
    cr_pd *pd;          /* the PD that is named, or the client whose badge is */
    uint32_t slot;      /* of a PD's CSpace, for the capability to be given */
    uint32_t there;     /* CONNECT: what is there of space and request */
    uint32_t state;     /* LOOK: a cr_look_state */
    uint32_t program;   /* SPAWN */
    uint32_t tells;     /* DISCONNECT: the server gets a notice */
    cr_work_notice notice; /* RESUME_WORK, SUBGRAPH */
    cr_work_answer answers[CR_WORK_MAX]; /* FINISH_WORK */
    cr_pieces pieces;   /* SUBGRAPH */
} cr_found;

/* An operation from its message to its answer. */
typedef struct cr_asked {
    cr_pd *from;
    cr_operation_args args;
    cr_found found;
    /* The answer. A check that refuses may have set results too. */
    uint32_t count;
    uint64_t results[CR_MAX_RESULTS];
    cr_wait wait;     /* not WAIT_NOTHING: the caller is answered later */
    int never;        /* it is not answered at all */
    cr_result undone; /* not OK: see above */
    /* A PD to be cleaned up after when that is done, or 0. */
    cr_pd *down;
    cr_cause cause;
    uint64_t ticket; /* on whose account */
} cr_asked;

typedef struct cr_operations {
    cr_message message;
    cr_asked asked;
} cr_operations;

#define CR_OPERATION(enumerator, number, word, ...) \
    cr_result cr_check_##word(cr_asked *a);         \
    void cr_do_##word(cr_asked *a);
CR_OPERATIONS
#undef CR_OPERATION

/* Serves one operation of a PD and answers it, now or later. */
void cr_serve(cr_pd *from, const cr_message *message);

/* -- what several checks ask */

/* The PD that the message's PD capability is to. CR_RESULT_BAD_BADGE, GONE. */
cr_result cr_find_named_pd(const cr_asked *a, cr_pd **out);
/* A space, or a resource, that the caller manages. CR_RESULT_NO_SUCH, GONE, DENIED. */
cr_result cr_find_own_space(const cr_asked *a, cr_ref *out);
cr_result cr_find_own_resource(const cr_asked *a, cr_ref *out);
/* The client whose request has that badge; it is to a space of the caller's.
 * CR_RESULT_BAD_BADGE, DENIED, GONE. */
cr_result cr_find_own_client(const cr_asked *a, cr_pd **out);
/* The configured space of that name, or CR_IMAGE_NONE. */
uint32_t cr_find_configured_space(const char *name);
/* The number in the id of a node that is there. */
uint32_t cr_number_of(cr_ref node);

#endif
