/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which PDs are close to one that goes down, if the policy of the system asks for it. */
#ifndef CELLREAP_CLOSENESS_H
#define CELLREAP_CLOSENESS_H

#include "system/system.h"

/* For the limits in limits.h. For each type there is a set of types, one bit each. */
enum {
    CR_CLOSENESS_BYTES =
        (28 << (14 + CELLREAP_DOUBLINGS)) + CR_MAX_TYPES * (CR_MAX_TYPES - 256) / 8
};

typedef struct cr_closeness_state {
    _Alignas(8) uint8_t memory[CR_CLOSENESS_BYTES];
    cr_rsi_min least[CR_RSI_MINS_MAX];
    cr_closeness now;
} cr_closeness_state;

/* CR_ERR_MEMORY: there is too little memory to measure in, whatever the policy. */
cr_status cr_closeness_init(const cr_image_header *image);

/* The thresholds of the system, or NULL if depth alone decides. Valid until the next call. */
const cr_closeness *cr_closeness_now(void);

#endif
