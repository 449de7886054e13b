/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The accounts of the configured PDs: what each of them, together with the PDs that it spawned,
 * uses of the root task's tables (cr_quota in limits.h).
 *
 * The use is not stored but counted in the tables themselves, so it cannot differ from them.
 * Between two counts only an upper bound is kept: what was granted since the last count is added,
 * what was dropped is not subtracted. An account is counted again when its bound reaches its
 * quota.
 *
 * An account that has no room for another edge is relieved of the notices that its destroyed PDs
 * left behind (backlog.h).
 *
 * A configured PD itself is not charged: its node, its PD capability, its requests to core spaces,
 * its fault handler, its links and the PD capabilities that the configuration gives it. Room for
 * them is set aside. */
#ifndef CELLREAP_SYSTEM_CHARGE_H
#define CELLREAP_SYSTEM_CHARGE_H

#include "system.h"

/* Divides the tables among the accounts. Stops the system if the quotas of the configuration do not
 * fit. Must be called after cr_system_init. */
void cr_accounts_init(void);
/* Divides the memory that is left, and sets memory aside for the PDs that come later. Must be
 * called when the PDs of the start exist. Traces the quotas. */
void cr_accounts_start(void);

/* Whether `n` more fit the account of the PD; then they count as used. `for_need`: they are for
 * what the configuration names. CR_RESULT_OK, FULL. */
cr_result cr_charge(const cr_pd *pd, cr_quota kind, uint32_t n, int for_need);
/* The same for everything that comes with a PD that `creator` spawns (the PD, its PD capability and
 * the hold of that, OWN, SUBSET and BODY), with a space, or with a REQUEST to the space of this
 * name. */
cr_result cr_charge_spawned(const cr_pd *creator);
cr_result cr_charge_space(const cr_pd *manager, const char *type, int for_need);
cr_result cr_charge_request(const cr_pd *pd, const char *name);
/* Whether an account without room for another edge is relieved (at first: yes). */
void cr_charge_may_merge(int may);
/* `n` more count as used, whether they fit or not: notices that come to count for the PD. */
void cr_charge_more(const cr_pd *pd, cr_quota kind, uint32_t n);
uint64_t cr_quota_of(uint32_t account, cr_quota kind);

/* Whether the configuration has the PD make a space of this name. */
int cr_needs_space(const cr_pd *pd, const char *name);

#endif
