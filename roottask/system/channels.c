/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The channels of the configuration. See channels.h. */
#include "channels.h"
#include "doors.h"
#include "kernel/untyped.h"
#include "making.h"
#include "stand_ins.h"

/* By the PD's position in the configuration. 0: it has no channel for signals. */
static seL4_CPtr bells[CR_IMAGE_MAX_PDS];
static uint32_t back_in[CR_IMAGE_MAX_PDS]; /* the turn; 0: it is not back since the last signals */
static uint32_t turn;
static int any_is_back;

static cr_peer_cap peers[2 * CR_IMAGE_MAX_ENDS + CR_IMAGE_MICROKIT_IDS];

/* Of what the PD of this end signals. */
static seL4_Word badge_of(uint32_t end)
{
    const cr_image_channel_end *to = cr_other_end(end);
    const int microkit = (cr_image_pds(cr_sys.image)[to->pd].flags & CR_IMAGE_MICROKIT) != 0;
    return (microkit ? 0 : cr_badge(CR_BADGE_SIGNAL, 0, 0)) | 1ull << to->id;
}

/* Whether the channel of this end is for signals. Else it is for calls alone. */
static int is_for_signals(uint32_t end)
{
    return cr_end_at(end)->slot != 0 || cr_other_end(end)->slot != 0;
}

void cr_channels_init(void)
{
    const cr_image_header *image = cr_sys.image;
    for (uint32_t i = 0; i < image->ends.count; i++) {
        bells[cr_end_at(i)->pd] |= is_for_signals(i) ? 1u : 0u;
    }
    (void)cr_pool_make_each(bells, image->pds.count, seL4_NotificationObject, seL4_NotificationBits,
                            "no notification for a channel");
}

void cr_channels_fill(uint32_t config, cr_body_params *out)
{
    out->bell = bells[config];
    cr_door_fill(config, out);
    out->peers = peers;
    out->n_peers = cr_stand_ins_fill(config, peers);
    for (uint32_t i = 0; i < cr_sys.image->ends.count; i++) {
        if (cr_end_at(i)->pd == config && cr_end_at(i)->slot != 0) {
            peers[out->n_peers++] = (cr_peer_cap){
                .slot = cr_end_at(i)->slot, .to = bells[cr_other_end(i)->pd], .badge = badge_of(i)};
        }
        if (cr_end_at(i)->pd == config && cr_end_at(i)->calls != 0 && !cr_door_is_closed(i)) {
            peers[out->n_peers++] = cr_door_cap(i);
        }
    }
}

void cr_channels_add(const cr_pd *pd, uint32_t config)
{
    for (uint32_t i = 0; i < cr_sys.image->ends.count; i++) {
        cr_ref *known = &cr_sys.channels[i / 2];
        if (cr_end_at(i)->pd == config && is_for_signals(i)) {
            cr_making_add_edge(&(cr_new_edge){
                .kind = CR_EDGE_HOLD,
                .from = &pd->node,
                .to = cr_is_bare(*known)
                          ? known
                          : &cr_making_new_bare(cr_sys.channel_space, known)->resource.ref,
                .entry = cr_end_at(i)->slot});
        }
    }
}

void cr_channels_turn(void)
{
    turn++;
}

void cr_channels_came_back(uint32_t config)
{
    back_in[config] = turn;
    any_is_back = 1;
}

/* Who is not there is signalled when it comes back. */
static void ring(uint32_t end)
{
    const cr_pd *to = cr_find_configured(cr_other_end(end)->pd);
    const uint32_t temporary = cr_pool_take(CR_POOL_OWN);
    const cr_slot at = cr_pool_slot(temporary);
    if (temporary == 0) {
        cr_panic("no slot for a signal", end);
    }
    if (to != 0 && cr_end_at(end)->slot != 0) {
        cr_must(cr_mint(at, cr_slot_at(bells[cr_other_end(end)->pd]), seL4_CanWrite, badge_of(end)),
                "a channel cannot be signalled");
        cr_signal(cr_cptr(CR_L1_POOL, temporary));
        cr_must(cr_delete(at), "a channel cannot be signalled");
    }
    cr_pool_give(temporary);
}

void cr_channels_ring(void)
{
    for (uint32_t i = 0; any_is_back && i < cr_sys.image->ends.count; i++) {
        if (back_in[cr_end_at(i)->pd] != back_in[cr_other_end(i)->pd]) {
            ring(i);
        }
    }
    for (uint32_t i = 0; any_is_back && i < cr_sys.image->pds.count; i++) {
        back_in[i] = 0;
    }
    any_is_back = 0;
}
