/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The protected procedures of PDs for Microkit. See doors.h. */
#include "doors.h"
#include "channels.h"
#include "kernel/untyped.h"
#include "rows.h"

/* By the PD's position in the configuration. 0: it has none. */
static seL4_CPtr doors[CR_IMAGE_MAX_PDS];
static uint8_t closed[CR_IMAGE_MAX_PDS];

/* The parent that handles the PD's faults, or CR_IMAGE_NONE. */
static uint32_t handler_of(uint32_t config)
{
    const cr_image_pd *row = &cr_image_pds(cr_sys.image)[config];
    return cr_parent_of(config) != 0 ? row->fault_handler : CR_IMAGE_NONE;
}

void cr_doors_init(void)
{
    const cr_image_header *image = cr_sys.image;
    for (uint32_t i = 0; i < image->ends.count; i++) {
        if (cr_end_at(i)->calls != 0) {
            doors[cr_other_end(i)->pd] = 1;
        }
    }
    for (uint32_t i = 0; i < image->pds.count; i++) {
        if (handler_of(i) != CR_IMAGE_NONE) {
            doors[handler_of(i)] = 1;
        }
    }
    if (cr_pool_make_each(doors, image->pds.count, seL4_EndpointObject, seL4_EndpointBits,
                          "no door") != 0) {
        cr_waits_init();
    }
}

int cr_pd_has_door(const cr_pd *pd)
{
    return pd->config != CR_IMAGE_NONE && doors[pd->config] != 0;
}

cr_peer_cap cr_door_cap(uint32_t end)
{
    return (cr_peer_cap){.slot = cr_end_at(end)->calls,
                         .to = doors[cr_other_end(end)->pd],
                         .badge = 1ull << CR_MICROKIT_CALL_BIT | cr_other_end(end)->id,
                         .calls = 1};
}

int cr_door_is_closed(uint32_t end)
{
    return closed[cr_other_end(end)->pd];
}

void cr_door_fill(uint32_t config, cr_body_params *out)
{
    const uint32_t handler = handler_of(config);
    out->door = doors[config];
    if (handler != CR_IMAGE_NONE && cr_find_configured(handler) != 0) {
        out->fault_endpoint = doors[handler];
        out->fault_badge = 1ull << CR_MICROKIT_FAULT_BIT | cr_parent_of(config)->child;
    }
}

cr_pd *cr_door_over(uint32_t config, uint32_t slot)
{
    for (uint32_t i = 0; slot != 0 && i < cr_sys.image->ends.count; i++) {
        if (cr_end_at(i)->pd == config && cr_end_at(i)->calls == slot) {
            return cr_find_configured(cr_other_end(i)->pd);
        }
    }
    return 0;
}

/* A call that waits there is made again, and finds its slot empty. */
static seL4_Error end_calls(uint32_t end)
{
    const cr_peer_cap cap = cr_door_cap(end);
    const uint32_t temporary = cr_pool_take(CR_POOL_OWN);
    const cr_slot at = cr_pool_slot(temporary);
    if (temporary == 0) {
        return seL4_NotEnoughMemory;
    }
    seL4_Error error = cr_mint(at, cr_slot_at(cap.to), seL4_AllRights, cap.badge);
    error = error ? error : cr_cancel_sends(at);
    error = error ? error : cr_delete(at);
    cr_pool_give(temporary);
    return error;
}

void cr_door_close(uint32_t config)
{
    cr_calls_kept calls;
    if (doors[config] == 0 || closed[config]) {
        return;
    }
    cr_calls_aside(&calls); /* No step of a cleanup needs them. */
    cr_must(cr_revoke(cr_slot_at(doors[config])), "a door cannot be closed");
    for (uint32_t i = 0; i < cr_sys.image->ends.count; i++) {
        if (cr_end_at(i)->calls != 0 && cr_other_end(i)->pd == config) {
            cr_must(end_calls(i), "the calls at a door cannot be ended");
        }
    }
    closed[config] = 1; /* not before: this may be cut off, and is repeated then */
    cr_calls_back(&calls, 0);
}

/* -- the model */

/* A PD that takes part: no edge may be made to or from one that goes down. */
static cr_pd *taking_part(uint32_t config)
{
    cr_pd *pd = cr_find_configured(config);
    return pd != 0 && cr_pd_is_of_microkit(pd) && cr_pd_is_up(pd) && !cr_is_doomed(pd) ? pd : 0;
}

static cr_result make_space(cr_pd *pd, const cr_image_space *row)
{
    cr_ref space;
    uint32_t slot;
    cr_result result = cr_can_make_space(pd, row->type, row->name, 0, &slot);
    if (result == CR_RESULT_OK) {
        cr_sys.cause = (cr_cause_of){.asker = pd, .op = CR_OP_CREATE_SPACE};
        result = cr_make_space(pd, row->type, row->name, 0, 0, &space);
        cr_sys.cause = (cr_cause_of){0};
    }
    return result;
}

/* Whether the space stands for calls of the PD that has it. */
static int is_for_calls(uint32_t space)
{
    const cr_image_space *rows = cr_image_spaces(cr_sys.image);
    for (uint32_t i = 0; i < space; i++) {
        if (rows[i].pd == rows[space].pd) {
            return 0;
        }
    }
    return 1;
}

/* The slot with which a PD calls the one that has the space. 0: it does not by this request. */
static uint32_t slot_to(uint32_t config, uint32_t space)
{
    const uint32_t server = cr_image_spaces(cr_sys.image)[space].pd;
    for (uint32_t i = 0; is_for_calls(space) && i < cr_sys.image->ends.count; i++) {
        const cr_image_channel_end *end = cr_end_at(i);
        if (end->pd == config && end->calls != 0 && cr_other_end(i)->pd == server) {
            return end->calls;
        }
    }
    return 0;
}

static cr_result make_request(cr_pd *pd, const cr_image_request *row, cr_ref space)
{
    uint32_t slot; /* that is free; its own is another one */
    cr_result result = cr_can_make_request(0, pd, space, &slot);
    if (result == CR_RESULT_OK) {
        cr_sys.cause = (cr_cause_of){.asker = pd, .op = CR_OP_CONNECT};
        result = cr_make_request(pd, space, slot_to(pd->config, row->space));
        cr_sys.cause = (cr_cause_of){0};
    }
    return result;
}

void cr_doors_connect(void)
{
    const cr_image_header *image = cr_sys.image;
    int due = 0;
    for (uint32_t i = 0; cr_sys.doors_due && i < image->spaces.count; i++) {
        const cr_image_space *row = &cr_image_spaces(image)[i];
        cr_pd *pd = taking_part(row->pd);
        cr_ref space;
        due |= pd != 0 && !cr_rows_find_named(row->name, &space) &&
               make_space(pd, row) != CR_RESULT_OK;
    }
    for (uint32_t i = 0; cr_sys.doors_due && i < image->requests.count; i++) {
        const cr_image_request *row = &cr_image_requests(image)[i];
        const cr_image_space *of = &cr_image_spaces(image)[row->space];
        cr_pd *pd = taking_part(row->pd);
        cr_ref space;
        if (pd != 0 && taking_part(of->pd) != 0 && cr_rows_find_named(of->name, &space) &&
            cr_model_find(cr_sys.model, CR_EDGE_REQUEST, pd->node, space) == CR_NONE) {
            due |= make_request(pd, row, space) != CR_RESULT_OK;
        }
    }
    cr_sys.doors_due = due;
}
