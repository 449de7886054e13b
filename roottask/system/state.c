/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The model state as CSV rows in the trace: after each cleanup, and before one and at the end of the run if
 * the model has changed since, so that every change shows in a printed state. Costs the size of the model. */
#include "supervisor/supervisor.h"
#include "kernel/untyped.h"

static uint64_t rows;
static cr_event event;   /* STATE, or MODEL */
static uint32_t number;  /* of the cleanup, 0: none; of the extraction */

static void row_text(const char *text)
{
    static char row[256];
    static size_t used;
    /* One field at a time; 0 ends the row. */
    if (text == 0) {
        cr_trace_begin(&cr_sys.trace, event);
        cr_trace_number(&cr_sys.trace, number);
        cr_trace_bytes(&cr_sys.trace, row, used);
        cr_trace_end(&cr_sys.trace);
        used = 0;
        rows++;
        return;
    }
    for (; *text != '\0' && used < sizeof(row); text++) {
        row[used++] = *text;
    }
}

static void edge_row(const char *data, const char *type, cr_ref from, cr_ref to, const char *extra)
{
    char id[CR_ID_BYTES];
    row_text(",,");
    row_text(data);
    row_text(",");
    row_text(type);
    row_text(",");
    cr_node_id(from, id);
    row_text(id);
    row_text(",");
    cr_node_id(to, id);
    row_text(id);
    row_text(",");
    row_text(extra);
    row_text(0);
}

static void node_row(cr_ref node, const cr_node_info *info)
{
    static const char *const kinds[] = {
#define CR_NODE_KIND(enumerator, number, name, meaning) [enumerator] = name,
        CR_NODE_KINDS
#undef CR_NODE_KIND
    };
    char id[CR_ID_BYTES];
    cr_node_id(node, id);
    cr_pd *pd = cr_pd_of(node);
    row_text(kinds[info->kind]);
    row_text(",");
    row_text(id);
    row_text(",");
    row_text(pd != 0 ? pd->name : cr_type_name(info->type));
    row_text(",,,,");
    int pinned = (info->flags & (CR_FLAG_PINNED | CR_FLAG_ROOT)) != 0 && info->kind == CR_NODE_PD;
    int doomed = info->state == CR_STATE_DOOMED;
    row_text(pinned ? (doomed ? "PINNED DOOMED" : "PINNED") : (doomed ? "DOOMED" : ""));
    row_text(0);
}

static void edge_rows(cr_ref node)
{
    static const char *const names[] = {
#define CR_EDGE_KIND(enumerator, number, name, meaning) [enumerator] = name,
        CR_EDGE_KINDS
#undef CR_EDGE_KIND
    };
    for (int kind = 0; kind < CR_EDGE_KIND_COUNT; kind++) {
        if (names[kind][0] == '\0') {
            continue;
        }
        for (uint32_t edge = cr_model_first(cr_sys.model, node, (cr_edge_kind)kind, CR_OUT); edge != CR_NONE;
             edge = cr_model_next(cr_sys.model, edge, node, CR_OUT)) {
            cr_edge_info info;
            cr_node_info to;
            char space[CR_ID_BYTES];
            if (cr_model_edge(cr_sys.model, edge, &info) != CR_OK ||
                cr_model_get(cr_sys.model, info.to, &to) != CR_OK ||
                (kind == CR_EDGE_LINK && !cr_same(info.from, node))) {
                continue; /* A link is found from both ends, and is one row. */
            }
            if (kind == CR_EDGE_REQUEST) {
                cr_node_id(info.to, space);
                edge_row(cr_type_name(to.type), names[kind], info.from, to.manager, space);
                continue;
            }
            for (uint32_t i = 0; i < info.count; i++) {
                edge_row("NONE", names[kind], info.from, info.to, "");
            }
        }
    }
}

static void all_rows(cr_event as, uint32_t of)
{
    rows = 0;
    event = as;
    number = of;
    for (uint32_t i = 0; i < CR_MAX_NODES; i++) {
        cr_ref node;
        cr_node_info info;
        if (cr_model_at(cr_sys.model, i, &node) == CR_OK && cr_model_get(cr_sys.model, node, &info) == CR_OK &&
            info.state != CR_STATE_DESTROYED) {
            node_row(node, &info);
            edge_rows(node);
        }
    }
}

uint32_t cr_print_model(uint32_t x)
{
    all_rows(CR_EV_MODEL, x);
    return (uint32_t)rows;
}

void cr_print_model_map(cr_ref from, cr_ref to)
{
    edge_row("NONE", "MAP", from, to, "");
}

void cr_print_state(uint32_t of, uint64_t cycles)
{
    all_rows(CR_EV_STATE, of);
    cr_trace_begin(&cr_sys.trace, CR_EV_SETTLED);
    cr_trace_number(&cr_sys.trace, of);
    cr_trace_number(&cr_sys.trace, rows);
    cr_trace_number(&cr_sys.trace, cr_untyped_bytes_used());
    cr_trace_number(&cr_sys.trace, cr_slots_used());
    cr_trace_number(&cr_sys.trace, cycles);
    cr_trace_end(&cr_sys.trace);
    cr_sys.changed = 0;
    cr_sys.memory_changed |= of != 0;
}

void cr_print_if_changed(void)
{
    cr_account();
    if (cr_sys.changed) {
        cr_print_state(0, 0);
    }
}
