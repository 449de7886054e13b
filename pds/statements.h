/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a PD says itself about what it asks of the root task: statement.h has the form. */
#ifndef CELLREAP_PD_STATEMENTS_H
#define CELLREAP_PD_STATEMENTS_H

#include <cellreap/protocol.h>

/* Before anything is asked: the PD will make statements. */
void cr_state_begin(void);
/* Before a message: states it if nothing else tells of it than the root task. */
void cr_state_asks(cr_op op, const uint64_t *arguments, uint32_t count);
/* When it was answered with this label and so many words, which are in the IPC buffer. */
void cr_state_answered(cr_op op, uint64_t label, uint32_t count);
/* States all that was answered since the last statement, if there is anything. */
void cr_state_sum(void);

#endif
