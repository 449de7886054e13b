/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints the model state. See state.h. This file must not change the model. */
#include "state.h"
#include "kernel/untyped.h"
#include "memory.h"

#include <cellreap/inject.h>
#include <cellreap/model_csv.h>

/* A row that is printed, until it is recorded. */
enum { ROW_WORDS = 64 }; /* of the longest one */
static uint64_t scratch[ROW_WORDS];

static inline void begin_row(cr_text *row)
{
    cr_text_begin(row, scratch, ROW_WORDS);
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

/* Prints the row that was composed. */
static void end_row(uint64_t *rows, const cr_text *row)
{
    if (row->too_long) {
        cr_panic("a row of the state is too long", row->bytes);
    }
    cr_trace_begin(&cr_sys.trace, CR_EV_STATE);
    cr_trace_pieces(&cr_sys.trace, scratch, (size_t)(row->next - scratch));
    cr_trace_end(&cr_sys.trace);
    (*rows)++;
}

_Static_assert((int)CR_CSV_NODE_TYPE == 0 && (int)CR_CSV_NODE_ID == 1 && (int)CR_CSV_DATA == 2 &&
                   (int)CR_CSV_EDGE_TYPE == 3 && (int)CR_CSV_EDGE_FROM == 4 &&
                   (int)CR_CSV_EDGE_TO == 5 && (int)CR_CSV_EXTRA == 6 &&
                   (int)CR_CSV_COLUMN_COUNT == 7,
               "rows are composed in this order");

/* The EXTRA of memory, as CellulOS has it: address_pages_sizebits of a memory object, and
 * address_kind_pages_sizebits of a region. */
static void put_place(cr_text *row, cr_ref memory)
{
    enum { BYTES = 64 }; /* three numbers, and the kind */
    _Alignas(uint64_t) char text[BYTES] = "0x";
    const int is_region = cr_is_region(memory);
    uint64_t address = 0;
    cr_pages pages = {0, 0};
    if (is_region && !cr_region_place(memory, &address, &pages)) {
        return; /* What it maps was taken. */
    }
    if (!is_region) {
        address = cr_untyped_paddr(*cr_memory_block(memory));
        pages = cr_memory_pages(memory);
    }
    size_t used = 2 + cr_format_hex(&text[2], address);
    for (const char *kind = is_region ? "_GENERIC_" : "_"; *kind != '\0'; kind++) {
        text[used++] = *kind;
    }
    used += cr_format_decimal(&text[used], pages.count);
    text[used++] = '_';
    used += cr_format_decimal(&text[used], pages.bits);
    cr_text_words(row, text, used, 0);
}

static void node_row(uint64_t *rows, cr_ref node, const cr_node_info *info)
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
    int doomed = info->state == CR_STATE_DOOMED;
    cr_text row;
    begin_row(&row);
    put(&row, &kinds[info->kind], CR_PIECE_MORE);
    put_id(&row, node, CR_PIECE_COMMA | CR_PIECE_MORE);
    put_name(&row, pd != 0 ? pd->name : cr_type_name(info->type));
    if (cr_is_memory(node)) {
        put(&row, &ends[0][0], CR_PIECE_MORE);
        put_place(&row, node);
    } else {
        put(&row, &ends[pinned][doomed], 0);
    }
    end_row(rows, &row);
}

/* Whether an edge to a memory object comes without the right to write there. */
static int is_read_only(uint32_t index, const cr_edge_info *edge)
{
    return (edge->kind == CR_EDGE_HOLD || edge->kind == CR_EDGE_MAP) && cr_is_memory(edge->to) &&
           !cr_is_region(edge->to) && (cr_sys.edge_entry[index] & CR_REGION_WRITABLE) == 0;
}

/* The rows of an edge: as many as its count. */
static void rows_of_edge(uint64_t *rows, const cr_edge_info *edge, int reads)
{
    static const literal begins[] = {
#define CR_EDGE_KIND(enumerator, number, name, meaning) [enumerator] = LITERAL(",,NONE," name ","),
        CR_EDGE_KINDS
#undef CR_EDGE_KIND
    };
    static const literal request[2] = {LITERAL(",,"), LITERAL(",REQUEST,")};
    static const literal handler = LITERAL("HANDLER=");
    static const literal right = LITERAL("READ");
    const int more = edge->handler != 0 || reads;
    cr_node_info to;
    cr_text row;
    if (cr_rows_of_edge(edge) == 0) {
        return;
    }
    if (edge->kind == CR_EDGE_REQUEST) {
        if (cr_model_get(cr_sys.model, edge->to, &to) == CR_OK) {
            begin_row(&row);
            put(&row, &request[0], CR_PIECE_MORE);
            put_name(&row, cr_type_name(to.type));
            put(&row, &request[1], CR_PIECE_MORE);
            put_id(&row, edge->from, CR_PIECE_COMMA | CR_PIECE_MORE);
            put_id(&row, to.manager, CR_PIECE_COMMA | CR_PIECE_MORE);
            put_id(&row, edge->to, 0);
            end_row(rows, &row);
        }
        return;
    }
    for (uint32_t i = 0; i < edge->count; i++) {
        begin_row(&row);
        put(&row, &begins[edge->kind], CR_PIECE_MORE);
        put_id(&row, edge->from, CR_PIECE_COMMA | CR_PIECE_MORE);
        put_id(&row, edge->to, CR_PIECE_COMMA | (more ? CR_PIECE_MORE : 0));
        if (reads) {
            put(&row, &right, 0);
        }
        if (edge->handler != 0) {
            _Alignas(8) char number[24];
            put(&row, &handler, CR_PIECE_MORE);
            cr_text_words(&row, number, cr_format_decimal(number, edge->handler), 0);
        }
        end_row(rows, &row);
    }
}

static void edge_rows(uint64_t *rows, cr_ref node)
{
    for (int kind = 0; kind < CR_EDGE_KIND_COUNT; kind++) {
        cr_edge_walk edges = cr_model_walk(cr_sys.model, node, (cr_edge_kind)kind, CR_OUT);
        while (cr_model_next(&edges)) {
            cr_edge_info info;
            if (cr_model_edge(cr_sys.model, edges.edge, &info) != CR_OK ||
                (kind == CR_EDGE_LINK && !cr_same(info.from, node))) {
                continue; /* A link is found from both ends but is one row. */
            }
            rows_of_edge(rows, &info, is_read_only(edges.edge, &info));
        }
    }
}

static uint64_t all_rows(void)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < cr_node_entries(); i++) {
        cr_ref node;
        cr_node_info info;
        if (cr_model_at(cr_sys.model, i, &node) == CR_OK &&
            cr_model_get(cr_sys.model, node, &info) == CR_OK && info.state != CR_STATE_DESTROYED) {
            node_row(&rows, node, &info);
            edge_rows(&rows, node);
        }
    }
    return rows;
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

void cr_trace_memory(void)
{
    cr_trace_number(&cr_sys.trace, cr_untyped_bytes_used());
    cr_trace_number(&cr_sys.trace, cr_slots_used());
    cr_trace_objects(&cr_objects_used);
}

void cr_trace_body(cr_ref node, uint32_t block, uint32_t slots)
{
    cr_trace_change(CR_EV_BODY);
    cr_trace_node(node);
    cr_trace_address(&cr_sys.trace, cr_untyped_paddr(block));
    cr_trace_number(&cr_sys.trace, 1ull << cr_untyped_bits(block));
    cr_trace_number(&cr_sys.trace, slots);
    cr_trace_objects(cr_objects_of(block));
    cr_trace_end(&cr_sys.trace);
}

void cr_trace_usage(void)
{
    const cr_model_stats stats = cr_model_get_stats(cr_sys.model);
    const uint32_t own = cr_pool_used(CR_POOL_OWN);
    const uint32_t parents = cr_pool_used(CR_POOL_PARENT);
    cr_sys.memory_changed = 0;
    cr_trace_begin(&cr_sys.trace, CR_EV_USAGE);
    cr_trace_memory();
    cr_trace_number(&cr_sys.trace, stats.nodes);
    cr_trace_number(&cr_sys.trace, stats.edges);
    cr_trace_number(&cr_sys.trace, cr_max_notices() - cr_work_room(cr_sys.work));
    cr_trace_number(&cr_sys.trace, cr_untyped_blocks_used());
    cr_trace_number(&cr_sys.trace, cr_sys.tickets_in_use());
    cr_trace_number(&cr_sys.trace, own);
    cr_trace_number(&cr_sys.trace, parents);
    cr_trace_number(&cr_sys.trace, cr_slots_used() - own - parents); /* of bodies */
    cr_trace_end(&cr_sys.trace);
}

void cr_trace_setting(cr_event event, cr_setting what, const char *word, uint64_t value,
                      uint64_t second, uint64_t third)
{
    static const char *const names[] = {
#define CR_SETTING(enumerator, number, word, meaning) [enumerator] = word,
        CR_SETTINGS
#undef CR_SETTING
    };
    cr_trace_begin(&cr_sys.trace, event);
    cr_trace_name(&cr_sys.trace, names[what]);
    cr_trace_string(&cr_sys.trace, word);
    cr_trace_number(&cr_sys.trace, value);
    cr_trace_number(&cr_sys.trace, second);
    cr_trace_number(&cr_sys.trace, third);
    cr_trace_end(&cr_sys.trace);
}

_Static_assert((int)CR_SETTING_FAIL_MAKE == (int)CR_SETTING_FAIL_STEP + (int)CR_CHAIN_MAKE,
               "a setting for each chain");

void cr_trace_state_digest(void)
{
    cr_trace_digest(&cr_sys.trace, cr_sys.digest);
}

static void print_settled(uint32_t number, uint64_t rows, uint64_t calls, uint64_t cycles)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_SETTLED);
    cr_trace_number(&cr_sys.trace, number);
    cr_trace_number(&cr_sys.trace, rows);
    cr_trace_number(&cr_sys.trace, cr_untyped_bytes_used());
    cr_trace_number(&cr_sys.trace, cr_slots_used());
    cr_trace_number(&cr_sys.trace, calls);
    cr_trace_number(&cr_sys.trace, cycles);
    cr_trace_objects(&cr_objects_used);
    cr_trace_state_digest();
    cr_trace_end(&cr_sys.trace);
}

uint64_t cr_count_gone(void)
{
    const uint64_t rows = cr_sys.rows_gone;
    cr_sys.rows_gone = 0;
    cr_sys.memory_changed = 1;
    return rows;
}

void cr_print_settled(uint32_t number, uint64_t calls, uint64_t cycles)
{
    print_settled(number, cr_count_gone(), calls, cycles);
}

void cr_print_whole(void)
{
    cr_account();
    print_settled(0, all_rows(), 0, 0);
}
