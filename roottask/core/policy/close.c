/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which PDs are close to the trigger, for the policies that ask for it (docs/semantics.md,
 * "Closeness"). */
#include "planner.h"

cr_status cr_check_closeness(const cr_closeness *close)
{
    if (close->metrics == NULL || close->policy >= CR_POLICY_COUNT ||
        close->n_rsi_min > CR_RSI_MINS_MAX || (close->n_rsi_min != 0 && close->rsi_min == NULL) ||
        (close->n_rsi_min == 0 && close->fr_max == CR_FR_UNLIMITED)) {
        return CR_ERR_ARG;
    }
    for (uint32_t i = 0; i < close->n_rsi_min; i++) {
        if (close->rsi_min[i].shared == 0 || close->rsi_min[i].shared > close->rsi_min[i].all) {
            return CR_ERR_ARG;
        }
    }
    return CR_OK;
}

void cr_begin_closeness(cr_planner *planner, cr_ref trigger)
{
    const cr_closeness *close = planner->close;
    cr_status status = cr_metrics_begin(close->metrics, planner->model, close->resources, 0);
    if (status == CR_OK) {
        status = cr_metrics_first(close->metrics, trigger);
    }
    if (status != CR_OK) {
        cr_fail(planner, status);
    }
}

/* Whether a / b >= c / d, for b, d > 0. Products may not fit 64 bits, so the integer parts are
 * compared, and then the inverted rests. The denominators shrink as in Euclid's algorithm: the
 * smaller of the two pairs has 32 bits and ends it in at most 48 turns. */
static int at_least(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    for (int turn = 0; turn < 64; turn++) {
        if (a / b != c / d) {
            return a / b > c / d;
        }
        const uint64_t rest = a % b;
        const uint64_t other = c % d;
        if (other == 0) {
            return 1;
        }
        if (rest == 0) {
            return 0;
        }
        /* rest / b >= other / d means d / other >= b / rest. */
        a = d;
        c = b;
        b = other;
        d = rest;
    }
    return 0;
}

int cr_is_close(cr_planner *planner, cr_ref pd)
{
    const cr_closeness *close = planner->close;
    uint32_t fr = CR_FR_INF;
    if (planner->status != CR_OK) {
        return 0;
    }
    cr_status status = cr_metrics_second(close->metrics, pd);
    if (status == CR_OK && close->fr_max != CR_FR_UNLIMITED) {
        status = cr_metrics_fr(close->metrics, &fr);
    }
    int found = fr != CR_FR_INF && fr <= close->fr_max;
    for (uint32_t i = 0; i < close->n_rsi_min && !found && status == CR_OK; i++) {
        const cr_rsi_min *least = &close->rsi_min[i];
        cr_rsi rsi = {.shared = 0, .all = 0};
        status = cr_metrics_rsi(close->metrics, least->type, &rsi);
        found = status == CR_OK && rsi.all != 0 &&
                at_least(rsi.shared, rsi.all, least->shared, least->all);
    }
    if (status != CR_OK) {
        cr_fail(planner, status);
        return 0;
    }
    return found;
}
