/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The saved state that the image carries: what an earlier run left of PDs and spaces that the
 * configuration no longer names. They are made again, with the numbers that they had, and with what
 * PDs of the configuration have to do with them. A cleanup then takes them as after a crash
 * (cr_cleaner_reconcile), so that managers are told what is no longer held. No PD runs before
 * that. */
#ifndef CELLREAP_SYSTEM_SAVED_H
#define CELLREAP_SYSTEM_SAVED_H

#include "system.h"

/* Makes the PDs that the configuration does not name. Must be called before any other PD is made,
 * because numbers only grow. */
void cr_saved_make_pds(void);
/* Makes the spaces, the resources and the edges. Must be called when the configured PDs exist. */
void cr_saved_make_rest(void);
/* What the configuration does not name: PDs, and spaces of PDs that it names. Returns how many. */
uint32_t cr_saved_unnamed(const cr_ref **out);

/* Whether the space was made for its manager, which has not created it yet. Nobody else sees it. */
int cr_saved_waits(cr_ref space);
/* Its manager creates it. */
void cr_saved_create(cr_ref space);

#endif
