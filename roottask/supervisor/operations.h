/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations of PDs. Each is checked in full first, without any effect, and is then refused with one precise reason or
 * carried out. Who asks is known by the badge that the kernel delivered. What a message claims beyond that is checked
 * against the model. */
#ifndef CELLREAP_SUPERVISOR_OPERATIONS_H
#define CELLREAP_SUPERVISOR_OPERATIONS_H

#include "system/system.h"
#include <cellreap/decode.h>

/* A message as it came, out of the IPC buffer, which the next kernel call overwrites. */
typedef struct cr_message {
    cr_raw_message raw; /* of `words` */
    uint64_t words[seL4_MsgMaxLength];
} cr_message;

typedef struct cr_operations {
    cr_message message;
} cr_operations;

/* Serves one operation of a PD and answers it, now or later. */
void cr_serve(cr_pd *from, const cr_message *message);

#endif
