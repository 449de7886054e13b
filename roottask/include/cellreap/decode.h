/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Decodes the message of a PD into an operation and its arguments, and checks all that the message
 * alone shows (docs/operations.md). Nothing in a message is trusted, and nothing beyond its length
 * is read. The supervisor checks whether the named nodes exist and whether the sender may use them.
 *
 * The arguments of the operations are defined in one place: CR_OPERATIONS in protocol.h. */
#ifndef CELLREAP_DECODE_H
#define CELLREAP_DECODE_H

#include <cellreap/model.h>
#include <cellreap/protocol.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A message as received. */
typedef struct cr_raw_message {
    uint64_t label;
    uint32_t length;    /* number of registers, all of them in `words` */
    uint32_t extra;     /* number of capabilities that the message has */
    uint64_t unwrapped; /* badge of the first one if it is to the root task's endpoint, else 0 */
    const uint64_t *words;
} cr_raw_message;

/* One row of a FINISH_WORK. */
typedef struct cr_finish_answer {
    uint64_t token;
    cr_work_result result;
} cr_finish_answer;

/* One MAP edge of a SUBGRAPH. `object` and `target_object` are both 0 (the spaces themselves) or
 * both nonzero. */
typedef struct cr_subgraph_item {
    uint32_t object;
    uint32_t target_space;
    uint32_t target_object;
} cr_subgraph_item;

/* The arguments of an operation. Members that the operation does not have are 0, except for those
 * from `name` on, which are as they were. A number that is
 * too large for an id becomes CR_NONE, which is the number of no node. Object 0 is the space
 * itself. */
typedef struct cr_operation_args {
    cr_op op;
    uint32_t space;
    uint32_t object;         /* LOOK with space 0: a PD's number, or 0 */
    uint32_t target_space;   /* MAP, UNMAP, BACK */
    uint32_t target_object;  /* 0 if and only if `object` is 0 */
    uint32_t has_pd;         /* whether the message has a capability */
    uint64_t pd;             /* its badge: any value; 0 if it is not to the root task's endpoint */
    uint64_t badge;          /* GIVE, TAKE_BACK: any value */
    uint64_t token;          /* SUBGRAPH, FAULT_INFO; LISTEN, PROGRESS: the number */
    uint64_t ticket;         /* TICKET, CANCEL */
    uint64_t code;           /* EXIT */
    uint64_t address;        /* DUMP, ATTACH: any value */
    uint32_t round_boundary; /* CHECKPOINT: 0 or 1 */
    uint32_t wait;           /* TICKET: 0 or 1 */
    uint32_t no_wait;        /* CONNECT: 0 or 1 */
    uint32_t later;          /* TERMINATE: 0 or 1 */
    uint32_t pinned;         /* PIN */
    uint32_t handler;        /* SUBSCRIBE, UNSUBSCRIBE: below CR_HANDLER_COUNT */
    uint32_t pd_depth;       /* SET_DEPTH */
    uint32_t rs_depth;
    uint32_t pd_number; /* ALLOW: 0 unless `space` is 0 */
    uint32_t allowed;   /* ALLOW */
    uint32_t pages;     /* ALLOCATE */
    uint32_t large;     /* ALLOCATE: 0 or 1 */
    uint32_t writable;  /* ATTACH, BACK: 0 or 1 */
    uint32_t read_only; /* GIVE, SEND: 0 or 1 */
    uint32_t count;     /* number of bytes in `text`, or of rows in `answers` or `items` */
    char name[CR_NAME_WORDS * 8];          /* printable, not empty, NUL-terminated */
    char type[CR_TYPE_WORDS * 8];          /* [A-Z][A-Z0-9_]*, no core type, NUL-terminated */
    char text[CR_SAY_MAX];                 /* any bytes */
    cr_finish_answer answers[CR_WORK_MAX]; /* FINISH_WORK */
    cr_subgraph_item items[CR_SUBGRAPH_MAX];
} cr_operation_args;

/* Decodes a message. Returns CR_RESULT_OK, or the result with which the message is refused:
 * CR_RESULT_BAD_MAGIC, BAD_OP, BAD_LENGTH, NO_SUCH or FAILED. *out is valid only if the
 * result is CR_RESULT_OK. */
cr_result cr_decode_operation(const cr_raw_message *message, cr_operation_args *out);

#ifdef __cplusplus
}
#endif

#endif
