/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The threads that parents of Microkit have of their children. See stand_ins.h. */
#include "stand_ins.h"
#include "kernel/untyped.h"
#include "text.h"
#include "truth.h"

/* By the child's position in the configuration. 0: it has no parent. */
static seL4_CPtr stand_ins[CR_IMAGE_MAX_PDS];

void cr_stand_ins_init(void)
{
    const uint32_t pds = cr_sys.image->pds.count;
    for (uint32_t i = 0; i < pds; i++) {
        stand_ins[i] = cr_parent_of(i) != 0 ? 1 : 0;
    }
    (void)cr_pool_make_each(stand_ins, pds, seL4_TCBObject, seL4_TCBBits,
                            "no stand-in for a child");
    for (uint32_t i = 0; i < pds; i++) {
        if (stand_ins[i] != 0) {
            cr_truth_leave_out(stand_ins[i]);
        }
    }
}

uint32_t cr_stand_ins_fill(uint32_t config, cr_peer_cap *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < cr_sys.image->holds.count; i++) {
        const cr_image_pd_hold *hold = &cr_image_holds(cr_sys.image)[i];
        if (hold->pd == config && cr_parent_of(hold->target) == hold) {
            out[count++] = (cr_peer_cap){.slot = cr_hold_slot(i), .to = stand_ins[hold->target]};
        }
    }
    return count;
}

static seL4_Error put(cr_slot slot, seL4_CPtr tcb)
{
    const seL4_Error error = cr_delete(slot);
    return error ? error : cr_copy(slot, cr_slot_at(tcb), seL4_AllRights);
}

seL4_Error cr_put_thread(cr_slot slot, const cr_pd *child)
{
    return put(slot, cr_body_cap(&child->body, CR_BODY_TCB));
}

seL4_Error cr_put_stand_in(cr_slot slot, const cr_pd *child)
{
    return put(slot, stand_ins[child->config]);
}

seL4_Error cr_take_thread(const cr_pd *child)
{
    const cr_image_pd_hold *hold = child->config != CR_IMAGE_NONE ? cr_parent_of(child->config) : 0;
    const cr_pd *parent = hold != 0 ? cr_find_configured(hold->pd) : 0;
    if (parent == 0) {
        return seL4_NoError;
    }
    return cr_put_stand_in(cr_pd_slot(parent, CR_MICROKIT_SLOT_CHILDREN + hold->child), child);
}
