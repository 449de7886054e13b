/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a PD's message asks for, checked as far as the message alone tells (docs/operations.md).
 * A message is whatever its sender put there: nothing in it is trusted, and nothing beyond its
 * length is read. Whether what it names exists, and whether its sender may use it, is checked
 * by the supervisor.
 *
 * Which arguments an operation has is written in one place: CR_OPERATIONS in protocol.h. */
#ifndef CELLREAP_DECODE_H
#define CELLREAP_DECODE_H

#include <cellreap/model.h>
#include <cellreap/protocol.h>

/* A message as it came. */
typedef struct cr_raw_message {
    uint64_t label;
    uint32_t length; /* registers; `words` has as many */
    uint32_t extra;  /* capabilities that came along */
    uint64_t unwrapped; /* the first one's badge, if it was to the root task's endpoint; else 0 */
    const uint64_t *words;
} cr_raw_message;

/* One notice's part of a FINISH_WORK. */
typedef struct cr_finish_answer {
    uint64_t token;
    cr_work_result result;
} cr_finish_answer;

/* One MAP edge of a SUBGRAPH. Objects are both 0 (the spaces themselves) or both not. */
typedef struct cr_subgraph_item {
    uint32_t object;
    uint32_t target_space;
    uint32_t target_object;
} cr_subgraph_item;

/* The arguments of an operation. Members that the operation does not have are 0. Numbers out of
 * ids that are too large are CR_NONE, which is no number of anything. Object 0 is the space
 * itself. */
typedef struct cr_operation_args {
    cr_op op;
    uint32_t space;
    uint32_t object;        /* LOOK with space 0: a PD's number, or 0 */
    uint32_t target_space;  /* MAP, UNMAP */
    uint32_t target_object; /* 0 exactly if object is 0 */
    uint32_t has_pd;        /* whether a capability came along */
    uint64_t pd;            /* its badge: any value, 0 if it is no capability to a PD */
    uint64_t badge;         /* GIVE, TAKE_BACK, REPORT_FAULT: any value */
    uint64_t token;         /* SUBGRAPH */
    uint64_t ticket;        /* TICKET */
    uint64_t code;          /* EXIT */
    uint64_t address;       /* REPORT_FAULT */
    uint64_t ip;
    cr_fault_kind fault_kind;
    uint32_t round_boundary; /* CHECKPOINT: 0 or 1 */
    uint32_t wait;           /* TICKET: 0 or 1 */
    uint32_t no_wait;        /* CONNECT: 0 or 1 */
    uint32_t pd_depth;       /* SET_DEPTH */
    uint32_t rs_depth;
    uint32_t count; /* of bytes in text, or of rows in answers or items */
    char name[CR_NAME_WORDS * 8]; /* printable, not empty, ends with a NUL */
    char type[CR_TYPE_WORDS * 8]; /* [A-Z][A-Z0-9_]*, no core type, ends with a NUL */
    char text[CR_SAY_MAX];        /* any bytes */
    cr_finish_answer answers[CR_WORK_MAX]; /* FINISH_WORK: no token twice */
    cr_subgraph_item items[CR_SUBGRAPH_MAX];
} cr_operation_args;

/* Takes a message apart. CR_RESULT_OK, or what it is refused with; *out is then of no meaning.
 * Writes nothing else. CR_RESULT_BAD_MAGIC, BAD_OP, BAD_LENGTH, NO_SUCH, BAD_BADGE, FAILED. */
cr_result cr_decode_operation(const cr_raw_message *message, cr_operation_args *out);

#endif
