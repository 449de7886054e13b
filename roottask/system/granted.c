/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The PD capabilities that the configuration gives. Each has its own slot in the holder's CSpace,
 * which never gets any other capability. A slot whose PD was destroyed must not be filled with the
 * capability to its successor before the holder has acknowledged the loss: the holder could
 * terminate the successor by mistake. */
#include "system.h"
#include "text.h"

/* The slot of the PD capability in row `i` of the configuration. */
static uint32_t configured_slot(uint32_t i)
{
    const cr_image_pd_hold *holds = cr_image_holds(cr_sys.image);
    uint32_t slot = CR_SLOT_FIRST_FREE;
    for (uint32_t k = 0; k < i; k++) {
        slot += holds[k].pd == holds[i].pd;
    }
    return slot;
}

int cr_may_have_caps(const cr_pd *pd)
{
    return (cr_pd_is_served(pd) || pd->life == CR_LIFE_MAKING) && !cr_is_doomed(pd);
}

/* Fills the slot of row `i` if it is due. Returns whether it remains due. */
static int fill_due_slot(uint32_t i)
{
    const cr_image_pd_hold *hold = &cr_image_holds(cr_sys.image)[i];
    cr_pd *holder = cr_find_configured(hold->pd);
    uint32_t slot = configured_slot(i);
    if (holder == 0 || slot >= CR_SLOT_FIRST_FREE + holder->pd_slots ||
        holder->slots[slot] != CR_SLOT_DUE) {
        return 0;
    }
    cr_pd *target = cr_find_configured(hold->target);
    if (target == 0) {
        holder->slots[slot] = CR_SLOT_RESERVED;
        return 0;
    }
    /* If the kernel refuses, the slot stays due. */
    if (!cr_may_have_caps(holder) || !cr_may_have_caps(target) ||
        holder->lost >= CR_MAX_LOST_SLOTS) {
        return 1;
    }
    return cr_make_body_hold(holder, target, slot) != CR_RESULT_OK;
}

void cr_fill_due_slots(void)
{
    if (!cr_sys.slots_due) {
        return;
    }
    cr_sys.slots_due = 0;
    for (uint32_t i = 0; i < cr_sys.image->holds.count; i++) {
        cr_sys.slots_due |= fill_due_slot(i);
    }
}

void cr_grant_pds(const cr_pd *pd)
{
    for (uint32_t i = 0; i < cr_sys.image->holds.count; i++) {
        const cr_image_pd_hold *hold = &cr_image_holds(cr_sys.image)[i];
        cr_pd *holder = cr_find_configured(hold->pd);
        uint32_t slot = configured_slot(i);
        if (holder != 0 && slot < CR_SLOT_FIRST_FREE + holder->pd_slots &&
            (holder == pd || cr_find_configured(hold->target) == pd) &&
            holder->slots[slot] == CR_SLOT_RESERVED) {
            holder->slots[slot] = CR_SLOT_DUE;
            cr_sys.slots_due = 1;
        }
    }
    cr_fill_due_slots();
}
