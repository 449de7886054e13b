/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The accounts of the configured PDs: what each of them, together with the PDs that it spawned,
 * uses of the root task's tables (cr_quota in limits.h).
 *
 * The use is a tally, which changes with each row of the model (rows.c). So a refusal is a
 * comparison, however much the account uses. What is made and undone again leaves nothing behind.
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
void cr_accounts_tables(void);
/* Divides the memory that is left, and sets memory aside for the PDs that come later. Must be
 * called when the PDs of the start exist. Traces the quotas. */
void cr_accounts_start(void);

/* Whether `n` more fit the account of the PD. `for_need`: they are for what the configuration
 * names. CR_RESULT_OK, FULL. */
cr_result cr_fits(const cr_pd *pd, cr_quota kind, uint32_t n, int for_need);
/* The same for everything that comes with a PD that `creator` spawns (the PD, its PD capability and
 * the hold of that, OWN, SUBSET and BODY), with a space, or with a REQUEST to the space of this
 * name. `beside`: edges that the same operation makes for the account. */
cr_result cr_fits_spawned(const cr_pd *creator);
cr_result cr_fits_space(const cr_pd *manager, const char *type, int for_need);
cr_result cr_fits_request(const cr_pd *pd, const char *name, uint32_t beside);
/* Whether an account without room for another edge is relieved (at first: yes). */
void cr_charge_may_merge(int may);
/* The account may have notices again that can be merged: one of its PDs was destroyed, or one of
 * its spaces, or a notice was queued that one of its PDs left behind. */
void cr_charge_may_relieve(uint32_t account);
uint64_t cr_quota_of(uint32_t account, cr_quota kind);

/* Whether the configuration has the PD make a space, or a request to a space, of this name. */
int cr_needs_space(const cr_pd *pd, const char *name);
int cr_needs_request(const cr_pd *pd, const char *name);

/* -- for rows.c: a node or an edge comes (`sign` 1) or goes (-1). */

/* The node is in the model, with its entry in the tables. */
void cr_charge_node(cr_ref node, const cr_node_info *info, int sign);
/* The pages of a memory object. */
void cr_charge_pages(cr_ref object, uint32_t pages, int sign);
/* An edge that is not there otherwise, whatever its count. `entry`: as in cr_sys.edge_entry. Of
 * SUBSCRIBE: `alone`: the PD has no other handler for the node. */
void cr_charge_edge(const cr_edge_info *edge, uint32_t entry, int alone, int sign);

#endif
