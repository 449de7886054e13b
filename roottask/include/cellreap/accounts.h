/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Quotas: how much of each table of the root task an account may use (docs/semantics.md, "Who may
 * be blamed, who may take"). limits.h lists the quotas.
 *
 * A part of each quota can be reserved for what the configuration names, so that the owner of the
 * account cannot use it up for anything else. The quotas of all accounts together are at most the
 * size of the table. So what fits an account fits the table.
 *
 * Freestanding, no allocation. Parsed by the host tooling: plain declarations. */
#ifndef CELLREAP_ACCOUNTS_H
#define CELLREAP_ACCOUNTS_H

#include <cellreap/limits.h>
#include <cellreap/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What one account may use of one table, and uses. */
typedef struct cr_tally {
    uint64_t quota;
    uint64_t need;   /* the part of the quota that is reserved for what the configuration names */
    uint64_t used;   /* everything, `needed` included */
    uint64_t needed; /* in use for what the configuration names */
} cr_tally;

/* What one account claims of a table. */
typedef struct cr_claim {
    uint64_t need;
    uint64_t asked; /* its quota, or UINT64_MAX for a fair share */
    uint32_t may;   /* whether it can use more than its need at all; else its share is its need */
} cr_claim;

/* Divides a table among accounts. Who asked for a quota gets it. The others get their need, and
 * what is left in equal parts; a remainder stays unused. CR_ERR_ARG: an account asked for less than
 * its need. CR_ERR_FULL_NODES: needs and quotas are together more than `total`. */
cr_status cr_accounts_share(uint64_t total, const cr_claim *claims, uint32_t count,
                            uint64_t *quotas);

/* Whether `n` more fit the quota. `for_need`: they are for what the configuration names. Else the
 * unused part of the need stays free. */
int cr_tally_has(const cr_tally *tally, uint64_t n, int for_need);

#ifdef __cplusplus
}
#endif

#endif
