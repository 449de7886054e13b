/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The arithmetic of quotas. See cellreap/accounts.h. No sum here may wrap: quotas come from a
 * configuration. */
#include <cellreap/accounts.h>

cr_status cr_accounts_share(uint64_t total, const cr_claim *claims, uint32_t count,
                            uint64_t *quotas)
{
    uint64_t left = total;
    uint64_t sharers = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int fair = claims[i].asked == UINT64_MAX;
        const uint64_t sure = fair ? claims[i].need : claims[i].asked;
        if (sure < claims[i].need) {
            return CR_ERR_ARG;
        }
        if (sure > left) {
            return CR_ERR_FULL_NODES;
        }
        left -= sure;
        sharers += fair && claims[i].may;
    }
    const uint64_t share = sharers != 0 ? left / sharers : 0;
    for (uint32_t i = 0; i < count; i++) {
        const int fair = claims[i].asked == UINT64_MAX;
        quotas[i] = fair ? claims[i].need : claims[i].asked;
        quotas[i] += fair && claims[i].may ? share : 0;
    }
    return CR_OK;
}

int cr_tally_has(const cr_tally *tally, uint64_t n, int for_need)
{
    const uint64_t room = tally->quota > tally->used ? tally->quota - tally->used : 0;
    const uint64_t kept = tally->need > tally->needed ? tally->need - tally->needed : 0;
    if (for_need) {
        return n <= room && n <= kept;
    }
    return kept <= room && n <= room - kept;
}
