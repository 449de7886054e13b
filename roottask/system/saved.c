/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes again what the image carries of a saved state. See saved.h. `cellreap build` has checked
 * that there is room for it, so a refusal stops the system: without the whole saved state, managers
 * would not be told of a part of it. */
#include "saved.h"
#include "rows.h"
#include "text.h"

/* The node of each row. */
static cr_ref *nodes;
static cr_ref *unnamed;
static uint32_t n_unnamed;

static const cr_image_saved_node *row_at(uint32_t index)
{
    return &cr_image_saved_nodes(cr_sys.image)[index];
}

static void must(cr_result result, const char *what, uint32_t row)
{
    if (result != CR_RESULT_OK) {
        cr_panic(what, row);
    }
}

static cr_pd *pd_of(uint32_t row)
{
    cr_pd *pd = cr_pd_of(nodes[row]);
    if (pd == 0) {
        cr_panic("a PD that the saved state needs does not exist", row);
    }
    return pd;
}

/* Spaces of a PD that is not named go with it. What is noted was made, so there is room. */
static void note_unnamed(uint32_t row)
{
    unnamed[n_unnamed++] = nodes[row];
}

void cr_saved_make_pds(void)
{
    CR_TABLE_MAKE(nodes, cr_sys.image->saved_nodes.count);
    CR_TABLE_MAKE(unnamed, cr_sys.image->saved_nodes.count);
    cr_sys.makes_saved = 1;
    for (uint32_t i = 0; i < cr_sys.image->saved_nodes.count; i++) {
        cr_pd *pd = 0;
        if (row_at(i)->kind != CR_SAVED_GONE) {
            continue;
        }
        if (row_at(i)->number < cr_sys.next_pd) {
            cr_panic("the number of a PD of the saved state is taken", row_at(i)->number);
        }
        must(cr_make_saved_pd(row_at(i), &pd), "a PD of the saved state cannot be made", i);
        nodes[i] = pd->node;
        note_unnamed(i);
    }
    cr_sys.makes_saved = 0;
}

static void find_named(uint32_t i)
{
    const cr_pd *pd = cr_find_configured(row_at(i)->of);
    if (pd == 0) {
        cr_panic("a PD that the saved state needs does not exist", i);
    }
    nodes[i] = pd->node;
}

static void make_space(uint32_t i)
{
    const cr_image_saved_node *row = row_at(i);
    cr_pd *manager = pd_of(row->of);
    if (row->number < cr_sys.next_space) {
        cr_panic("the number of a space of the saved state is taken", row->number);
    }
    cr_sys.next_space = row->number;
    must(cr_make_space(manager, row->type, row->name, 0, 0, &nodes[i]),
         "a space of the saved state cannot be made", i);
    if (row_at(row->of)->kind == CR_SAVED_NAMED) {
        if (cr_find_configured_space(row->name) != CR_IMAGE_NONE) {
            cr_space_entry_of(nodes[i])->saved = 1;
        } else {
            note_unnamed(i);
        }
    }
}

static void make_resource(uint32_t i)
{
    const cr_image_saved_node *row = row_at(i);
    cr_space_entry_of(nodes[row->of])->next_object = row->number;
    must(cr_make_resource(nodes[row->of], &nodes[i]),
         "a resource of the saved state cannot be made", i);
}

/* What the manager makes later must not have the number of anything that it had. */
static void leave_numbers(void)
{
    for (uint32_t i = 0; i < cr_sys.image->saved_nodes.count; i++) {
        if (row_at(i)->kind == CR_SAVED_SPACE) {
            cr_space_entry_of(nodes[i])->next_object = row_at(i)->next;
        }
    }
}

static uint32_t slot_of(const cr_pd *pd, uint32_t row)
{
    uint32_t slot = 0;
    must(cr_can_take_slot(pd, &slot), "a PD has no slot for what it had in the saved state", row);
    return slot;
}

static void make_hold(const cr_image_saved_edge *edge)
{
    cr_pd *pd = pd_of(edge->from);
    const cr_ref resource = nodes[edge->to];
    const uint32_t slot = slot_of(pd, edge->from);
    for (uint32_t i = 0; i < edge->count; i++) {
        must(cr_make_hold(pd, resource, slot), "a hold of the saved state cannot be made",
             edge->to);
    }
}

/* It needs no slot: who is told holds nothing for it. */
static void make_subscription(const cr_image_saved_edge *edge)
{
    for (uint32_t i = 0; i < edge->count; i++) {
        must(cr_make_subscription(pd_of(edge->from), nodes[edge->to], edge->handler),
             "a subscription of the saved state cannot be made", edge->to);
    }
}

static void make_edge(const cr_image_saved_edge *edge)
{
    switch (edge->kind) {
    case CR_EDGE_HOLD:
        make_hold(edge);
        return;
    case CR_EDGE_REQUEST:
        must(cr_make_request(pd_of(edge->from), nodes[edge->to],
                             slot_of(pd_of(edge->from), edge->from)),
             "a request of the saved state cannot be made", edge->to);
        return;
    case CR_EDGE_SUBSCRIBE:
        make_subscription(edge);
        return;
    default:
        must(cr_make_map(nodes[edge->from], nodes[edge->to], 0),
             "a map of the saved state cannot be made", edge->to);
    }
}

void cr_saved_make_rest(void)
{
    cr_sys.makes_saved = 1;
    for (uint32_t i = 0; i < cr_sys.image->saved_nodes.count; i++) {
        switch (row_at(i)->kind) {
        case CR_SAVED_NAMED:
            find_named(i);
            break;
        case CR_SAVED_SPACE:
            make_space(i);
            break;
        case CR_SAVED_RESOURCE:
            make_resource(i);
            break;
        default:
            break;
        }
    }
    leave_numbers();
    for (uint32_t i = 0; i < cr_sys.image->saved_edges.count; i++) {
        make_edge(&cr_image_saved_edges(cr_sys.image)[i]);
    }
    cr_sys.makes_saved = 0;
}

uint32_t cr_saved_unnamed(const cr_ref **out)
{
    *out = unnamed;
    return n_unnamed;
}

int cr_saved_waits(cr_ref space)
{
    return cr_space_entry_of(space)->saved;
}

void cr_saved_create(cr_ref space)
{
    cr_space_entry_of(space)->saved = 0;
}
