/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The tables of the system, ids, the trace and look-up. See system.h. The functions here that look
 * up nodes and badges must not trust their arguments: numbers and badges come from PDs. */
#include "charge.h"
#include "making.h"
#include "rows.h"
#include "state.h"
#include <cellreap/blake2s.h>
#include <cellreap/numbers.h>
#include "text.h"
#include "kernel/arch/arch.h"
#include "kernel/untyped.h"

cr_system cr_sys;

enum { TRACE_RING = 1 << 19 };

static _Alignas(8) uint8_t trace_ring[TRACE_RING];

/* -- ids and trace */

const char *cr_fault_name(cr_fault_kind kind)
{
    static const char *const names[] = {
#define CR_FAULT_KIND(enumerator, number, name, ...) [enumerator] = name,
        CR_FAULT_KINDS
#undef CR_FAULT_KIND
    };
    return names[kind];
}

const char *cr_type_name(uint32_t type)
{
    static const char unknown[CR_TYPE_BYTES] = "?";
    return type < cr_most.types ? cr_sys.types[type] : unknown;
}

static size_t put_text(char *out, size_t at, const char *text)
{
    for (; *text != '\0' && at + 1 < CR_ID_BYTES; text++) {
        out[at++] = *text;
    }
    out[at] = '\0';
    return at;
}

static size_t put_hex(char *out, size_t at, uint32_t value)
{
    char text[24];
    cr_format_hex(text, value);
    return put_text(out, at, text);
}

static void compose_id(cr_ref node, cr_id *id)
{
    char *out = id->text;
    cr_node_info info;
    cr_node_info space;
    id->pd = id->space = 0;
    id->object = 0;
    if (cr_model_get(cr_sys.model, node, &info) != CR_OK) {
        put_text(out, 0, "?");
        return;
    }
    switch (info.kind) {
    case CR_NODE_PD:
        id->pd = info.number;
        put_hex(out, put_text(out, 0, "PD_"), info.number);
        return;
    case CR_NODE_SPACE:
        id->space = info.number;
        put_hex(out, put_text(out, put_text(out, 0, cr_type_name(info.type)), "_SPACE_"),
                info.number);
        return;
    case CR_NODE_RESOURCE:
        if (cr_model_get(cr_sys.model, info.space, &space) != CR_OK) {
            break;
        }
        id->space = space.number;
        id->object = info.number;
        put_hex(out,
                put_text(out,
                         put_hex(out, put_text(out, put_text(out, 0, cr_type_name(info.type)), "_"),
                                 space.number),
                         "_"),
                info.number);
        return;
    case CR_NODE_FREE:
    case CR_NODE_KIND_COUNT:
        break;
    }
    put_text(out, 0, "?");
}

void cr_keep_id(cr_ref node)
{
    cr_id *id = &cr_sys.ids[node.index];
    compose_id(node, id);
    id->generation = node.generation;
    size_t count = 0;
    while (id->text[count] != '\0') {
        count++;
    }
    id->words = (uint32_t)cr_piece_words(count);
    id->head = (uint64_t)count << CR_PIECE_COUNT_SHIFT;
}

const cr_id cr_id_unknown = {.words = 2, .head = 1ull << CR_PIECE_COUNT_SHIFT, .text = "?"};
const cr_id cr_id_none = {.words = 2, .head = 1ull << CR_PIECE_COUNT_SHIFT, .text = "-"};

void cr_node_id(cr_ref node, char *out)
{
    const cr_id *id = cr_id_of(node);
    __builtin_memcpy(out, id->text, CR_ID_BYTES);
}

void cr_pd_number_id(uint32_t number, char *out)
{
    put_hex(out, put_text(out, 0, "PD_"), number);
}

void cr_pd_id(const cr_pd *pd, char *out)
{
    cr_pd_number_id(pd->number, out);
}

void cr_trace_change(cr_event event)
{
    cr_sys.memory_changed |= event == CR_EV_BODY || event == CR_EV_RESOURCE;
    cr_trace_begin(&cr_sys.trace, event);
}

void cr_trace_op(cr_op op)
{
    static const char *const words[CR_OP_COUNT] = {
#define CR_OPERATION(enumerator, number, word, ...) [enumerator] = #word,
        CR_OPERATIONS
#undef CR_OPERATION
    };
    cr_trace_name(&cr_sys.trace, words[op]);
}

static void trace_cause(void)
{
    if (cr_sys.cause.op == 0) {
        cr_trace_string(&cr_sys.trace, "-");
        cr_trace_string(&cr_sys.trace, cr_sys.makes_saved ? "reconcile" : "-");
    } else {
        cr_trace_pd(cr_sys.cause.asker);
        cr_trace_op((cr_op)cr_sys.cause.op);
    }
}

void cr_trace_change_end(void)
{
    trace_cause();
    cr_trace_end(&cr_sys.trace);
}

void cr_trace_node(cr_ref node)
{
    cr_trace_id(cr_id_or_none(node));
}

void cr_trace_pd(const cr_pd *pd)
{
    char text[CR_ID_BYTES];
    const cr_id *id = cr_id_of(pd->node);
    if (id->generation != 0) {
        cr_trace_id(id);
        return;
    }
    cr_pd_id(pd, text); /* Its node is not made yet. */
    cr_trace_string(&cr_sys.trace, text);
}

void cr_trace_pd_or_none(const cr_pd *pd)
{
    if (pd != 0) {
        cr_trace_pd(pd);
    } else {
        cr_trace_node((cr_ref){CR_NONE, 0});
    }
}

/* The number of slots that PDs, resources and the root task itself use. The allocator's slots for
 * halves of split blocks do not count, because they depend on the history of the allocator. */
uint64_t cr_slots_used(void)
{
    const uint64_t bodies = (uint64_t)(cr_sys.pds_there - 1); /* not the root task's */
    return bodies * CR_BODY_ROOT_SLOTS + (uint64_t)cr_sys.memories * CR_MEMORY_ROOT_SLOTS +
           cr_pool_used(CR_POOL_OWN) + cr_pool_used(CR_POOL_PARENT);
}

void cr_account(void)
{
    if (cr_sys.memory_changed) {
        cr_tombstones_release();
        cr_trace_usage();
    }
}

void cr_trace_begin_of(cr_event event, cr_change change)
{
    static const char *const words[] = {
#define CR_CHANGE(enumerator, number, word, meaning) [enumerator] = word,
        CR_CHANGES
#undef CR_CHANGE
    };
    cr_trace_begin(&cr_sys.trace, event);
    cr_trace_name(&cr_sys.trace, words[change]);
}

void cr_trace_thread(cr_change change, const cr_pd *pd, const cr_pd *by)
{
    cr_trace_begin_of(CR_EV_THREAD, change);
    cr_trace_pd(pd);
    cr_trace_pd_or_none(by);
    cr_trace_end(&cr_sys.trace);
}

void cr_trace_notice(cr_change change, const cr_pd *pd, uint64_t token)
{
    cr_trace_begin_of(CR_EV_NOTICE, change);
    cr_trace_pd(pd);
    cr_trace_number(&cr_sys.trace, token);
    cr_trace_end(&cr_sys.trace);
}

/* -- look-up */

cr_result cr_result_of(cr_status status)
{
    switch (status) {
    case CR_OK:
        return CR_RESULT_OK;
    case CR_ERR_STALE:
    case CR_ERR_ABSENT:
        return CR_RESULT_NO_SUCH;
    case CR_ERR_STATE:
        return CR_RESULT_GONE;
    case CR_ERR_EXISTS:
        return CR_RESULT_EXISTS;
    case CR_ERR_FULL_NODES:
    case CR_ERR_FULL_EDGES:
    case CR_ERR_FULL_PLAN:
        return CR_RESULT_FULL;
    case CR_ERR_MEMORY:
        return CR_RESULT_MEMORY;
    default:
        return CR_RESULT_FAILED;
    }
}

int cr_is_doomed(const cr_pd *pd)
{
    cr_node_info info;
    return cr_model_get(cr_sys.model, pd->node, &info) != CR_OK || info.state != CR_STATE_ACTIVE;
}

cr_space_entry *cr_space_entry_of(cr_ref space)
{
    return &cr_sys.spaces[cr_sys.node_entry[space.index]];
}

cr_result cr_find_pd(uint32_t number, cr_pd **out)
{
    for (uint32_t i = 0; i < cr_most.pds; i++) {
        if (cr_pd_exists(&cr_sys.pds[i]) && cr_sys.pds[i].number == number) {
            *out = &cr_sys.pds[i];
            return CR_RESULT_OK;
        }
    }
    return number < cr_sys.next_pd ? CR_RESULT_GONE : CR_RESULT_NO_SUCH;
}

cr_pd *cr_find_configured(uint32_t config)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        if (cr_pd_exists(&cr_sys.pds[i]) && cr_sys.pds[i].config == config) {
            return &cr_sys.pds[i];
        }
    }
    return 0;
}

uint32_t cr_process_of(const cr_pd *pd)
{
    if (pd->config == CR_IMAGE_NONE) {
        return CR_IMAGE_NONE;
    }
    const cr_image_pd *config = &cr_image_pds(cr_sys.image)[pd->config];
    return config->threads == 1  ? CR_IMAGE_NONE
           : config->thread == 0 ? pd->config
                                 : config->process;
}

uint32_t cr_edge_slot(uint32_t edge, cr_edge_kind kind)
{
    const uint32_t entry = cr_sys.edge_entry[edge];
    if (kind == CR_EDGE_HOLD) {
        return entry;
    }
    return entry != CR_NONE ? cr_sys.requests[entry].slot : 0;
}

uint32_t cr_find_configured_space(const char *name)
{
    const cr_image_header *image = cr_sys.image;
    for (uint32_t i = 0; i < image->spaces.count; i++) {
        if (cr_text_same(cr_image_spaces(image)[i].name, name)) {
            return i;
        }
    }
    return CR_IMAGE_NONE;
}

cr_result cr_find_space(uint32_t number, cr_ref *out)
{
    cr_node_info info;
    if (cr_rows_find(number, 0, out) && cr_model_get(cr_sys.model, *out, &info) == CR_OK) {
        return info.state == CR_STATE_ACTIVE ? CR_RESULT_OK : CR_RESULT_GONE;
    }
    return number != 0 && number < cr_sys.next_space ? CR_RESULT_GONE : CR_RESULT_NO_SUCH;
}

int cr_is_there(uint32_t space_number)
{
    cr_ref space;
    return cr_rows_find(space_number, 0, &space); /* A destroyed one has left the index. */
}

cr_result cr_find_resource(uint32_t space_number, uint32_t object, cr_ref *out)
{
    cr_ref space;
    cr_result result = cr_find_space(space_number, &space);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (object != 0 && cr_rows_find(space_number, object, out)) {
        return CR_RESULT_OK;
    }
    return object != 0 && object < cr_space_entry_of(space)->next_object ? CR_RESULT_GONE
                                                                         : CR_RESULT_NO_SUCH;
}

cr_result cr_find_badged(uint64_t badge, cr_badge_kind kind, cr_pd **out)
{
    uint32_t index = cr_badge_index(badge);
    if (cr_badge_kind_of(badge) != kind || index == 0 || index >= cr_most.pds) {
        return CR_RESULT_BAD_BADGE;
    }
    cr_pd *pd = &cr_sys.pds[index];
    if (!cr_pd_exists(pd) || (pd->generation & 0xfffffffu) != cr_badge_generation(badge)) {
        return CR_RESULT_GONE;
    }
    *out = pd;
    return CR_RESULT_OK;
}

cr_result cr_find_request(uint64_t badge, cr_request_entry **out)
{
    uint32_t index = cr_badge_index(badge);
    if (cr_badge_kind_of(badge) != CR_BADGE_REQUEST || index >= cr_most.requests) {
        return CR_RESULT_BAD_BADGE;
    }
    cr_request_entry *entry = &cr_sys.requests[index];
    if (!entry->used || (entry->generation & 0xfffffffu) != cr_badge_generation(badge)) {
        return CR_RESULT_BAD_BADGE;
    }
    *out = entry;
    return CR_RESULT_OK;
}

cr_pd *cr_manager_of(cr_ref node)
{
    cr_node_info info;
    return cr_model_get(cr_sys.model, node, &info) == CR_OK && info.manager.index != CR_NONE
               ? cr_pd_of(info.manager)
               : 0;
}

cr_pd *cr_server_of(cr_ref node)
{
    return cr_if_up(cr_manager_of(node));
}

static cr_result own_thing(const cr_pd *from, uint32_t space, uint32_t object, cr_ref *out)
{
    cr_result result =
        object == 0 ? cr_find_space(space, out) : cr_find_resource(space, object, out);
    return result != CR_RESULT_OK        ? result
           : cr_manager_of(*out) == from ? CR_RESULT_OK
                                         : CR_RESULT_DENIED;
}

cr_result cr_find_map_ends(const cr_pd *from, const cr_map_ends *ends, cr_ref *source,
                           cr_ref *target)
{
    cr_ref space;
    if ((ends->object == 0) != (ends->target_object == 0)) {
        return CR_RESULT_FAILED;
    }
    cr_result result = own_thing(from, ends->space, ends->object, source);
    if (result == CR_RESULT_OK) {
        result = cr_find_space(ends->target_space, &space);
    }
    if (result == CR_RESULT_OK && ends->target_object != 0) {
        result = cr_find_resource(ends->target_space, ends->target_object, target);
    } else if (result == CR_RESULT_OK) {
        *target = space;
    }
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (cr_is_memory(*target) || cr_is_bare(*target) || cr_is_line(*target)) {
        return CR_RESULT_DENIED; /* Only regions keep memory, and nothing what is given. */
    }
    int may = cr_model_count(cr_sys.model, CR_EDGE_REQUEST, from->node, space) > 0 ||
              cr_model_count(cr_sys.model, CR_EDGE_HOLD, from->node, *target) > 0;
    return may ? CR_RESULT_OK : CR_RESULT_DENIED;
}

uint8_t cr_sort_in(cr_ref space)
{
    return cr_same(space, cr_sys.mo_space)    ? CR_SORT_MEMORY
           : cr_same(space, cr_sys.vmr_space) ? CR_SORT_MEMORY | CR_SORT_REGION
           : cr_same(space, cr_sys.channel_space) || cr_same(space, cr_sys.ads_space) ? CR_SORT_BARE
           : cr_same(space, cr_sys.irq_space) || cr_same(space, cr_sys.port_space)    ? CR_SORT_LINE
                                                                                      : 0;
}

/* -- start */

_Static_assert((int)CR_TRACE_KEY_BYTES == (int)CR_IMAGE_KEY_BYTES, "the same size");

/* The key of this run's trace. Each boot has another one: somebody who saw the console of an
 * earlier run, and so its key, cannot derive this one without the secret of the image. */
static void make_run_key(const cr_image_header *image, uint8_t key[CR_TRACE_KEY_BYTES])
{
    uint64_t counter = cr_arch_boot_counter();
    cr_blake2s hash;
    cr_blake2s_init(&hash, image->trace_key, CR_IMAGE_KEY_BYTES, CR_TRACE_KEY_BYTES);
    cr_blake2s_add(&hash, &counter, sizeof(counter));
    cr_blake2s_end(&hash, key);
}

static void make_tables(void)
{
    const uint32_t nodes = cr_node_entries();
    CR_TABLE_MAKE(cr_sys.labels, nodes);
    CR_TABLE_MAKE(cr_sys.numbered, cr_most.nodes);
    CR_TABLE_MAKE(cr_sys.next_numbered, nodes);
    CR_TABLE_MAKE(cr_sys.named, cr_most.spaces);
    CR_TABLE_MAKE(cr_sys.ids, nodes);
    CR_TABLE_MAKE(cr_sys.sorts, nodes);
    CR_TABLE_MAKE(cr_sys.tombstones.at, cr_tombstone_entries());
    CR_TABLE_MAKE(cr_sys.tombstones.of_node, nodes);
    CR_TABLE_MAKE(cr_sys.tombstones.ends, cr_most.pds);
    CR_TABLE_MAKE(cr_sys.tombstones.refs, cr_most.pds);
    CR_TABLE_MAKE(cr_sys.types, cr_most.types);
    CR_TABLE_MAKE(cr_sys.type_spaces, cr_most.types);
    CR_TABLE_MAKE(cr_sys.pds, cr_most.pds);
    CR_TABLE_MAKE(cr_sys.slots, cr_most.slots);
    CR_TABLE_MAKE(cr_sys.servers, cr_most.slots);
    CR_TABLE_MAKE(cr_sys.requests, cr_most.requests);
    CR_TABLE_MAKE(cr_sys.spaces, cr_most.spaces);
    CR_TABLE_MAKE(cr_sys.allowed, cr_most.pairs);
    CR_TABLE_MAKE(cr_sys.node_entry, nodes);
    CR_TABLE_MAKE(cr_sys.accounts, nodes);
    CR_TABLE_MAKE(cr_sys.edge_entry, cr_most.edges);
    cr_accounts_tables();
    CR_TABLE_MAKE(cr_now_made.edges, cr_making_edges());
    CR_TABLE_MAKE(cr_now_made.steps, cr_making_steps());
}

/* The model, the planner and the notices, in memory that is as large as they say. */
static cr_status make_planning(void)
{
    const uint32_t nodes = cr_node_entries();
    const uint32_t edges = cr_most.edges;
    const cr_plan_room room = {
        .nodes = cr_most.nodes, .order = edges, .losses = edges, .notices = cr_max_plan()};
    size_t bytes = cr_model_bytes(nodes, edges);
    cr_status status = cr_model_init(cr_table_take(bytes, 1), bytes, nodes, edges, &cr_sys.model);
    if (status == CR_OK) {
        bytes = cr_work_bytes(cr_max_notices(), cr_most.pds);
        status = cr_work_init(cr_table_take(bytes, 1), bytes, cr_max_notices(), cr_most.pds,
                              &cr_sys.work);
    }
    if (status == CR_OK) {
        bytes = cr_planner_bytes_for(nodes, &room);
        status = cr_planner_init_for(cr_table_take(bytes, 1), bytes, nodes, &room, &cr_sys.planner);
    }
    return status;
}

cr_status cr_system_init(const cr_image_header *image, seL4_CPtr endpoint)
{
    cr_status status;
    make_tables();
    cr_sys.image = image;
    cr_sys.endpoint = endpoint;
    cr_sys.mo_space.index = CR_NONE;
    cr_sys.vmr_space.index = CR_NONE;
    cr_sys.channel_space.index = CR_NONE;
    cr_sys.ads_space.index = CR_NONE;
    cr_sys.irq_space.index = CR_NONE;
    cr_sys.port_space.index = CR_NONE;
    cr_sys.next_pd = 1;
    cr_sys.next_space = 1;
    cr_sys.first_object = 1;
    for (uint32_t i = 0; i < cr_most.requests; i++) {
        cr_sys.requests[i].next_free = i + 1 < cr_most.requests ? i + 1 : CR_NONE;
    }
    uint8_t key[CR_TRACE_KEY_BYTES];
    make_run_key(image, key);
    cr_trace_init(&cr_sys.trace, trace_ring, sizeof(trace_ring), key, cr_console_put);
    if ((status = make_planning()) != CR_OK ||
        (status = cr_model_add_pd(cr_sys.model, 0, CR_FLAG_ROOT, &cr_sys.root)) != CR_OK) {
        return status;
    }
    cr_pd *root = &cr_sys.pds[0];
    cr_pd_become(root, CR_LIFE_MAKING);
    cr_pd_become(root, CR_LIFE_RUNS);
    root->config = CR_IMAGE_NONE;
    root->node = cr_sys.root;
    root->body.block = CR_BLOCK_NONE;
    cr_text_copy(root->name, "ROOT_TASK", sizeof(root->name));
    cr_sys.node_entry[cr_sys.root.index] = 0;
    cr_rows_added(cr_sys.root);
    return CR_OK;
}
