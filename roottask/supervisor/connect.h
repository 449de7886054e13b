/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CONNECT: a REQUEST to a space by the name of the space. The PD is answered at once, or when the
 * space exists. A PD whose space cannot be created any more must be answered, because otherwise it
 * would wait for ever. */
#ifndef CELLREAP_SUPERVISOR_CONNECT_H
#define CELLREAP_SUPERVISOR_CONNECT_H

#include "system/system.h"

/* The active space of this name. CR_RESULT_NO_SUCH. */
cr_result cr_find_named_space(const char *name, cr_ref *out);
/* The same, without spaces whose manager is stopped: nobody can get a request to them. */
cr_result cr_find_served_space(const char *name, cr_ref *out);
/* Whether the space that a PD waits for can still be created. This is not so if the PD that creates
 * the space does not exist and will not be created, or if the PD waits in a circle: for a PD that
 * waits, directly or through others, for a space of this PD. A PD that waits for such a PD can
 * still get its space: the answer to the other one lets that one continue. */
int cr_connect_may_come(const cr_pd *pd);
/* Whether the space that the PD waits for comes from a PD that does not exist now and will be
 * created. Not so while there is no room for that PD: it may never come. */
int cr_connect_is_on_its_way(const cr_pd *pd);
/* The PD at the end of the chain of waits that this PD's wait begins: the one that has to act next.
 * 0: the PD does not wait, or that one does not exist now. */
cr_pd *cr_connect_last(const cr_pd *pd);
/* Answers a PD that waits: with its REQUEST if the space exists, otherwise with GONE. */
void cr_connect_answer(cr_pd *pd);
/* The same for the PDs that wait for a space of this name, which was just created. */
void cr_connect_wake(const char *name);
/* Answers a PD that waits: its CONNECT was cancelled. */
void cr_connect_cancel(cr_pd *pd);
/* Answers PDs that wait for a space that cannot be created any more. Must be called after PDs or
 * spaces may have been destroyed. */
void cr_connect_follow_up(void);

#endif
