/* SPDX-License-Identifier: BSD-2-Clause */
#include <cellreap/policy.h>
#include <cellreap/trace.h>

typedef struct field {
    const char *name; /* 0: end of the list */
    cr_trace_type type;
} field;

static const struct {
    const char *name;
    const field *fields;
} events[] = {
#define FIELD(name, type) {#name, CR_TRACE_TYPE_##type},
#define CR_TRACE_EVENT(enumerator, name, fields, meaning)                                         \
    [enumerator] = {name, (const field[]){fields{0, CR_TRACE_TYPE_COUNT}}},
    CR_TRACE_EVENTS
#undef CR_TRACE_EVENT
#undef FIELD
};

_Static_assert(sizeof(events) / sizeof(events[0]) == CR_EVENT_COUNT, "one row an event");

static const cr_print prints[] = {
#define CR_TRACE_TYPE(type, print, expected) [CR_TRACE_TYPE_##type] = CR_PRINT_##print,
    CR_TRACE_TYPES
#undef CR_TRACE_TYPE
};

_Static_assert(sizeof(prints) / sizeof(prints[0]) == CR_TRACE_TYPE_COUNT, "one row a type");

/* Bytes of a line that are reserved for the checksum and the end of the line. */
enum { LINE_RESERVE = 64, CRC_DIGITS = 8, SUM_DIGITS = 2 * CR_TRACE_SUM_BYTES };

size_t cr_format_decimal(char *out, uint64_t value)
{
    char digits[20];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + (int)(value % 10u));
        value /= 10u;
    } while (value != 0 && n < sizeof(digits));
    for (size_t i = 0; i < n; i++) {
        out[i] = digits[n - 1 - i];
    }
    out[n] = '\0';
    return n;
}

size_t cr_format_hex(char *out, uint64_t value)
{
    size_t n = 0;
    int shift = 60;
    while (shift > 0 && (value >> shift) == 0) {
        shift -= 4;
    }
    for (; shift >= 0; shift -= 4) {
        out[n++] = "0123456789abcdef"[(value >> shift) & 15u];
    }
    out[n] = '\0';
    return n;
}

static void put_hex(char *out, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15u];
    }
}

void cr_trace_init(cr_trace *trace, char *buffer, size_t capacity,
                   const uint8_t key[CR_TRACE_KEY_BYTES], void (*put)(char c))
{
    *trace = (cr_trace){.buffer = buffer, .capacity = capacity, .put = put};
    put_hex(trace->key, key, CR_TRACE_KEY_BYTES);
    cr_blake2s_init(&trace->keyed, key, CR_TRACE_KEY_BYTES, CR_TRACE_SUM_BYTES);
    trace->broken = capacity < CR_TRACE_LINE_MAX;
}

static void put_text(cr_trace *trace, const char *text)
{
    for (; *text != '\0'; text++) {
        trace->put(*text);
    }
}

/* The caller does not print the fields that the table has. Reports this on the console, once, and
 * breaks the trace. */
static void misused(cr_trace *trace, const char *field, const char *what)
{
    if (!trace->broken) {
        cr_trace_flush(trace);
        put_text(trace, "cellreap: bug: event ");
        put_text(trace, events[trace->event].name);
        put_text(trace, field[0] != '\0' ? ", field " : "");
        put_text(trace, field);
        put_text(trace, ": ");
        put_text(trace, what);
        put_text(trace, "\n");
    }
    trace->broken = 1;
}

static void append(cr_trace *trace, const char *bytes, size_t count)
{
    if (trace->line_used + count + LINE_RESERVE > CR_TRACE_LINE_MAX) {
        trace->broken = 1;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        trace->line[trace->line_used++] = bytes[i];
    }
}

static void append_string(cr_trace *trace, const char *text)
{
    size_t n = 0;
    while (text[n] != '\0') {
        n++;
    }
    append(trace, text, n);
}

void cr_trace_begin(cr_trace *trace, cr_event event)
{
    char number[24];
    trace->line_used = 0;
    trace->event = event;
    trace->field = 0;
    append_string(trace, "~cr ");
    append(trace, number, cr_format_decimal(number, trace->sequence));
    append_string(trace, " ");
    /* cr_trace_end inserts the checksum here. */
    trace->text_start = trace->line_used;
    append_string(trace, events[event].name);
}

/* Writes " <name>=" of the next field. The table must have the same print function for it. */
static void next_field(cr_trace *trace, cr_print print)
{
    const field *next = &events[trace->event].fields[trace->field];
    if (next->name == 0) {
        misused(trace, "", "more fields are printed than the table has");
        return;
    }
    if (prints[next->type] != print) {
        misused(trace, next->name, "printed as another type than the table has");
        return;
    }
    append(trace, " ", 1);
    append_string(trace, next->name);
    append(trace, "=", 1);
    trace->field++;
}

void cr_trace_number(cr_trace *trace, uint64_t value)
{
    char text[24];
    next_field(trace, CR_PRINT_NUMBER);
    append(trace, text, cr_format_decimal(text, value));
}

void cr_trace_address(cr_trace *trace, uint64_t value)
{
    char text[24];
    next_field(trace, CR_PRINT_ADDRESS);
    append_string(trace, "0x");
    append(trace, text, cr_format_hex(text, value));
}

void cr_trace_depth(cr_trace *trace, uint32_t depth)
{
    char text[24];
    next_field(trace, CR_PRINT_DEPTH);
    if (depth == CR_DEPTH_INF) {
        append_string(trace, "inf");
    } else {
        append(trace, text, cr_format_decimal(text, depth));
    }
}

void cr_trace_bytes(cr_trace *trace, const char *bytes, size_t count)
{
    next_field(trace, CR_PRINT_TEXT);
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c >= 0x21 && c <= 0x7e && c != '%') {
            append(trace, (const char *)&c, 1);
        } else {
            char escaped[3] = {'%', "0123456789ABCDEF"[c >> 4], "0123456789ABCDEF"[c & 15]};
            append(trace, escaped, sizeof(escaped));
        }
    }
}

void cr_trace_string(cr_trace *trace, const char *text)
{
    size_t n = 0;
    while (text[n] != '\0') {
        n++;
    }
    cr_trace_bytes(trace, text, n);
}

void cr_trace_key(cr_trace *trace)
{
    cr_trace_bytes(trace, trace->key, sizeof(trace->key));
}

static void buffer_bytes(cr_trace *trace, const char *bytes, size_t count)
{
    if (count > trace->capacity - trace->used) {
        cr_trace_flush(trace);
    }
    for (size_t i = 0; i < count; i++) {
        trace->buffer[trace->used++] = bytes[i];
    }
}

void cr_trace_end(cr_trace *trace)
{
    char number[24];
    char sum_text[SUM_DIGITS + 1];
    const field *missing = &events[trace->event].fields[trace->field];
    if (missing->name != 0) {
        misused(trace, missing->name, "is not printed");
    }
    if (trace->broken) {
        return;
    }
    /* The checksum covers "<seq> <event> ...". In the line, the sequence number precedes the
     * checksum. */
    size_t n = cr_format_decimal(number, trace->sequence);
    number[n++] = ' ';
    const char *text = trace->line + trace->text_start;
    size_t text_bytes = trace->line_used - trace->text_start;
    uint8_t sum[CR_TRACE_SUM_BYTES];
    cr_blake2s hash = trace->keyed;
    cr_blake2s_add(&hash, number, n);
    cr_blake2s_add(&hash, text, text_bytes);
    cr_blake2s_end(&hash, sum);
    put_hex(sum_text, sum, sizeof(sum));
    sum_text[SUM_DIGITS] = ' ';
    buffer_bytes(trace, trace->line, trace->text_start);
    buffer_bytes(trace, sum_text, sizeof(sum_text));
    buffer_bytes(trace, text, text_bytes);
    buffer_bytes(trace, "\n", 1);
    trace->digest =
        cr_crc32(cr_crc32(cr_crc32(trace->digest, number, n), text, text_bytes), "\n", 1);
    trace->sequence++;
}

void cr_trace_finish(cr_trace *trace)
{
    char digest[CRC_DIGITS + 1];
    for (int i = 0; i < CRC_DIGITS; i++) {
        digest[i] = "0123456789abcdef"[(trace->digest >> (28 - 4 * i)) & 15u];
    }
    digest[CRC_DIGITS] = '\0';
    cr_trace_begin(trace, CR_EV_END);
    cr_trace_number(trace, trace->sequence + 1u);
    cr_trace_string(trace, digest);
    cr_trace_end(trace);
    cr_trace_flush(trace);
}

void cr_trace_flush(cr_trace *trace)
{
    for (size_t i = 0; i < trace->used; i++) {
        trace->put(trace->buffer[i]);
    }
    trace->used = 0;
}
