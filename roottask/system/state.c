/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints the model state. See state.h. This file must not change the model. */
#include "state.h"
#include "kernel/untyped.h"

#include <cellreap/model_csv.h>

/* Rows of STATE, GONE or MODEL events, and how many there were. Rows of GONE are not printed, but
 * composed where they are kept, in cr_sys.gone. */
typedef struct printer {
    cr_event event;
    uint32_t number; /* of the cleanup (0: none) or of the extraction */
    uint64_t rows;
} printer;

/* A row that is printed, until it is recorded. */
static uint64_t scratch[CR_ROW_WORDS];

/* Begins a row. Returns where it is composed. */
static inline uint64_t *begin_row(const printer *p, cr_text *row)
{
    cr_rows_gone *gone = &cr_sys.gone;
    /* The first word is for the number of its words. */
    uint64_t *room =
        p->event == CR_EV_GONE && !gone->full ? &gone->pieces[gone->next + 1] : scratch;
    cr_text_begin(row, room, CR_ROW_WORDS);
    return room;
}

typedef struct literal {
    const char *text;
    uint32_t count;
} literal;

#define LITERAL(string) {string, sizeof(string) - 1}

/* The pieces of rows, whose flags are those of trace_text.h. */
static inline void put(cr_text *row, const literal *what, uint64_t flags)
{
    cr_text_name(row, what->text, what->count, flags);
}

/* Another node may get the id before the row is written. */
static inline void put_id(cr_text *row, cr_ref node, uint64_t flags)
{
    const cr_id *id = cr_id_of(node);
    cr_text_copy_piece(row, &id->head, id->words, flags);
}

/* The same of the name of a type or PD, which lies in an array of CR_NAME_BYTES. */
static void put_name(cr_text *row, const char *name)
{
    size_t count = 0;
    while (count < CR_NAME_BYTES && name[count] != '\0') {
        count++;
    }
    cr_text_words(row, name, count, CR_PIECE_MORE);
}

/* Notes a row that the cleanup removes, if there is room for it. */
static inline void note_row(uint64_t *begin, size_t words, uint32_t bytes)
{
    cr_rows_gone *gone = &cr_sys.gone;
    gone->rows++;
    if (bytes >= CR_GONE_BYTES - gone->used) {
        gone->full = 1;
    }
    if (!gone->full) {
        begin[-1] = words;
        gone->next += 1 + words;
        gone->used += bytes + 1;
    }
}

/* Prints or notes the row that was composed from `begin` on. */
static void end_row(printer *p, const cr_text *row, uint64_t *begin)
{
    const size_t words = (size_t)(row->next - begin);
    if (row->too_long) {
        cr_panic("a row of the state is too long", row->bytes);
    }
    if (p->event == CR_EV_GONE) {
        note_row(begin, words, row->bytes);
    } else {
        cr_trace_begin(&cr_sys.trace, p->event);
        cr_trace_number(&cr_sys.trace, p->number);
        cr_trace_pieces(&cr_sys.trace, begin, words);
        cr_trace_end(&cr_sys.trace);
    }
    p->rows++;
}

_Static_assert((int)CR_CSV_NODE_TYPE == 0 && (int)CR_CSV_NODE_ID == 1 && (int)CR_CSV_DATA == 2 &&
                   (int)CR_CSV_EDGE_TYPE == 3 && (int)CR_CSV_EDGE_FROM == 4 &&
                   (int)CR_CSV_EDGE_TO == 5 && (int)CR_CSV_EXTRA == 6 &&
                   (int)CR_CSV_COLUMN_COUNT == 7,
               "rows are composed in this order");

static void node_row(printer *p, cr_ref node, const cr_node_info *info)
{
    static const literal kinds[] = {
#define CR_NODE_KIND(enumerator, number, name, meaning) [enumerator] = LITERAL(name ","),
        CR_NODE_KINDS
#undef CR_NODE_KIND
    };
    static const literal ends[2][2] = {{LITERAL(",,,,"), LITERAL(",,,,DOOMED")},
                                       {LITERAL(",,,,PINNED"), LITERAL(",,,,PINNED DOOMED")}};
    const cr_pd *pd = cr_pd_of(node);
    int pinned = (info->flags & (CR_FLAG_PINNED | CR_FLAG_ROOT)) != 0 && info->kind == CR_NODE_PD;
    /* A row that goes is told as it was before the cleanup. */
    int doomed = info->state == CR_STATE_DOOMED && p->event != CR_EV_GONE;
    cr_text row;
    uint64_t *begin = begin_row(p, &row);
    put(&row, &kinds[info->kind], CR_PIECE_MORE);
    put_id(&row, node, CR_PIECE_COMMA | CR_PIECE_MORE);
    put_name(&row, pd != 0 ? pd->name : cr_type_name(info->type));
    put(&row, &ends[pinned][doomed], 0);
    end_row(p, &row, begin);
}

/* Edges that are in no row: others say the same. */
static int has_no_row(cr_edge_kind kind)
{
    static const uint8_t unnamed[] = {
#define CR_EDGE_KIND(enumerator, number, name, meaning) [enumerator] = sizeof(name) == 1,
        CR_EDGE_KINDS
#undef CR_EDGE_KIND
    };
    return unnamed[kind];
}

/* The rows of an edge: as many as its count. */
static void rows_of_edge(printer *p, const cr_edge_info *edge)
{
    static const literal begins[] = {
#define CR_EDGE_KIND(enumerator, number, name, meaning) [enumerator] = LITERAL(",,NONE," name ","),
        CR_EDGE_KINDS
#undef CR_EDGE_KIND
    };
    static const literal request[2] = {LITERAL(",,"), LITERAL(",REQUEST,")};
    static const literal handler = LITERAL("HANDLER=");
    cr_node_info to;
    cr_text row;
    uint64_t *begin;
    if (has_no_row(edge->kind)) {
        return;
    }
    if (edge->kind == CR_EDGE_REQUEST) {
        if (cr_model_get(cr_sys.model, edge->to, &to) == CR_OK) {
            begin = begin_row(p, &row);
            put(&row, &request[0], CR_PIECE_MORE);
            put_name(&row, cr_type_name(to.type));
            put(&row, &request[1], CR_PIECE_MORE);
            put_id(&row, edge->from, CR_PIECE_COMMA | CR_PIECE_MORE);
            put_id(&row, to.manager, CR_PIECE_COMMA | CR_PIECE_MORE);
            put_id(&row, edge->to, 0);
            end_row(p, &row, begin);
        }
        return;
    }
    for (uint32_t i = 0; i < edge->count; i++) {
        begin = begin_row(p, &row);
        put(&row, &begins[edge->kind], CR_PIECE_MORE);
        put_id(&row, edge->from, CR_PIECE_COMMA | CR_PIECE_MORE);
        put_id(&row, edge->to, CR_PIECE_COMMA | (edge->handler != 0 ? CR_PIECE_MORE : 0));
        if (edge->handler != 0) {
            _Alignas(8) char number[24];
            put(&row, &handler, CR_PIECE_MORE);
            cr_text_words(&row, number, cr_format_decimal(number, edge->handler), 0);
        }
        end_row(p, &row, begin);
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
    printer p = {.event = CR_EV_GONE};
    rows_of_edge(&p, edge);
}

void cr_note_gone_node(cr_ref node, const cr_node_info *info)
{
    printer p = {.event = CR_EV_GONE};
    node_row(&p, node, info);
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
    printer p = {.event = CR_EV_MODEL, .number = x};
    all_rows(&p);
    return (uint32_t)p.rows;
}

void cr_print_model_map(uint32_t x, cr_ref from, cr_ref to)
{
    printer p = {.event = CR_EV_MODEL, .number = x};
    rows_of_edge(&p, &(cr_edge_info){.kind = CR_EDGE_MAP, .count = 1, .from = from, .to = to});
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

void cr_trace_digest(uint64_t digest)
{
    enum { DIGITS = 16 };
    char text[DIGITS];
    for (int i = 0; i < DIGITS; i++) {
        text[i] = "0123456789abcdef"[(digest >> (4 * (DIGITS - 1 - i))) & 15u];
    }
    cr_trace_bytes(&cr_sys.trace, text, sizeof(text));
}

void cr_trace_state_digest(void)
{
    cr_trace_digest(cr_sys.digest);
}

uint64_t cr_print_gone(uint32_t number)
{
    printer p = {.event = CR_EV_STATE, .number = number};
    if (number == 0 || cr_sys.gone.full) {
        all_rows(&p);
    } else {
        p.rows = cr_sys.gone.rows;
        cr_trace_rows(&cr_sys.trace, CR_EV_GONE, number, cr_sys.gone.pieces, cr_sys.gone.next);
    }
    cr_sys.gone.rows = 0;
    cr_sys.gone.used = 0;
    cr_sys.gone.next = 0;
    cr_sys.gone.full = 0;
    cr_sys.memory_changed |= number != 0;
    return p.rows;
}

void cr_print_state(uint32_t number, uint64_t cycles)
{
    const int whole = number == 0 || cr_sys.gone.full;
    const uint64_t rows = cr_print_gone(number);
    cr_trace_begin(&cr_sys.trace, CR_EV_SETTLED);
    cr_trace_number(&cr_sys.trace, number);
    cr_trace_number(&cr_sys.trace, rows);
    cr_trace_number(&cr_sys.trace, cr_untyped_bytes_used());
    cr_trace_number(&cr_sys.trace, cr_slots_used());
    cr_trace_number(&cr_sys.trace, cycles);
    cr_trace_objects(&cr_objects_used);
    cr_trace_number(&cr_sys.trace, (uint64_t)whole);
    cr_trace_state_digest();
    cr_trace_end(&cr_sys.trace);
}

void cr_print_whole(void)
{
    cr_account();
    cr_print_state(0, 0);
}
