/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints the model state. See state.h. This file must not change the model. */
#include "state.h"
#include "kernel/untyped.h"

#include <cellreap/model_csv.h>

/* The rows of STATE, GONE or MODEL events: how many there were, and the row that is being composed.
 * Rows of GONE are not printed, but noted in cr_sys.gone. */
typedef struct printer {
    cr_event event;
    uint32_t number; /* of the cleanup (0: none) or of the extraction */
    uint64_t rows;
    size_t used;
    _Alignas(8) char row[320]; /* with room for a word behind the longest row */
} printer;

_Static_assert(sizeof(((printer *)0)->row) >= 3 * CR_ID_BYTES + 64, "the longest row fits");

/* The row is not cleared. */
static void begin(printer *p, cr_event event, uint32_t number)
{
    p->event = event;
    p->number = number;
    p->rows = 0;
    p->used = 0;
}

static void put(printer *p, const char *text)
{
    for (; *text != '\0' && p->used < sizeof(p->row); text++) {
        p->row[p->used++] = *text;
    }
}

/* Copies by words, also behind the end. */
static void put_id(printer *p, cr_ref node)
{
    const cr_id *id = cr_id_of(node);
    for (uint32_t i = 0; i < id->length; i += 8) {
        __builtin_memcpy(&p->row[p->used + i], id->text + i, 8);
    }
    p->used += id->length;
}

static void put_comma(printer *p)
{
    p->row[p->used++] = ',';
}

/* Notes a row that the cleanup removes, if there is room for it. */
static void note_row(const printer *p)
{
    cr_rows_gone *gone = &cr_sys.gone;
    const uint64_t length = p->used;
    gone->rows++;
    if (length >= CR_GONE_BYTES - gone->used) {
        gone->full = 1;
        return;
    }
    __builtin_memcpy(&gone->text[gone->next], &length, 8);
    gone->next += 8;
    for (uint64_t i = 0; i < length; i += 8) {
        __builtin_memcpy(&gone->text[gone->next], &p->row[i], 8);
        gone->next += 8;
    }
    gone->used += length + 1;
}

/* Prints or notes the row that was composed. */
static void end_row(printer *p)
{
    if (p->event == CR_EV_GONE) {
        note_row(p);
    } else {
        cr_trace_begin(&cr_sys.trace, p->event);
        cr_trace_number(&cr_sys.trace, p->number);
        cr_trace_bytes(&cr_sys.trace, p->row, p->used);
        cr_trace_end(&cr_sys.trace);
    }
    p->used = 0;
    p->rows++;
}

_Static_assert((int)CR_CSV_NODE_TYPE == 0 && (int)CR_CSV_NODE_ID == 1 && (int)CR_CSV_DATA == 2 &&
                   (int)CR_CSV_EDGE_TYPE == 3 && (int)CR_CSV_EDGE_FROM == 4 &&
                   (int)CR_CSV_EDGE_TO == 5 && (int)CR_CSV_EXTRA == 6 &&
                   (int)CR_CSV_COLUMN_COUNT == 7,
               "rows are composed in this order");

/* Everything but the last column. */
static void edge_row(printer *p, const char *data, const char *type, cr_ref from, cr_ref to)
{
    put(p, ",,");
    put(p, data);
    put_comma(p);
    put(p, type);
    put_comma(p);
    put_id(p, from);
    put_comma(p);
    put_id(p, to);
    put_comma(p);
}

static void node_row(printer *p, cr_ref node, const cr_node_info *info)
{
    static const char *const kinds[] = {
#define CR_NODE_KIND(enumerator, number, name, meaning) [enumerator] = name,
        CR_NODE_KINDS
#undef CR_NODE_KIND
    };
    const cr_pd *pd = cr_pd_of(node);
    int pinned = (info->flags & (CR_FLAG_PINNED | CR_FLAG_ROOT)) != 0 && info->kind == CR_NODE_PD;
    /* A row that goes is told as it was before the cleanup. */
    int doomed = info->state == CR_STATE_DOOMED && p->event != CR_EV_GONE;
    put(p, kinds[info->kind]);
    put_comma(p);
    put_id(p, node);
    put_comma(p);
    put(p, pd != 0 ? pd->name : cr_type_name(info->type));
    put(p, ",,,,");
    put(p, pinned ? (doomed ? "PINNED DOOMED" : "PINNED") : (doomed ? "DOOMED" : ""));
    end_row(p);
}

/* The rows of an edge: as many as its count. */
static void rows_of_edge(printer *p, const cr_edge_info *edge)
{
    static const char *const names[] = {
#define CR_EDGE_KIND(enumerator, number, name, meaning) [enumerator] = name,
        CR_EDGE_KINDS
#undef CR_EDGE_KIND
    };
    cr_node_info to;
    const char *name = names[edge->kind];
    if (name[0] == '\0' || cr_model_get(cr_sys.model, edge->to, &to) != CR_OK) {
        return;
    }
    if (edge->kind == CR_EDGE_REQUEST) {
        edge_row(p, cr_type_name(to.type), name, edge->from, to.manager);
        put_id(p, edge->to);
        end_row(p);
        return;
    }
    for (uint32_t i = 0; i < edge->count; i++) {
        edge_row(p, "NONE", name, edge->from, edge->to);
        if (edge->handler != 0) {
            put(p, "HANDLER=");
            p->used += cr_format_decimal(&p->row[p->used], edge->handler);
        }
        end_row(p);
    }
}

static void edge_rows(printer *p, cr_ref node)
{
    for (int kind = 0; kind < CR_EDGE_KIND_COUNT; kind++) {
        for (uint32_t edge = cr_model_first(cr_sys.model, node, (cr_edge_kind)kind, CR_OUT);
             edge != CR_NONE; edge = cr_model_next(cr_sys.model, edge, node, CR_OUT)) {
            cr_edge_info info;
            if (cr_model_edge(cr_sys.model, edge, &info) != CR_OK ||
                (kind == CR_EDGE_LINK && !cr_same(info.from, node))) {
                continue; /* A link is found from both ends but is one row. */
            }
            rows_of_edge(p, &info);
        }
    }
}

void cr_note_gone_edge(const cr_edge_info *edge)
{
    printer p;
    begin(&p, CR_EV_GONE, 0);
    rows_of_edge(&p, edge);
}

void cr_note_gone_node(cr_ref node)
{
    printer p;
    begin(&p, CR_EV_GONE, 0);
    cr_node_info info;
    if (cr_model_get(cr_sys.model, node, &info) == CR_OK) {
        node_row(&p, node, &info);
    }
}

static void all_rows(printer *p)
{
    for (uint32_t i = 0; i < CR_NODE_ENTRIES; i++) {
        cr_ref node;
        cr_node_info info;
        if (cr_model_at(cr_sys.model, i, &node) == CR_OK &&
            cr_model_get(cr_sys.model, node, &info) == CR_OK && info.state != CR_STATE_DESTROYED) {
            node_row(p, node, &info);
            edge_rows(p, node);
        }
    }
}

uint32_t cr_print_model(uint32_t x)
{
    printer p;
    begin(&p, CR_EV_MODEL, x);
    all_rows(&p);
    return (uint32_t)p.rows;
}

void cr_print_model_map(uint32_t x, cr_ref from, cr_ref to)
{
    printer p;
    begin(&p, CR_EV_MODEL, x);
    edge_row(&p, "NONE", "MAP", from, to);
    end_row(&p);
}

void cr_trace_objects(const cr_objects *objects)
{
    static const char *const names[] = {
#define CR_OBJECT(enumerator, number, word, meaning) [enumerator] = word,
        CR_OBJECTS
#undef CR_OBJECT
    };
    enum { ENTRY_MAX = 40 }; /* a name, a colon, a number and a comma */
    char text[CR_OBJECT_COUNT * ENTRY_MAX];
    size_t used = 0;
    for (uint32_t i = 0; i < CR_OBJECT_COUNT; i++) {
        if (objects->of[i] == 0) {
            continue;
        }
        if (used != 0) {
            text[used++] = ',';
        }
        for (const char *name = names[i]; *name != '\0'; name++) {
            text[used++] = *name;
        }
        text[used++] = ':';
        used += cr_format_decimal(&text[used], objects->of[i]);
    }
    if (used == 0) {
        text[used++] = '-';
    }
    cr_trace_bytes(&cr_sys.trace, text, used);
}

void cr_trace_state_digest(void)
{
    enum { DIGITS = 16 };
    char text[DIGITS];
    for (int i = 0; i < DIGITS; i++) {
        text[i] = "0123456789abcdef"[(cr_sys.digest >> (4 * (DIGITS - 1 - i))) & 15u];
    }
    cr_trace_bytes(&cr_sys.trace, text, sizeof(text));
}

static uint64_t print_gone(uint32_t number)
{
    const cr_rows_gone *gone = &cr_sys.gone;
    uint64_t length;
    for (size_t at = 0; at < gone->next; at += 8 + (length + 7) / 8 * 8) {
        __builtin_memcpy(&length, &gone->text[at], 8);
        cr_trace_begin(&cr_sys.trace, CR_EV_GONE);
        cr_trace_number(&cr_sys.trace, number);
        cr_trace_bytes(&cr_sys.trace, &gone->text[at + 8], length);
        cr_trace_end(&cr_sys.trace);
    }
    return gone->rows;
}

void cr_print_state(uint32_t number, uint64_t cycles)
{
    const int whole = number == 0 || cr_sys.gone.full;
    printer p;
    begin(&p, CR_EV_STATE, number);
    if (whole) {
        all_rows(&p);
    } else {
        p.rows = print_gone(number);
    }
    cr_sys.gone.rows = 0;
    cr_sys.gone.used = 0;
    cr_sys.gone.next = 0;
    cr_sys.gone.full = 0;
    cr_trace_begin(&cr_sys.trace, CR_EV_SETTLED);
    cr_trace_number(&cr_sys.trace, number);
    cr_trace_number(&cr_sys.trace, p.rows);
    cr_trace_number(&cr_sys.trace, cr_untyped_bytes_used());
    cr_trace_number(&cr_sys.trace, cr_slots_used());
    cr_trace_number(&cr_sys.trace, cycles);
    cr_trace_objects(&cr_objects_used);
    cr_trace_number(&cr_sys.trace, (uint64_t)whole);
    cr_trace_state_digest();
    cr_trace_end(&cr_sys.trace);
    cr_sys.memory_changed |= number != 0;
}

void cr_print_whole(void)
{
    cr_account();
    cr_print_state(0, 0);
}
