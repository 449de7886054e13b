/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The arithmetic of quotas, with any claims. */
#include "any.h"
#include <cellreap/accounts.h>

enum { CLAIMS = 64 };

static cr_claim claims[CLAIMS];
static uint64_t quotas[CLAIMS];

void main(void)
{
    cr_tally tally;
    MAKE_ANY(&claims);
    MAKE_ANY(&tally);
    (void)cr_accounts_share(any_64(), claims, at_most(CLAIMS), quotas);
    (void)cr_tally_has(&tally, any_64(), (int)any());
}
