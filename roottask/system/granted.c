/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The PD capabilities that the configuration gives. Each has its own slot in the holder's CSpace,
 * which never gets any other capability. A slot whose PD was destroyed must not be filled with the
 * capability to its successor before the holder has acknowledged the loss: the holder could
 * terminate the successor by mistake. A parent of Microkit has the thread of its child there. */
#include "system.h"
#include "text.h"

static int is_of_microkit(uint32_t config)
{
    return (cr_image_pds(cr_sys.image)[config].flags & CR_IMAGE_MICROKIT) != 0;
}

const cr_image_pd_hold *cr_parent_of(uint32_t config)
{
    const cr_image_pd_hold *holds = cr_image_holds(cr_sys.image);
    for (uint32_t i = 0; i < cr_sys.image->holds.count; i++) {
        if (holds[i].target == config && is_of_microkit(holds[i].pd)) {
            return &holds[i];
        }
    }
    return 0;
}

/* `before`: how many rows before it are of the same PD. */
static uint32_t slot_of(const cr_image_pd_hold *hold, uint32_t before)
{
    return is_of_microkit(hold->pd) ? CR_MICROKIT_SLOT_CHILDREN + hold->child
                                    : CR_SLOT_FIRST_FREE + before;
}

uint32_t cr_hold_slot(uint32_t i)
{
    const cr_image_pd_hold *holds = cr_image_holds(cr_sys.image);
    uint32_t before = 0;
    for (uint32_t k = 0; k < i; k++) {
        before += holds[k].pd == holds[i].pd;
    }
    return slot_of(&holds[i], before);
}

uint32_t cr_hold_row(const cr_pd *pd, uint32_t target)
{
    for (uint32_t i = 0; i < cr_sys.image->holds.count; i++) {
        const cr_image_pd_hold *hold = &cr_image_holds(cr_sys.image)[i];
        if (hold->pd == pd->config && hold->target == target) {
            return i;
        }
    }
    return CR_IMAGE_NONE;
}

int cr_is_hold_slot(const cr_pd *pd, uint32_t slot)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < cr_sys.image->holds.count; i++) {
        const cr_image_pd_hold *hold = &cr_image_holds(cr_sys.image)[i];
        if (hold->pd == pd->config && slot_of(hold, before++) == slot) {
            return 1;
        }
    }
    return 0;
}

int cr_is_due(const cr_pd *pd, cr_ref resource)
{
    cr_node_info info;
    cr_pd *target;
    if (cr_model_get(cr_sys.model, resource, &info) != CR_OK ||
        !cr_same(info.space, cr_sys.pd_space) || cr_find_pd(info.number, &target) != CR_RESULT_OK) {
        return 0;
    }
    const uint32_t row = cr_hold_row(pd, target->config);
    const uint32_t state = row != CR_IMAGE_NONE ? pd->slots[cr_hold_slot(row)] : CR_SLOT_USED;
    return state != CR_SLOT_USED && state != CR_SLOT_RESERVED;
}

int cr_may_have_caps(const cr_pd *pd)
{
    return (cr_pd_is_served(pd) || pd->life == CR_LIFE_MAKING) && !cr_is_doomed(pd);
}

/* Fills the slot of row `i` if it is due. Returns whether it remains due. *refused is set if the
 * kernel refuses. */
static int fill_due_slot(uint32_t i, int *refused)
{
    const cr_image_pd_hold *hold = &cr_image_holds(cr_sys.image)[i];
    cr_pd *holder = cr_find_configured(hold->pd);
    uint32_t *slot = holder != 0 ? &holder->slots[cr_hold_slot(i)] : 0;
    if (slot == 0 || (*slot != CR_SLOT_DUE && *slot != CR_SLOT_REFUSED)) {
        return 0;
    }
    cr_pd *target = cr_find_configured(hold->target);
    if (target == 0) {
        *slot = CR_SLOT_RESERVED;
        return 0;
    }
    if (!cr_may_have_caps(holder) || !cr_may_have_caps(target) ||
        holder->lost >= CR_MAX_LOST_SLOTS || (*slot == CR_SLOT_REFUSED && cr_sys.refused_for > 0)) {
        return 1;
    }
    if (cr_make_body_hold(holder, target, cr_hold_slot(i)) == CR_RESULT_OK) {
        return 0;
    }
    *slot = CR_SLOT_REFUSED;
    *refused = 1;
    return 1;
}

void cr_fill_due_slots(void)
{
    int refused = 0;
    if (!cr_sys.slots_due) {
        return;
    }
    cr_sys.slots_due = 0;
    for (uint32_t i = 0; i < cr_sys.image->holds.count; i++) {
        cr_sys.slots_due |= fill_due_slot(i, &refused);
    }
    /* What is refused once is tried again after the next message, and what is refused for ever
     * after twice as many messages each time: the trace tells of each attempt. */
    cr_sys.refused_for -= cr_sys.refused_for > 0;
    if (refused) {
        cr_sys.refused_for = cr_sys.refused_then;
        cr_sys.refused_then = (2 * cr_sys.refused_then + 1) & UINT16_MAX;
    } else if (!cr_sys.slots_due) {
        cr_sys.refused_then = 0;
    }
}

void cr_grant_pds(const cr_pd *pd)
{
    for (uint32_t i = 0; i < cr_sys.image->holds.count; i++) {
        const cr_image_pd_hold *hold = &cr_image_holds(cr_sys.image)[i];
        cr_pd *holder = cr_find_configured(hold->pd);
        uint32_t slot = cr_hold_slot(i);
        if (holder != 0 && (holder == pd || cr_find_configured(hold->target) == pd) &&
            holder->slots[slot] == CR_SLOT_RESERVED) {
            holder->slots[slot] = CR_SLOT_DUE;
            cr_sys.slots_due = 1;
        }
    }
    cr_fill_due_slots();
}
