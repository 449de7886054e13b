/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes PDs: one chain of steps from the entry in the table to the first instruction (making.h).
 * Before the chain is committed, the PD has no number and no event in the trace. */
#include "channels.h"
#include "charge.h"
#include "lines.h"
#include "making.h"
#include "regions.h"
#include "rows.h"
#include "state.h"
#include "text.h"
#include "truth.h"
#include "kernel/untyped.h"
#include <cellreap/numbers.h>

_Static_assert(sizeof(cr_startup) <= 4096, "the startup information is one page");

/* Another PD cannot know it. 0: the console is not to have what PDs say themselves. */
static uint64_t secret_of(const cr_pd *pd)
{
    char id[CR_ID_BYTES];
    cr_pd_id(pd, id);
    return (cr_sys.image->flags & CR_IMAGE_TRUTH) != 0 ? cr_trace_secret(&cr_sys.trace, id) : 0;
}

static void fill_startup(cr_pd *pd, cr_startup *out)
{
    const cr_image_header *image = cr_sys.image;
    const cr_image_space *spaces = cr_image_spaces(image);
    const cr_image_request *requests = cr_image_requests(image);
    *out = (cr_startup){.magic = CR_PROTOCOL_MAGIC,
                        .pd = pd->number,
                        .cspace_bits = pd->body.cspace_bits,
                        .secret = secret_of(pd),
                        .ipc_buffer = CR_VADDR_IPC_BUFFER,
                        .threads = 1};
    const cr_image_pd *config = pd->config != CR_IMAGE_NONE ? &cr_image_pds(image)[pd->config] : 0;
    if (config != 0) {
        out->thread = config->thread;
        out->threads = config->threads;
        out->ipc_buffer = cr_vaddr_of(CR_VADDR_IPC_BUFFER, config->thread);
    }
    cr_text_copy(out->name, pd->name, CR_NAME_BYTES);
    if (config == 0) {
        return;
    }
    for (uint32_t i = 0; i < CR_PD_ARGS; i++) {
        out->args[i] = config->args[i];
    }
    for (uint32_t i = 0; i < image->spaces.count && out->n_spaces < CR_STARTUP_SPACES; i++) {
        if (spaces[i].pd == pd->config) {
            cr_text_copy(out->spaces[out->n_spaces].name, spaces[i].name, CR_NAME_BYTES);
            cr_text_copy(out->spaces[out->n_spaces++].type, spaces[i].type, CR_TYPE_BYTES);
        }
    }
    for (uint32_t i = 0; i < image->requests.count && out->n_requests < CR_STARTUP_REQUESTS; i++) {
        if (requests[i].pd == pd->config) {
            cr_text_copy(out->requests[out->n_requests++], spaces[requests[i].space].name,
                         CR_NAME_BYTES);
        }
    }
    /* The slot of a PD capability is fixed by its place in the configuration. The capability is in
     * this slot whenever its PD exists, also if the PD is created later or respawned. After a loss,
     * the slot is filled again when the holder has acknowledged it. */
    for (uint32_t i = 0; i < image->holds.count; i++) {
        const cr_image_pd_hold *hold = &cr_image_holds(image)[i];
        cr_pd *target = cr_find_configured(hold->target);
        if (hold->pd != pd->config) {
            continue;
        }
        pd->slots[cr_hold_slot(i)] = CR_SLOT_RESERVED;
        if (out->n_pds == CR_STARTUP_PDS) {
            continue;
        }
        cr_text_copy(out->pds[out->n_pds].name, cr_image_pds(image)[hold->target].name,
                     CR_NAME_BYTES);
        out->pds[out->n_pds].number = target != 0 && cr_may_have_caps(target) ? target->number : 0;
        out->pds[out->n_pds++].slot = cr_hold_slot(i);
    }
    /* A PD for Microkit has more of them than it is told of, and a slot of 0 where it has none. */
    for (uint32_t i = 0; i < image->ends.count; i++) {
        const cr_image_channel_end *end = &cr_image_ends(image)[i];
        if (end->pd != pd->config) {
            continue;
        }
        pd->slots[end->slot] = CR_SLOT_USED;
        pd->slots[end->calls] = CR_SLOT_USED;
        if (out->n_channels < CR_STARTUP_CHANNELS) {
            cr_text_copy(out->channels[out->n_channels].name, end->name, CR_NAME_BYTES);
            out->channels[out->n_channels].slot = end->slot;
            out->channels[out->n_channels++].id = end->id;
        }
    }
    cr_lines_fill(pd, out);
}

/* The startup information of the PD that is being made. */
static cr_startup startup;

static void add_pair(cr_edge_kind kind, const cr_ref *from, const cr_ref *to)
{
    cr_making_add_edge(&(cr_new_edge){.kind = kind, .from = from, .to = to});
}

/* REQUEST edges to core spaces need no slot. The root task serves them over the PD's own capability
 * for operations. */
static void add_core_request(const cr_pd *pd, const cr_ref *space)
{
    cr_making_add_edge(
        &(cr_new_edge){.kind = CR_EDGE_REQUEST, .from = &pd->node, .to = space, .entry = CR_NONE});
}

static int makes_spaces(uint32_t config)
{
    const cr_image_header *image = cr_sys.image;
    for (uint32_t i = 0; i < image->spaces.count; i++) {
        if (cr_image_spaces(image)[i].pd == config) {
            return 1;
        }
    }
    return 0;
}

/* The first thread of the process: a further one is made only if it is there. */
static const cr_pd *process_of(const cr_image_pd *thread)
{
    const cr_pd *process = cr_find_configured(thread->process);
    if (process == 0) {
        cr_panic("a thread is made, and its process is not there", thread->process);
    }
    return process;
}

/* Its address space, if it shares one: a resource that all threads hold. */
static void add_address_space(const cr_pd *pd, uint32_t index)
{
    const cr_image_pd *config = &cr_image_pds(cr_sys.image)[index];
    cr_ref *known = &cr_sys.address_spaces[config->thread == 0 ? index : config->process];
    if (config->threads == 1) {
        return;
    }
    const cr_ref *space =
        config->thread != 0 ? known : &cr_making_new_bare(cr_sys.ads_space, known)->resource.ref;
    cr_making_add_edge(
        &(cr_new_edge){.kind = CR_EDGE_HOLD, .from = &pd->node, .to = space, .entry = 0});
}

/* Adds the edges that a new PD has from the start. */
static void add_initial_edges(const cr_new_pd *make)
{
    const cr_image_header *image = cr_sys.image;
    const cr_pd *pd = make->pd;
    if (make->creator != 0) {
        add_pair(CR_EDGE_OWN, &make->creator->node, &pd->node);
    }
    if (make->config == CR_IMAGE_NONE) {
        return;
    }
    const cr_image_pd *config = &cr_image_pds(image)[make->config];
    if (makes_spaces(make->config)) {
        add_core_request(pd, &cr_sys.resspc_space);
    }
    if ((config->flags & CR_IMAGE_MAY_SPAWN) != 0) {
        add_core_request(pd, &cr_sys.pd_space);
    }
    if ((config->flags & CR_IMAGE_MAY_ALLOCATE) != 0) {
        add_core_request(pd, &cr_sys.mo_space);
    }
    const cr_pd *handler =
        config->fault_handler != CR_IMAGE_NONE ? cr_find_configured(config->fault_handler) : 0;
    if (handler != 0) {
        add_pair(CR_EDGE_FAULT, &pd->node, &handler->node);
    }
    if (config->process != CR_IMAGE_NONE) {
        add_pair(CR_EDGE_OWN, &process_of(config)->node, &pd->node);
    }
    for (uint32_t i = 0; i < image->links.count; i++) {
        const cr_image_link *link = &cr_image_links(image)[i];
        const uint32_t other = link->a == make->config ? link->b : link->a;
        const cr_pd *peer =
            link->a == make->config || link->b == make->config ? cr_find_configured(other) : 0;
        if (peer != 0) {
            add_pair(CR_EDGE_LINK, &pd->node, &peer->node);
        }
    }
}

/* A free entry in the table of PDs, or CR_NONE: there is none, or no number for a PD is left. */
static uint32_t find_pd_entry(void)
{
    for (uint32_t i = 1; cr_number_left(cr_sys.next_pd, CR_LAST_PD) && i < cr_most.pds; i++) {
        if (!cr_pd_exists(&cr_sys.pds[i]) &&
            cr_number_left(cr_sys.pds[i].generation + 1, CR_LAST_GENERATION)) {
            return i;
        }
    }
    return CR_NONE;
}

cr_result cr_can_spawn(const cr_pd *creator, uint32_t *slot)
{
    cr_result result = cr_can_take_slot(creator, slot);
    if (result == CR_RESULT_OK && (find_pd_entry() == CR_NONE || cr_nodes_left() < 2)) {
        return CR_RESULT_FULL;
    }
    return result == CR_RESULT_OK ? cr_fits_spawned(creator) : result;
}

/* The configured PD that a PD descends from: no other has rules for what is spawned. */
static const cr_image_pd *ancestor_of(const cr_pd *pd)
{
    return &cr_image_pds(cr_sys.image)[pd->account - 1];
}

/* A spawned PD has never more priority than its creator. */
static uint32_t priority_of_spawned(const cr_pd *creator)
{
    uint32_t most = ancestor_of(creator)->spawn_priority;
    return most < creator->priority ? most : creator->priority;
}

static uint32_t allowed_from_start(const cr_pd *creator)
{
    return ancestor_of(creator)->spawn_allow;
}

void cr_trace_rights(const cr_pd *pd)
{
    static const uint32_t flags[] = {CR_IMAGE_MAY_SET_DEPTH, CR_IMAGE_MAY_EXTRACT,
                                     CR_IMAGE_MAY_SPAWN, CR_IMAGE_MAY_LISTEN, CR_IMAGE_MAY_COLLECT};
    static const cr_image_pd none;
    const cr_image_pd *rule =
        (pd->flags & CR_IMAGE_RESPAWN) != 0 ? &cr_image_pds(cr_sys.image)[pd->config] : &none;
    cr_node_info node;
    if (cr_model_get(cr_sys.model, pd->node, &node) != CR_OK) {
        cr_panic("a PD with rights is not there", pd->number);
    }
    cr_trace_begin(&cr_sys.trace, CR_EV_RIGHTS);
    cr_trace_pd(pd);
    cr_trace_number(&cr_sys.trace, (node.flags & CR_FLAG_PINNED) != 0);
    cr_trace_number(&cr_sys.trace, cr_pd_is_protected(pd) != 0);
    cr_trace_number(&cr_sys.trace, pd->priority);
    cr_trace_number(&cr_sys.trace, pd->account);
    for (uint32_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        cr_trace_number(&cr_sys.trace, (pd->flags & flags[i]) != 0);
    }
    cr_trace_number(&cr_sys.trace, cr_reader_of(pd));
    cr_trace_depth(&cr_sys.trace, cr_depth_of(pd->pd_depth, cr_sys.image->pd_depth));
    cr_trace_depth(&cr_sys.trace, cr_depth_of(pd->rs_depth, cr_sys.image->rs_depth));
    cr_trace_number(&cr_sys.trace, pd->deadline_ms);
    cr_trace_number(&cr_sys.trace, pd->limits.heartbeat_ms);
    cr_trace_number(&cr_sys.trace, pd->limits.call_ms);
    cr_trace_number(&cr_sys.trace, pd->time.budget_us);
    cr_trace_number(&cr_sys.trace, pd->time.period_us);
    cr_trace_number(&cr_sys.trace, pd->passive != 0);
    cr_trace_number(&cr_sys.trace, rule->respawn_budget);
    cr_trace_number(&cr_sys.trace, rule->respawn_window_ms);
    cr_trace_number(&cr_sys.trace, rule->respawn_delay_ms);
    cr_trace_change_end();
}

/* Prints whose policy the PD may change. */
static void trace_trusts_of(const cr_pd *pd)
{
    for (uint32_t i = 0; i < cr_sys.image->trusts.count; i++) {
        const cr_image_trust *trust = &cr_image_trusts(cr_sys.image)[i];
        if (trust->pd == pd->config) {
            cr_trace_begin(&cr_sys.trace, CR_EV_TRUST);
            cr_trace_pd(pd);
            cr_trace_number(&cr_sys.trace, trust->target + 1);
            cr_trace_end(&cr_sys.trace);
        }
    }
}

/* The part of a table that is a PD's, cleared. */
static uint32_t *slots_of(uint32_t index, uint32_t *table)
{
    const uint32_t each = cr_most.slots / cr_most.pds;
    uint32_t *slots = &table[index * each];
    for (uint32_t i = 0; i < each; i++) {
        slots[i] = 0;
    }
    return slots;
}

/* The table's entry. It is filled when nothing of the PD exists yet. */
cr_status cr_enter_pd(cr_new_pd *make)
{
    const cr_image_header *image = cr_sys.image;
    const cr_pd *creator = make->creator;
    const uint32_t config_index = make->config;
    const cr_image_pd *config =
        config_index != CR_IMAGE_NONE ? &cr_image_pds(image)[config_index] : 0;
    cr_pd *pd = make->pd;
    const uint32_t index = cr_receiver(pd);
    const uint32_t generation = pd->generation + 1;
    cr_pd_become(pd, CR_LIFE_MAKING);
    *pd = (cr_pd){.life = pd->life,
                  .slots = slots_of(index, cr_sys.slots),
                  .servers = slots_of(index, cr_sys.servers),
                  .config = config_index,
                  .program = make->program,
                  .node = {CR_NONE, 0},
                  .number = cr_sys.next_pd,
                  .generation = generation,
                  .flags = config != 0 ? config->flags : 0,
                  .account = creator != 0  ? creator->account
                             : config != 0 ? config_index + 1
                                           : 0,
                  .priority = config != 0    ? config->priority
                              : creator != 0 ? priority_of_spawned(creator)
                                             : CR_PRIORITY_OF_SAVED,
                  .pd_depth = config != 0 ? config->pd_depth : CR_IMAGE_DEPTH_DEFAULT,
                  .rs_depth = config != 0 ? config->rs_depth : CR_IMAGE_DEPTH_DEFAULT,
                  .deadline_ms = config != 0    ? config->deadline_ms
                                 : creator != 0 ? creator->deadline_ms
                                                : 0};
    if (config != 0) {
        pd->limits = (cr_limits){.heartbeat_ms = config->heartbeat_ms, .call_ms = config->call_ms};
        pd->time = (cr_time){config->budget_us, config->period_us,
                             (config->flags & CR_IMAGE_OVERRUN_WAITS) != 0};
        pd->passive = (config->flags & CR_IMAGE_PASSIVE) != 0;
    } else if (creator != 0) {
        pd->limits = (cr_limits){.heartbeat_ms = creator->limits.heartbeat_ms,
                                 .call_ms = creator->limits.call_ms};
        pd->time = creator->time;
        pd->passive = creator->passive;
    }
    cr_sys.has_passive |= pd->passive;
    cr_sys.may_listen |= (pd->flags & CR_IMAGE_MAY_LISTEN) != 0;
    cr_text_copy(pd->name, make->name, CR_NAME_BYTES);
    pd->body.cspace_bits = config != 0             ? config->cspace_bits
                           : make->saved_bits != 0 ? make->saved_bits
                                                   : CR_SPAWNED_CSPACE_BITS;
    pd->body.block = CR_BLOCK_NONE;
    for (uint32_t i = 0; i < CR_SLOT_FIRST_FREE; i++) {
        pd->slots[i] = CR_SLOT_USED;
    }
    fill_startup(pd, &startup);
    startup.creator = creator != 0 ? creator->number : 0;
    cr_body_params *params = &make->params;
    *params = cr_body_shape(config_index, make->program, pd->body.cspace_bits);
    params->priority = pd->priority;
    params->time = pd->time;
    params->passive = pd->passive;
    params->microkit = cr_pd_is_of_microkit(pd);
    params->number = pd->number;
    params->l1 = CR_L1_BODIES + index;
    params->startup = &startup;
    params->root_endpoint = cr_sys.endpoint;
    params->request_badge = cr_badge(CR_BADGE_PD, index, generation);
    params->fault_endpoint = cr_sys.endpoint;
    params->fault_badge = cr_badge(CR_BADGE_FAULT, index, generation);
    params->name = pd->name;
    params->owner = config != 0 ? CR_OWNER_BODY + config_index : pd->account;
    if (config != 0) {
        cr_channels_fill(config_index, params);
    }
    if (params->thread != 0) {
        params->vspace = cr_body_cap(&process_of(config)->body, CR_BODY_VSPACE);
    }
    const cr_status status =
        cr_work_set_receiver(cr_sys.work, cr_receiver(pd), (uint16_t)pd->account, CR_MAX_TAKEN);
    if (status != CR_OK) {
        cr_leave_pd(make);
    }
    return status;
}

void cr_leave_pd(cr_new_pd *make)
{
    cr_pd *pd = make->pd;
    *pd = (cr_pd){.life = pd->life, .generation = pd->generation - 1};
    cr_pd_become(pd, CR_LIFE_ABSENT);
}

cr_status cr_add_pd_node(cr_new_pd *make)
{
    cr_pd *pd = make->pd;
    const uint32_t flags = (pd->flags & CR_IMAGE_PINNED) != 0 ? CR_FLAG_PINNED : 0;
    const cr_status status = cr_model_add_pd(cr_sys.model, pd->number, flags, &pd->node);
    if (status == CR_OK) {
        cr_sys.node_entry[pd->node.index] = cr_receiver(pd);
        cr_sys.accounts[pd->node.index] = (uint16_t)pd->account;
        cr_rows_added(pd->node);
    }
    return status;
}

void cr_commit_pd(const cr_new_pd *make)
{
    const cr_pd *pd = make->pd;
    cr_sys.next_pd++;
    cr_sys.pds_made++;
    cr_trace_change(CR_EV_PD);
    cr_trace_pd(pd);
    cr_trace_string(&cr_sys.trace, pd->name);
    cr_trace_change_end();
    cr_trace_body(pd->node, pd->body.block, CR_BODY_ROOT_SLOTS);
    cr_trace_rights(pd);
    trace_trusts_of(pd);
}

void cr_commit_start(const cr_new_pd *make)
{
    cr_pd_become(make->pd, CR_LIFE_RUNS);
    cr_sys.any_of_microkit |= cr_pd_is_of_microkit(make->pd);
    cr_sys.doors_due |= cr_pd_is_of_microkit(make->pd);
    if (make->creator != 0 && allowed_from_start(make->creator) > 0) {
        cr_allow(make->pd, make->creator, allowed_from_start(make->creator));
    }
}

/* `slot`: for the creator's capability to the PD. */
static cr_result make_pd(const cr_new_pd *make, uint32_t slot, cr_pd **out)
{
    const uint32_t index = find_pd_entry();
    if (index == CR_NONE) {
        return CR_RESULT_FULL;
    }
    cr_making_begin(CR_MADE_PD, make->name);
    cr_now_made.has_pd = 1;
    cr_now_made.pd = *make;
    cr_now_made.pd.pd = &cr_sys.pds[index];
    cr_now_made.pd.pd->node.index = CR_NONE; /* The node of the last PD in this entry is gone. */
    cr_making_add(CR_MAKE_NODE, CR_OF_PD);
    add_initial_edges(&cr_now_made.pd);
    if (make->config != CR_IMAGE_NONE) {
        add_address_space(cr_now_made.pd.pd, make->config);
        cr_regions_add(cr_now_made.pd.pd, make->config);
        cr_channels_add(cr_now_made.pd.pd, make->config);
        cr_lines_add(cr_now_made.pd.pd, make->config);
    }
    cr_making_add(CR_MAKE_START, CR_OF_PD);
    if (make->creator != 0) {
        cr_making_add_body_hold(make->creator, cr_now_made.pd.pd, slot);
    }
    const cr_result result = cr_making_run();
    *out = cr_now_made.pd.pd;
    return result;
}

cr_result cr_make_configured_pd(uint32_t config, cr_pd **out)
{
    const cr_image_pd *row = &cr_image_pds(cr_sys.image)[config];
    cr_new_pd make = {.config = config, .program = row->program};
    cr_text_copy(make.name, row->name, CR_NAME_BYTES);
    const cr_result result = make_pd(&make, 0, out);
    if (result == CR_RESULT_OK) {
        cr_grant_pds(*out);
    }
    return result;
}

/* It counts for no account. It can be run, but is stopped before any PD runs. */
cr_result cr_make_saved_pd(const cr_image_saved_node *row, cr_pd **out)
{
    cr_new_pd make = {.config = CR_IMAGE_NONE, .program = row->of, .saved_bits = row->bits};
    cr_text_copy(make.name, row->name, CR_NAME_BYTES);
    cr_sys.next_pd = row->number;
    return make_pd(&make, 0, out);
}

cr_result cr_spawn_pd(uint32_t program, const char *name, cr_pd *creator, uint32_t slot,
                      cr_pd **out)
{
    cr_new_pd make = {.creator = creator, .config = CR_IMAGE_NONE, .program = program};
    cr_text_copy(make.name, name, CR_NAME_BYTES);
    return make_pd(&make, slot, out);
}
