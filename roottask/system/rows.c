/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Keeps the digest of the model state and the tallies of the accounts, and finds nodes by their
 * numbers. See rows.h. What a change costs depends on the rows that change, and for a space also on
 * the number of spaces that its manager has. */
#include "rows.h"
#include "charge.h"
#include "state.h"
#include "text.h"
#include <cellreap/digest.h>

static uint64_t *label_of(cr_ref node)
{
    return &cr_sys.labels[node.index];
}

static uint64_t node_term(cr_ref node, const cr_node_info *info)
{
    return cr_digest_node(*label_of(node), (info->flags & (CR_FLAG_PINNED | CR_FLAG_ROOT)) != 0);
}

static uint64_t edge_terms(const cr_edge_info *edge)
{
    if (edge->kind == CR_EDGE_BODY) {
        return 0; /* It follows from the number of the resource. */
    }
    const uint64_t from = *label_of(edge->from);
    const uint64_t to = *label_of(edge->to);
    return edge->count * (edge->kind == CR_EDGE_SUBSCRIBE
                              ? cr_digest_subscription(from, to, edge->handler)
                              : cr_digest_edge(edge->kind, from, to));
}

/* -- nodes by their numbers */

/* The bucket of a hash, of so many. */
static uint32_t bucket_at(uint32_t hash, uint32_t count)
{
    return (uint32_t)((uint64_t)hash * count >> 32);
}

/* A PD can aim at a bucket by the resources that it keeps. Each takes a node of its account. */
static uint32_t *bucket_of(uint32_t space, uint64_t object)
{
    const uint32_t hash = (space * 0x9e3779b1u) ^ ((uint32_t)object * 0x85ebca77u);
    return &cr_sys.numbered[bucket_at((hash ^ hash >> 15) * 0x9e3779b1u, cr_most.nodes)];
}

/* FNV-1a. A PD can aim at a bucket by the names of its spaces. Each takes a space of its quota. */
static uint32_t *bucket_of_name(const char *name)
{
    uint32_t hash = 0x811c9dc5u;
    for (uint32_t i = 0; i < CR_NAME_BYTES && name[i] != '\0'; i++) {
        hash = (hash ^ (uint8_t)name[i]) * 0x01000193u;
    }
    return &cr_sys.named[bucket_at((hash ^ hash >> 16) * 0x9e3779b1u, cr_most.spaces)];
}

static void enter_name(cr_ref space)
{
    cr_space_entry *entry = cr_space_entry_of(space);
    uint32_t *bucket = bucket_of_name(entry->name);
    entry->next_named = *bucket;
    *bucket = (uint32_t)(entry - cr_sys.spaces) + 1;
}

static void leave_name(cr_ref space)
{
    const cr_space_entry *entry = cr_space_entry_of(space);
    uint32_t *link = bucket_of_name(entry->name);
    for (uint32_t i = 0; *link != 0 && i < cr_most.spaces; i++) {
        cr_space_entry *at = &cr_sys.spaces[*link - 1];
        if (at == entry) {
            *link = at->next_named;
            return;
        }
        link = &at->next_named;
    }
}

int cr_rows_find_named(const char *name, cr_ref *out)
{
    uint32_t at = *bucket_of_name(name);
    for (uint32_t i = 0; at != 0 && i < cr_most.spaces; i++) {
        const cr_space_entry *entry = &cr_sys.spaces[at - 1];
        cr_node_info info;
        if (cr_model_get(cr_sys.model, entry->node, &info) == CR_OK &&
            info.state == CR_STATE_ACTIVE && (info.flags & CR_FLAG_CORE) == 0 &&
            cr_text_same(entry->name, name)) {
            *out = entry->node;
            return 1;
        }
        at = entry->next_named;
    }
    return 0;
}

static void enter(cr_ref node)
{
    const cr_id *id = cr_id_of(node);
    if (id->space == 0) {
        return; /* It is a PD. */
    }
    uint32_t *bucket = bucket_of(id->space, id->object);
    cr_sys.next_numbered[node.index] = *bucket;
    *bucket = node.index + 1;
    if (id->object == 0) {
        enter_name(node);
    }
}

static void leave(cr_ref node)
{
    const cr_id *id = cr_id_of(node);
    if (id->space == 0) {
        return;
    }
    if (id->object == 0) {
        leave_name(node);
    }
    uint32_t *link = bucket_of(id->space, id->object);
    for (uint32_t i = 0; *link != 0 && i < cr_node_entries(); i++) {
        if (*link == node.index + 1) {
            *link = cr_sys.next_numbered[node.index];
            return;
        }
        link = &cr_sys.next_numbered[*link - 1];
    }
}

int cr_rows_find(uint32_t space, uint32_t object, cr_ref *out)
{
    uint32_t entry = *bucket_of(space, object);
    for (uint32_t i = 0; entry != 0 && i < cr_node_entries(); i++) {
        if (cr_model_at(cr_sys.model, entry - 1, out) == CR_OK) {
            const cr_id *id = cr_id_of(*out);
            if (id->space == space && id->object == object) {
                return 1;
            }
        }
        entry = cr_sys.next_numbered[entry - 1];
    }
    return 0;
}

/* -- rows */

void cr_rows_added(cr_ref node)
{
    cr_node_info info;
    if (cr_model_get(cr_sys.model, node, &info) != CR_OK) {
        cr_panic("a node that was added is not there", node.index);
    }
    const cr_pd *pd = cr_pd_of(node);
    cr_keep_id(node);
    cr_sys.sorts[node.index] = info.kind == CR_NODE_RESOURCE ? cr_sort_in(info.space) : 0;
    if (info.kind != CR_NODE_PD && !cr_is_memory(node)) {
        cr_sys.accounts[node.index] = cr_sys.accounts[info.manager.index];
    }
    *label_of(node) =
        cr_digest_label(cr_id_of(node)->text, pd != 0 ? pd->name : cr_type_name(info.type));
    cr_sys.digest += node_term(node, &info);
    enter(node);
    cr_charge_node(node, &info, 1);
    if (info.kind == CR_NODE_SPACE) {
        cr_sys.digest += cr_digest_edge(CR_EDGE_MANAGE, *label_of(info.manager), *label_of(node));
    } else if (info.kind == CR_NODE_RESOURCE) {
        cr_sys.digest += cr_digest_edge(CR_EDGE_SUBSET, *label_of(node), *label_of(info.space));
    }
}

cr_status cr_rows_set_pinned(cr_ref pd, int pinned)
{
    cr_node_info before;
    cr_node_info after;
    cr_status status = cr_model_get(cr_sys.model, pd, &before);
    if (status == CR_OK) {
        status = cr_model_set_pinned(cr_sys.model, pd, pinned);
    }
    if (status == CR_OK) {
        status = cr_model_get(cr_sys.model, pd, &after);
    }
    if (status == CR_OK) {
        cr_sys.digest += node_term(pd, &after) - node_term(pd, &before);
    }
    return status;
}

/* The only records of edges. What an entry is stands in rows.h. */
static void tell(cr_change change, cr_edge_kind kind, cr_ref from, cr_ref to, uint32_t entry)
{
    static const char *const kinds[] = {
#define CR_EDGE_KIND(enumerator, number, name, meaning) [enumerator] = name,
        CR_EDGE_KINDS
#undef CR_EDGE_KIND
    };
    if (kinds[kind][0] == '\0') {
        return; /* Other rows say the same. */
    }
    cr_trace_begin_of(CR_EV_EDGE, change);
    cr_trace_name(&cr_sys.trace, kinds[kind]);
    cr_trace_node(from);
    cr_trace_node(to);
    cr_trace_number(&cr_sys.trace, kind != CR_EDGE_REQUEST ? entry
                                   : entry != CR_NONE      ? cr_sys.requests[entry].slot
                                                           : 0);
    cr_trace_change_end();
}

void cr_rows_tell_edge(cr_edge_kind kind, cr_ref from, cr_ref to, uint32_t entry)
{
    tell(CR_CHANGE_MADE, kind, from, to, entry);
}

/* The count of an edge that is there. */
static uint32_t count_of(uint32_t edge)
{
    cr_edge_info info;
    return cr_model_edge(cr_sys.model, edge, &info) == CR_OK ? info.count : 0;
}

/* Charges a subscription with its first or after its last count. */
static void charge_subscription(cr_ref pd, cr_ref node, uint32_t handler, int sign)
{
    const uint32_t others = cr_model_handlers(cr_sys.model, pd, node) & ~(1u << handler);
    cr_charge_edge(&(cr_edge_info){.kind = CR_EDGE_SUBSCRIBE, .from = pd, .to = node}, 0,
                   others == 0, sign);
}

/* One more in the model (`sign` 1), or one less (-1). */
static cr_status change_subscription(cr_ref pd, cr_ref node, uint32_t handler, int sign)
{
    const cr_status status = sign > 0 ? cr_model_subscribe(cr_sys.model, pd, node, handler)
                                      : cr_model_unsubscribe(cr_sys.model, pd, node, handler);
    if (status == CR_OK) {
        const uint64_t term = cr_digest_subscription(*label_of(pd), *label_of(node), handler);
        cr_sys.digest += sign > 0 ? term : 0 - term;
        if (cr_model_subscriptions(cr_sys.model, pd, node, handler) == (sign > 0 ? 1 : 0)) {
            charge_subscription(pd, node, handler, sign);
        }
    }
    return status;
}

cr_status cr_rows_add_edge(cr_edge_kind kind, cr_ref from, cr_ref to, uint32_t entry)
{
    const cr_edge_info info = {.kind = kind, .count = 1, .from = from, .to = to};
    if (kind == CR_EDGE_SUBSCRIBE) {
        return change_subscription(from, to, entry, 1);
    }
    const cr_status status = cr_model_add_edge(cr_sys.model, kind, from, to);
    if (status != CR_OK) {
        return status;
    }
    cr_sys.digest += edge_terms(&info);
    uint32_t count = 1;
    if (kind == CR_EDGE_HOLD || kind == CR_EDGE_REQUEST || kind == CR_EDGE_MAP) {
        const uint32_t index = cr_model_find(cr_sys.model, kind, from, to);
        cr_sys.edge_entry[index] = entry;
        count = count_of(index);
    }
    if (count == 1) {
        cr_charge_edge(&info, entry, 0, 1);
    }
    return CR_OK;
}

/* `*entry`: as in rows.h. It is set for a HOLD or REQUEST. */
static cr_status drop(const cr_edge_info *edge, uint32_t *entry)
{
    if (edge->kind == CR_EDGE_SUBSCRIBE) {
        return change_subscription(edge->from, edge->to, *entry, -1);
    }
    const uint32_t index = cr_model_find(cr_sys.model, edge->kind, edge->from, edge->to);
    const uint32_t count = count_of(index);
    const cr_status status = cr_model_drop_edge(cr_sys.model, edge->kind, edge->from, edge->to);
    if (status != CR_OK) {
        return status;
    }
    if (edge->kind == CR_EDGE_HOLD || edge->kind == CR_EDGE_REQUEST) {
        *entry = cr_sys.edge_entry[index];
    }
    cr_sys.digest -= edge_terms(edge);
    if (count == 1) {
        cr_charge_edge(edge, *entry, 0, -1);
    }
    return CR_OK;
}

cr_status cr_rows_drop_edge(cr_edge_kind kind, cr_ref from, cr_ref to, uint32_t entry, cr_drop why)
{
    const cr_edge_info edge = {.kind = kind, .count = 1, .from = from, .to = to};
    const cr_status status = drop(&edge, &entry);
    if (status == CR_OK && why == CR_DROP_ASKED) {
        tell(CR_CHANGE_DROPPED, kind, from, to, entry);
    }
    cr_sys.rows_gone += status == CR_OK && why == CR_DROP_CLEANUP ? cr_rows_of_edge(&edge) : 0;
    return status;
}

cr_status cr_rows_destroy(cr_ref node, int cleanup, cr_row_gone each, const void *with)
{
    enum { AT_ONCE = 16 };
    cr_node_info info;
    cr_edge_taken taken[AT_ONCE];
    uint32_t list = 0;
    uint32_t count;
    uint64_t rows = 0;
    cr_status status = cr_model_get(cr_sys.model, node, &info);
    if (status != CR_OK) {
        return status;
    }
    const uint64_t own_term = node_term(node, &info);
    /* A node that cannot be destroyed is refused before its first edge is taken. The loop is
     * bounded: each turn but the last takes edges. */
    do {
        status = cr_model_take_edges(cr_sys.model, node, &list, taken, AT_ONCE, &count);
        for (uint32_t i = 0; i < count; i++) {
            const cr_edge_info *edge = &taken[i].info;
            cr_sys.digest -= edge_terms(edge);
            rows += cr_rows_of_edge(edge);
            if (edge->kind == CR_EDGE_SUBSCRIBE) {
                charge_subscription(edge->from, edge->to, edge->handler, -1);
                continue;
            }
            const uint32_t entry = cr_sys.edge_entry[taken[i].index];
            cr_charge_edge(edge, entry, 0, -1);
            if (each != 0) {
                each(edge, entry, with);
            }
        }
    } while (status == CR_OK && list != CR_NONE);
    if (status != CR_OK) {
        return status;
    }
    cr_sys.rows_gone += cleanup ? rows + 1 : 0;
    cr_charge_node(node, &info, -1);
    cr_sys.digest -= own_term;
    cr_sys.sorts[node.index] = 0;
    leave(node); /* A tombstone keeps its numbers until it is released. */
    return status;
}
