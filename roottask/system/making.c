/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Applies, undoes and commits the steps of what is being made. See making.h. */
#include "making.h"
#include "charge.h"
#include "inject.h"
#include "lines.h"
#include "kernel/untyped.h"
#include "rows.h"
#include "stand_ins.h"
#include "state.h"
#include "text.h"

/* Those of capabilities to PDs, which only name the PD in an operation: neither to send nor to
 * receive. A call would not say who calls, so nobody could be charged for it. */
#define CR_NAMING_RIGHTS seL4_CapRights_new(1, 0, 0, 0)

cr_making cr_now_made;

void cr_making_begin(cr_made made, const char *name)
{
    cr_now_made.made = made;
    cr_text_copy(cr_now_made.name, name, CR_ID_BYTES);
    cr_now_made.has_pd = 0;
    cr_now_made.n_edges = 0;
    cr_now_made.n_steps = 0;
    cr_now_made.n_parts = 0;
    cr_now_made.resource.ref.index = CR_NONE;
}

void cr_making_begin_at(cr_made made, cr_ref node)
{
    char id[CR_ID_BYTES];
    cr_node_id(node, id);
    cr_making_begin(made, id);
}

void cr_making_add(cr_make_kind kind, uint32_t what)
{
    if (cr_now_made.n_steps == cr_making_steps()) {
        cr_panic("a chain has more steps than there can be", cr_now_made.made);
    }
    cr_now_made.steps[cr_now_made.n_steps++] = (cr_make_step){kind, what};
}

void cr_making_add_edge(const cr_new_edge *edge)
{
    if (cr_now_made.n_edges == cr_making_edges()) {
        cr_panic("a chain has more edges than there can be", cr_now_made.made);
    }
    cr_now_made.edges[cr_now_made.n_edges] = *edge;
    cr_making_add(CR_MAKE_EDGE, cr_now_made.n_edges++);
}

void cr_making_add_resource(void)
{
    cr_making_add(CR_MAKE_SLOT, CR_OF_RESOURCE);
    cr_making_add(CR_MAKE_NODE, CR_OF_RESOURCE);
    cr_making_add(CR_MAKE_PARENT, CR_OF_RESOURCE);
}

static cr_new_part *new_part(cr_ref space)
{
    if (cr_now_made.n_parts == CR_NEW_PARTS) {
        cr_panic("a chain has more parts than there can be", cr_now_made.made);
    }
    uint32_t before = 0;
    for (uint32_t i = 0; i < cr_now_made.n_parts; i++) {
        before += cr_same(cr_now_made.parts[i].resource.space, space) ? 1u : 0u;
    }
    cr_new_part *part = &cr_now_made.parts[cr_now_made.n_parts++];
    *part =
        (cr_new_part){.resource = {.space = space, .number = &part->number, .ref = {CR_NONE, 0}},
                      .number = cr_space_entry_of(space)->next_object + before,
                      .line = CR_IMAGE_NONE};
    return part;
}

const cr_new_part *cr_making_new_bare(cr_ref space, cr_ref *known)
{
    cr_new_part *part = new_part(space);
    part->known = known;
    cr_making_add(CR_MAKE_NODE, cr_making_of(part));
    return part;
}

cr_new_part *cr_making_new_object(cr_pages pages)
{
    cr_new_part *part = new_part(cr_sys.mo_space);
    part->memory.pages = pages;
    return part;
}

cr_new_part *cr_making_new_region(const cr_pd *pd, const cr_new_part *object, cr_ref old,
                                  uint64_t vaddr, int writable)
{
    cr_new_part *part = new_part(cr_sys.vmr_space);
    part->object = old;
    part->maps = object != 0 ? &object->resource.ref : &part->object;
    part->memory = (cr_new_memory){
        .pages = object != 0 ? object->memory.pages : cr_memory_pages(old),
        .pd = pd,
        .vaddr = vaddr,
        .writable = writable,
        .from = object != 0 ? &object->resource.pool_slot : &cr_sys.node_entry[old.index]};
    return part;
}

void cr_making_add_part(cr_new_part *part)
{
    const cr_new_memory *memory = &part->memory;
    const uint32_t of = cr_making_of(part);
    cr_make_step step;
    cr_making_add(CR_MAKE_SLOT, of);
    cr_making_add(CR_MAKE_BLOCK, of);
    for (uint32_t i = 0; cr_memory_step(memory, i, &step); i++) {
        cr_making_add(step.kind, of + step.what);
    }
    cr_making_add(CR_MAKE_NODE, of);
    if (memory->pd == 0) {
        return;
    }
    cr_making_add_edge(&(cr_new_edge){.kind = CR_EDGE_HOLD,
                                      .from = &memory->pd->node,
                                      .to = &part->resource.ref,
                                      .entry = memory->slot});
    cr_making_add_edge(
        &(cr_new_edge){.kind = CR_EDGE_MAP,
                       .from = &part->resource.ref,
                       .to = part->maps,
                       .entry = (uint32_t)(memory->vaddr >> CR_PAGE_BITS) << CR_REGION_PAGE_SHIFT |
                                (memory->writable ? (uint32_t)CR_REGION_WRITABLE : 0) |
                                (memory->uncached ? (uint32_t)CR_REGION_UNCACHED : 0)});
}

void cr_making_add_line(const cr_pd *pd, uint32_t line, cr_ref space, uint32_t slot)
{
    cr_new_part *part = new_part(space);
    const uint32_t of = cr_making_of(part);
    part->line = line;
    part->pd_slot = slot;
    part->memory.pd = pd;
    cr_making_add(CR_MAKE_SLOT, of);
    cr_making_add(CR_MAKE_PARENT, of);
    cr_making_add(CR_MAKE_NODE, of);
    cr_making_add_edge(&(cr_new_edge){
        .kind = CR_EDGE_HOLD, .from = &pd->node, .to = &part->resource.ref, .entry = slot});
    cr_making_add(CR_MAKE_GRANT, of);
}

void cr_making_add_hold(cr_pd *pd, const cr_ref *resource, uint32_t slot)
{
    const uint32_t known = cr_model_find(cr_sys.model, CR_EDGE_HOLD, pd->node, *resource);
    cr_now_made.hold = (cr_new_cap){.pd = pd, .slot = slot, .node = resource};
    cr_making_add_edge(
        &(cr_new_edge){.kind = CR_EDGE_HOLD, .from = &pd->node, .to = resource, .entry = slot});
    if (known == CR_NONE && !cr_is_memory(*resource)) {
        cr_making_add(CR_MAKE_SLOT, CR_OF_HOLD);
        cr_making_add(CR_MAKE_GRANT, CR_OF_HOLD);
    }
}

void cr_making_add_request(cr_pd *pd, const cr_ref *space, const char *name, uint32_t slot)
{
    const uint32_t index = cr_sys.free_request;
    if (index != CR_NONE) {
        cr_sys.requests[index].needed = cr_needs_request(pd, name); /* for the edge */
    }
    cr_now_made.request = (cr_new_cap){.pd = pd, .slot = slot, .request = index, .node = space};
    cr_making_add_edge(
        &(cr_new_edge){.kind = CR_EDGE_REQUEST, .from = &pd->node, .to = space, .entry = index});
    cr_making_add(CR_MAKE_SLOT, CR_OF_REQUEST);
    if (cr_pd_is_of_microkit(pd)) {
        return; /* The configuration gave it the capability when it was made (doors.h). */
    }
    cr_making_add(CR_MAKE_PARENT, CR_OF_REQUEST);
    cr_making_add(CR_MAKE_GRANT, CR_OF_REQUEST);
}

/* -- the steps */

static const cr_make_kind of_pd[] = {CR_MAKE_ENTRY, CR_MAKE_LAYOUT, CR_MAKE_BLOCK};

enum { BEFORE_BODY = sizeof(of_pd) / sizeof(of_pd[0]) };

/* The steps of a body are known when it is laid out. */
static int step_at(void *context, uint32_t at, cr_make_step *out)
{
    const cr_making *now = context;
    uint32_t rest = at;
    if (now->has_pd && at < BEFORE_BODY) {
        *out = (cr_make_step){of_pd[at], CR_OF_PD};
        return 1;
    }
    if (now->has_pd) {
        rest -= BEFORE_BODY;
        if (cr_body_step(rest, out)) {
            return 1;
        }
        rest -= cr_body_steps();
    }
    if (rest >= now->n_steps) {
        return 0;
    }
    *out = now->steps[rest];
    return 1;
}

/* The part that a step is of, or 0. */
static cr_new_part *part_of(cr_making *now, uint32_t what)
{
    return what >= CR_OF_PART ? &now->parts[what / CR_OF_PART - 1] : 0;
}

/* The resource that a step is of, unless it is of something else. */
static cr_new_resource *resource_of(cr_making *now, uint32_t what)
{
    return what >= CR_OF_PART ? &part_of(now, what)->resource : &now->resource;
}

static cr_slot parent_of(cr_making *now, uint32_t what)
{
    return what == CR_OF_REQUEST ? cr_pd_parent(now->request.pd, now->request.slot)
                                 : cr_pool_slot(resource_of(now, what)->pool_slot);
}

static cr_slot slot_of(cr_making *now, uint32_t what)
{
    const cr_new_part *part = part_of(now, what);
    const cr_new_cap *cap = what == CR_OF_REQUEST ? &now->request : &now->hold;
    return part != 0 ? cr_pd_slot(part->memory.pd, part->pd_slot) : cr_pd_slot(cap->pd, cap->slot);
}

static cr_status of_kernel(seL4_Error error)
{
    return error == seL4_NoError ? CR_OK : CR_ERR_MEMORY;
}

/* `part`: 0 if the resource is none of them. */
static cr_status add_resource_node(cr_new_resource *make, const cr_new_part *part)
{
    cr_status status = cr_model_add_resource(cr_sys.model, make->space, *make->number, &make->ref);
    if (status != CR_OK) {
        return status;
    }
    const int is_memory = part != 0 && (cr_sort_in(make->space) & CR_SORT_MEMORY) != 0;
    cr_sys.node_entry[make->ref.index] = make->pool_slot;
    if (is_memory) {
        cr_sys.accounts[make->ref.index] = (uint16_t)part->memory.account;
    }
    cr_rows_added(make->ref);
    if (is_memory) {
        *cr_memory_block(make->ref) = part->memory.block;
        cr_charge_pages(make->ref, cr_memory_size(make->ref), 1);
    }
    return CR_OK;
}

static cr_status add_node(cr_making *now, uint32_t what)
{
    return what == CR_OF_PD      ? cr_add_pd_node(&now->pd)
           : what == CR_OF_SPACE ? cr_add_space_node(&now->space)
                                 : add_resource_node(resource_of(now, what), part_of(now, what));
}

static cr_status take_slot(cr_making *now, uint32_t what)
{
    cr_new_cap *request = &now->request;
    cr_new_resource *resource = resource_of(now, what);
    switch (what) {
    case CR_OF_HOLD:
        now->was = now->hold.pd->slots[now->hold.slot];
        now->hold.pd->slots[now->hold.slot] = CR_SLOT_USED;
        return CR_OK;
    case CR_OF_REQUEST: {
        if (request->request == CR_NONE) {
            return CR_ERR_FULL_EDGES;
        }
        cr_request_entry *entry = &cr_sys.requests[request->request];
        cr_sys.free_request = entry->next_free;
        *entry = (cr_request_entry){.used = 1,
                                    .generation = entry->generation + 1,
                                    .pd = (uint32_t)(request->pd - cr_sys.pds),
                                    .slot = request->slot,
                                    .needed = entry->needed,
                                    .space = *request->node};
        request->pd->slots[request->slot] = CR_SLOT_USED;
        return CR_OK;
    }
    default:
        resource->pool_slot = cr_pool_take(CR_POOL_PARENT);
        if (what >= CR_OF_PART) {
            part_of(now, what)->memory.pool_slot = resource->pool_slot;
        }
        return resource->pool_slot != 0 ? CR_OK : CR_ERR_FULL_NODES;
    }
}

static void give_slot(cr_making *now, uint32_t what)
{
    const cr_new_cap *request = &now->request;
    if (what == CR_OF_HOLD) {
        now->hold.pd->slots[now->hold.slot] = now->was;
    } else if (what == CR_OF_REQUEST) {
        cr_request_entry *entry = &cr_sys.requests[request->request];
        entry->used = 0;
        entry->generation--; /* No capability has its badge any more. */
        entry->next_free = cr_sys.free_request;
        cr_sys.free_request = request->request;
        request->pd->slots[request->slot] =
            cr_pd_is_of_microkit(request->pd) ? CR_SLOT_USED : CR_SLOT_FREE;
    } else {
        cr_pool_give(resource_of(now, what)->pool_slot);
    }
}

/* A parent must never be given to a PD, because revoking it takes the capability from all. */
static cr_status mint_parent(cr_making *now, uint32_t what)
{
    cr_node_info info;
    const cr_new_part *part = part_of(now, what);
    if (part != 0) {
        return cr_line_take(part->line, parent_of(now, what));
    }
    if (what == CR_OF_RESOURCE) {
        const cr_new_resource *made = &now->resource;
        seL4_Word badge;
        if (made->body_of != 0) {
            badge = cr_badge(CR_BADGE_BODY, (uint32_t)(made->body_of - cr_sys.pds),
                             made->body_of->generation);
        } else if (cr_model_get(cr_sys.model, made->space, &info) == CR_OK) {
            badge = cr_badge_resource(info.number, *made->number);
        } else {
            return CR_ERR_STALE;
        }
        return of_kernel(
            cr_mint(parent_of(now, what), cr_slot_at(made->endpoint), seL4_AllRights, badge));
    }
    const cr_pd *manager = cr_manager_of(*now->request.node);
    if (manager == 0) {
        return CR_ERR_STATE;
    }
    return of_kernel(cr_mint(parent_of(now, what),
                             cr_slot_at(cr_body_cap(&manager->body, CR_BODY_ENDPOINT)),
                             seL4_AllRights,
                             cr_badge(CR_BADGE_REQUEST, now->request.request,
                                      cr_sys.requests[now->request.request].generation)));
}

/* The PD whose thread a hold is for. 0: the hold is for something else. */
static const cr_pd *child_of(const cr_making *now, uint32_t what)
{
    cr_node_info info;
    cr_pd *child;
    return what == CR_OF_HOLD && cr_sys.node_entry[now->hold.node->index] == 0 &&
                   cr_model_get(cr_sys.model, *now->hold.node, &info) == CR_OK &&
                   cr_find_pd(info.number, &child) == CR_RESULT_OK
               ? child
               : 0;
}

static cr_status grant(cr_making *now, uint32_t what)
{
    const cr_pd *child = child_of(now, what);
    const cr_new_part *part = part_of(now, what);
    if (part != 0) {
        return cr_line_give(part->memory.pd, part->line, slot_of(now, what), parent_of(now, what));
    }
    if (what == CR_OF_REQUEST) {
        return of_kernel(cr_copy(slot_of(now, what), parent_of(now, what), CR_CLIENT_RIGHTS));
    }
    if (child != 0) {
        return of_kernel(cr_put_thread(slot_of(now, what), child));
    }
    cr_node_info info;
    if (cr_model_get(cr_sys.model, *now->hold.node, &info) != CR_OK) {
        return CR_ERR_STALE;
    }
    return of_kernel(
        cr_copy(slot_of(now, what), cr_pool_slot(cr_sys.node_entry[now->hold.node->index]),
                cr_same(info.space, cr_sys.pd_space) ? CR_NAMING_RIGHTS : CR_CLIENT_RIGHTS));
}

static cr_status apply(void *context, const cr_make_step *step)
{
    cr_making *now = context;
    cr_new_part *part = part_of(now, step->what);
    const cr_new_edge *edge;
    if (cr_injected_at(CR_INJECT_AT_MAKE, 0) != CR_INJECTED_COUNT) {
        return CR_ERR_MEMORY;
    }
    switch (step->kind) {
    case CR_MAKE_ENTRY:
        return cr_enter_pd(&now->pd);
    case CR_MAKE_LAYOUT:
        return cr_body_lay_out(&now->pd.params);
    case CR_MAKE_BLOCK:
        return part != 0 ? cr_memory_take(&part->memory)
                         : cr_body_take(&now->pd.params, &now->pd.pd->body);
    case CR_MAKE_OBJECTS:
    case CR_MAKE_ASID:
    case CR_MAKE_TABLE:
    case CR_MAKE_PAGE:
    case CR_MAKE_CAP:
    case CR_MAKE_THREAD:
        return part != 0 ? cr_memory_apply(&part->memory,
                                           &(cr_make_step){step->kind, step->what % CR_OF_PART})
                         : cr_body_apply(&now->pd.params, &now->pd.pd->body, step);
    case CR_MAKE_CONTENT:
        return cr_memory_fill(*part->memory.from, part->memory.pages, &part->content);
    case CR_MAKE_NODE:
        return add_node(now, step->what);
    case CR_MAKE_EDGE:
        edge = &now->edges[step->what];
        return cr_rows_add_edge(edge->kind, *edge->from, *edge->to, edge->entry);
    case CR_MAKE_SLOT:
        return take_slot(now, step->what);
    case CR_MAKE_PARENT:
        return mint_parent(now, step->what);
    case CR_MAKE_GRANT:
        return grant(now, step->what);
    case CR_MAKE_START:
        return of_kernel(cr_resume(cr_body_cap(&now->pd.pd->body, CR_BODY_TCB)));
    case CR_MAKE_KIND_COUNT:
        break;
    }
    return CR_ERR_ARG;
}

/* Removes a node that nothing refers to any more. */
static cr_status remove_node(cr_making *now, uint32_t what)
{
    const cr_ref node = what == CR_OF_PD      ? now->pd.pd->node
                        : what == CR_OF_SPACE ? now->space.ref
                                              : resource_of(now, what)->ref;
    cr_status status = cr_model_doom(cr_sys.model, node);
    if (status == CR_OK && cr_is_memory(node)) {
        cr_charge_pages(node, cr_memory_size(node), -1);
    }
    if (status == CR_OK) {
        status = cr_rows_destroy(node, 0, 0, 0);
    }
    if (status == CR_OK) {
        status = cr_model_release(cr_sys.model, node);
    }
    if (status == CR_OK && what == CR_OF_SPACE) {
        cr_sys.spaces[now->space.entry].used = 0;
        cr_sys.type_spaces[now->space.type_number]--;
    }
    return status;
}

/* A step is undone in the same way whatever failed. */
static cr_status undo(void *context, const cr_make_step *step, const cr_make_result *why)
{
    cr_making *now = context;
    cr_new_part *part = part_of(now, step->what);
    const cr_new_edge *edge;
    const cr_pd *child;
    (void)why;
    switch (step->kind) {
    case CR_MAKE_ENTRY:
        cr_leave_pd(&now->pd);
        return CR_OK;
    case CR_MAKE_BLOCK:
        return cr_body_give_block(part != 0 ? &part->memory.block : &now->pd.pd->body.block);
    case CR_MAKE_NODE:
        return remove_node(now, step->what);
    case CR_MAKE_EDGE:
        edge = &now->edges[step->what];
        return cr_rows_drop_edge(edge->kind, *edge->from, *edge->to, edge->entry, CR_DROP_UNTOLD);
    case CR_MAKE_SLOT:
        give_slot(now, step->what);
        return CR_OK;
    case CR_MAKE_PARENT:
        return of_kernel(cr_delete(parent_of(now, step->what)));
    case CR_MAKE_GRANT:
        child = child_of(now, step->what);
        return of_kernel(child != 0 ? cr_put_stand_in(slot_of(now, step->what), child)
                                    : cr_delete(slot_of(now, step->what)));
    case CR_MAKE_START:
        return of_kernel(cr_suspend(cr_body_cap(&now->pd.pd->body, CR_BODY_TCB)));
    default:
        return CR_OK; /* The untyped takes it along. */
    }
}

/* -- the trace */

static void commit_resource(const cr_new_resource *made)
{
    cr_trace_change(CR_EV_RESOURCE);
    cr_trace_node(made->ref);
    cr_trace_node(made->space);
    cr_trace_number(&cr_sys.trace, made->pool_slot != 0 ? CR_RESOURCE_ROOT_SLOTS : 0);
    cr_trace_change_end();
    if (cr_is_memory(made->ref)) {
        cr_sys.memories++;
        cr_trace_body(made->ref, *cr_memory_block(made->ref), CR_MEMORY_ROOT_SLOTS);
    }
    if (made->body_of == 0) {
        cr_space_entry_of(made->space)->next_object++;
    }
}

static void commit_edge(const cr_new_edge *edge)
{
    cr_rows_tell_edge(edge->kind, *edge->from, *edge->to, edge->entry);
    if (edge->kind == CR_EDGE_HOLD || edge->kind == CR_EDGE_REQUEST) {
        cr_use_allowance(cr_pd_of(*edge->from), cr_sys.cause.asker);
    }
}

static void commit(void *context, const cr_make_step *step)
{
    cr_making *now = context;
    const cr_new_part *part = part_of(now, step->what);
    if (step->kind == CR_MAKE_NODE && step->what == CR_OF_PD) {
        cr_commit_pd(&now->pd);
    } else if (step->kind == CR_MAKE_NODE && step->what == CR_OF_SPACE) {
        cr_commit_space(&now->space);
    } else if (step->kind == CR_MAKE_NODE) {
        commit_resource(resource_of(now, step->what));
        if (part != 0 && part->known != 0) {
            *part->known = part->resource.ref;
        }
    } else if (step->kind == CR_MAKE_EDGE) {
        commit_edge(&now->edges[step->what]);
    } else if (step->kind == CR_MAKE_START) {
        cr_commit_start(&now->pd);
    }
}

static void trace_failure(const cr_make_result *result)
{
    cr_sys.report_unmade(cr_now_made.made, result);
    cr_trace_begin(&cr_sys.trace, CR_EV_MAKE_FAILED);
    cr_trace_string(&cr_sys.trace, cr_made_name(cr_now_made.made));
    cr_trace_string(&cr_sys.trace, cr_now_made.name);
    cr_trace_number(&cr_sys.trace, result->done + 1);
    cr_trace_string(&cr_sys.trace, cr_make_step_name(result->step.kind));
    cr_trace_number(&cr_sys.trace, (uint64_t)cr_result_of(result->status));
    cr_trace_number(&cr_sys.trace, result->undone);
    cr_trace_memory();
    cr_trace_end(&cr_sys.trace);
}

cr_result cr_making_run(void)
{
    const cr_make_chain chain = {
        .step = step_at, .apply = apply, .undo = undo, .commit = commit, .context = &cr_now_made};
    const cr_make_result result = cr_make_run(&chain);
    if (result.status != CR_OK) {
        trace_failure(&result);
    }
    return cr_result_of(result.status);
}
