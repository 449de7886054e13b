/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which PDs are close to one that goes down, if the policy of the system asks for it. */
#ifndef CELLREAP_CLOSENESS_H
#define CELLREAP_CLOSENESS_H

#include "system/system.h"

typedef struct cr_closeness_state {
    cr_rsi_min least[CR_RSI_MINS_MAX];
    cr_metric_resource *resources; /* by index of a node */
    cr_closeness now;
} cr_closeness_state;

/* Takes memory to measure in if the policy needs it. */
cr_status cr_closeness_init(const cr_image_header *image);

/* The thresholds of the system, or NULL if depth alone decides. Valid until the next call. */
const cr_closeness *cr_closeness_now(void);

#endif
