/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The channels of the configuration: two PDs that may signal each other.
 *
 * The notification of a PD that has a channel is no part of its body. It is one of the root task's
 * own objects, the PD's bell, which is there before the first PD, and stays. So a signal to a PD
 * that is not there faults nobody, and no capability of another PD changes when the PD goes or
 * comes back. In the model the channel is a resource that both PDs hold. It is no kernel object. It
 * is made with the first of the two and goes with the last. */
#ifndef CELLREAP_SYSTEM_CHANNELS_H
#define CELLREAP_SYSTEM_CHANNELS_H

#include "system.h"
#include "text.h"

/* An end of a channel by its place in the image. */
static inline const cr_image_channel_end *cr_end_at(uint32_t end)
{
    return &cr_image_ends(cr_sys.image)[end];
}

/* The ends of a channel are neighbours, the first of them at an even place. */
static inline const cr_image_channel_end *cr_other_end(uint32_t end)
{
    return cr_end_at(end ^ 1);
}

/* Makes the bells. Only for setup. */
void cr_channels_init(void);
/* The PD's bell and door (doors.h), and its capabilities to those of others. They are valid until
 * the next call. */
void cr_channels_fill(uint32_t config, cr_body_params *out);
/* Adds the channels of the PD that is being made to the chain (making.h). */
void cr_channels_add(const cr_pd *pd, uint32_t config);
/* PDs that come back before the next turn do so together: none runs before all are there. */
void cr_channels_turn(void);
/* The PD is there again. */
void cr_channels_came_back(uint32_t config);
/* Signals each channel of PDs that came back since, in both directions: what was signalled
 * meanwhile is lost. Between two PDs that came back together nothing was. */
void cr_channels_ring(void);

#endif
