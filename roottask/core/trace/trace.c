/* SPDX-License-Identifier: BSD-2-Clause */
#include <cellreap/policy.h>
#include <cellreap/trace.h>
#include <cellreap/trace_text.h>

_Static_assert((int)CR_TRACE_RING_MIN == 2 * (int)CR_TRACE_RECORD_MAX, "room for two records");

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

/* The forms of events: the print function of each field + 1, and 0 behind the last one. A field is
 * recorded often, so this is one byte to compare, and not two tables to look up. */
enum { FIELDS_MAX = 23, NO_FORM = 0xff };

typedef enum form_of_type {
#define CR_TRACE_TYPE(type, print, expected) FORM_##type = CR_PRINT_##print + 1,
    CR_TRACE_TYPES
#undef CR_TRACE_TYPE
} form_of_type;

static const uint8_t forms[][FIELDS_MAX + 1] = {
#define FIELD(name, type) FORM_##type,
#define CR_TRACE_EVENT(enumerator, name, fields, meaning) [enumerator] = {fields 0},
    CR_TRACE_EVENTS
#undef CR_TRACE_EVENT
#undef FIELD
};

/* No print function has this form: nothing is recorded. */
static const uint8_t no_form = NO_FORM;

/* Bytes of a line that are reserved for the checksum and the end of the line. */
enum { LINE_RESERVE = 64, CRC_DIGITS = 8, SUM_DIGITS = 2 * CR_TRACE_SUM_BYTES, WORD = 8 };

/* A record is a number of words: its event with its length in words, and its fields. A field is its
 * value, or the pieces of a text. A record lies in the ring in one piece; what is left at the end
 * of the ring is skipped. */
enum { SKIP = CR_EVENT_COUNT, BUG = CR_EVENT_COUNT + 1 };

/* When the recorder looks whether more lines may wait, there is room for so many, or it waits. The
 * record of a line has at least two words: each event has a field. */
enum { ROOM_MIN = 64, LINE_BYTES_MIN = 2 * WORD };

#define FIELD(name, type) +1
#define CR_TRACE_EVENT(enumerator, name, fields, meaning)                                         \
    _Static_assert(0 fields >= 1, "an event has a field");
CR_TRACE_EVENTS
#undef CR_TRACE_EVENT
#undef FIELD

_Static_assert((int)CR_TRACE_MOST_MIN == 2 * (int)ROOM_MIN, "some lines may always wait");

typedef uint64_t __attribute__((may_alias)) word;

#define NS_PER_S 1000000000ull

_Static_assert((int)CR_PIECE_COUNT_MASK >= (int)CR_TRACE_RECORD_MAX,
               "the longest text has its count");
_Static_assert((int)CR_PIECE_WORD == (int)WORD, "pieces are made of words");

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

void cr_trace_init(cr_trace *trace, void *ring, size_t capacity,
                   const uint8_t key[CR_TRACE_KEY_BYTES], void (*put)(char c))
{
    *trace = (cr_trace){.ring = ring, .capacity = capacity, .put = put};
    put_hex(trace->key, key, CR_TRACE_KEY_BYTES);
    cr_blake2s_init(&trace->keyed, key, CR_TRACE_KEY_BYTES, CR_TRACE_SUM_BYTES);
    cr_blake2s_compress_key(&trace->keyed);
    trace->broken = capacity < CR_TRACE_RING_MIN || capacity % WORD != 0;
    trace->record = ring;
    trace->limit = trace->broken ? 0 : capacity - CR_TRACE_RECORD_MAX;
}

void cr_trace_timed(cr_trace *trace, uint64_t (*now)(void), uint64_t hz)
{
    trace->now = now;
    trace->hz = hz;
    trace->start = now();
}

void cr_trace_written_by_another(cr_trace *trace, uint32_t most, void (*wait)(uint64_t pieces))
{
    trace->wait = wait;
    trace->most = most;
    trace->limit = 0;
}

static word *at(const cr_trace *trace, uint64_t position)
{
    return (word *)(void *)(trace->ring + position % trace->capacity);
}

/* -- recording */

/* Whether a text of so many words fits into the record, and behind it words for all other fields.
 * If not, the line is too long. */
static inline int fits(cr_trace *trace, size_t words)
{
    if (words > CR_TRACE_RECORD_MAX / WORD - FIELDS_MAX ||
        (size_t)(trace->next - trace->record) > CR_TRACE_RECORD_MAX / WORD - FIELDS_MAX - words) {
        trace->broken = 1;
        return 0;
    }
    return 1;
}

static void put_word(cr_trace *trace, uint64_t value)
{
    *(word *)trace->next++ = value;
}

static void put_bytes(cr_trace *trace, const char *bytes, size_t count)
{
    if (count > CR_PIECE_COUNT_MASK || !fits(trace, cr_piece_words(count))) {
        trace->broken = 1;
        return;
    }
    put_word(trace, (uint64_t)count << CR_PIECE_COUNT_SHIFT);
    char *out = (char *)(void *)trace->next;
    size_t i = 0;
    for (; i + WORD <= count; i += WORD) {
        __builtin_memcpy(out + i, bytes + i, WORD); /* one instruction */
    }
    for (; i < count; i++) {
        out[i] = bytes[i];
    }
    trace->next += cr_piece_words(count) - 1;
}

static size_t length(const char *text)
{
    size_t n = 0;
    while (text[n] != '\0') {
        n++;
    }
    return n;
}

static void put_string(cr_trace *trace, const char *text)
{
    put_bytes(trace, text, length(text));
}

/* Whether a line of this event has a time, which is the first word of its record. */
static int is_timed(const cr_trace *trace, cr_event event)
{
    return trace->now != 0 && event != CR_EV_TRACE;
}

/* Waits until there is room for some lines, and has the recorder look again before there may be
 * none. */
static void keep_bound(cr_trace *trace)
{
    const uint64_t most = trace->most - ROOM_MIN;
    uint64_t waiting;
    while ((waiting = trace->recorded - trace->written) > most && !trace->broken) {
        trace->wait(waiting - most);
    }
    const uint64_t end = trace->head + (trace->most - waiting - 1) * LINE_BYTES_MIN;
    if (trace->limit > end) {
        trace->limit = end;
    }
}

/* Waits until the longest record fits in one piece. It begins at `record`, and so may those that
 * follow up to `limit`. */
static void make_room(cr_trace *trace)
{
    uint64_t left = trace->capacity - trace->head % trace->capacity;
    const uint64_t skipped = left < CR_TRACE_RECORD_MAX ? left : 0;
    if (trace->head - trace->tail + skipped + CR_TRACE_RECORD_MAX > trace->capacity) {
        cr_trace_flush(trace);
    }
    if (skipped != 0) {
        *at(trace, trace->head) = SKIP | skipped / WORD << 32;
        trace->head += skipped;
        left = trace->capacity;
    }
    const uint64_t free = trace->capacity - (trace->head - trace->tail);
    trace->limit = trace->head + (left < free ? left : free) - CR_TRACE_RECORD_MAX;
    trace->record = (uint64_t *)at(trace, trace->head);
    if (trace->wait != 0) {
        keep_bound(trace);
    }
}

static inline void begin_record(cr_trace *trace)
{
    if (trace->head > trace->limit) {
        make_room(trace);
    }
    trace->next = trace->record + 1;
}

static inline void end_record(cr_trace *trace, uint32_t kind)
{
    const uint64_t words = (uint64_t)(trace->next - trace->record);
    *(word *)trace->record = kind | words << 32;
    trace->record = trace->next;
    /* The writer sees the record from here on, when all of it is there. */
    __atomic_store_n(&trace->head, trace->head + words * WORD, __ATOMIC_RELEASE);
}

/* The caller does not print the fields that the table has. The console reports this once, behind
 * the lines before it, and the trace is broken. */
static void misused(cr_trace *trace, const char *name, const char *what)
{
    if (!trace->broken) {
        begin_record(trace);
        put_string(trace, "cellreap: bug: event ");
        put_string(trace, events[trace->event].name);
        put_string(trace, name[0] != '\0' ? ", field " : "");
        put_string(trace, name);
        put_string(trace, ": ");
        put_string(trace, what);
        put_string(trace, "\n");
        end_record(trace, BUG);
    }
    trace->broken = 1;
}

/* Begins the record of a line, with its time. */
static inline void begin_line(cr_trace *trace, cr_event event)
{
    begin_record(trace);
    if (is_timed(trace, event)) {
        put_word(trace, trace->now() - trace->start);
    }
}

static inline void end_line(cr_trace *trace, cr_event event)
{
    trace->recorded++;
    end_record(trace, event);
}

void cr_trace_begin(cr_trace *trace, cr_event event)
{
    trace->event = event;
    if (trace->broken) {
        trace->form = &no_form;
        return;
    }
    trace->form = forms[event];
    begin_line(trace, event);
}

/* The next field of the table is of another form, or the trace is broken. */
static void refuse_field(cr_trace *trace)
{
    if (*trace->form == NO_FORM) {
        return;
    }
    const field *next = &events[trace->event].fields[trace->form - forms[trace->event]];
    misused(trace, next->name != 0 ? next->name : "",
            next->name != 0 ? "printed as another type than the table has"
                            : "more fields are printed than the table has");
    trace->form = &no_form;
}

/* Whether the next field may be recorded. The table must have the same print function for it. */
static inline int next_field(cr_trace *trace, cr_print print)
{
    if (*trace->form != print + 1) {
        refuse_field(trace);
        return 0;
    }
    trace->form++;
    return 1;
}

void cr_trace_number(cr_trace *trace, uint64_t value)
{
    if (next_field(trace, CR_PRINT_NUMBER)) {
        put_word(trace, value);
    }
}

void cr_trace_address(cr_trace *trace, uint64_t value)
{
    if (next_field(trace, CR_PRINT_ADDRESS)) {
        put_word(trace, value);
    }
}

void cr_trace_depth(cr_trace *trace, uint32_t depth)
{
    if (next_field(trace, CR_PRINT_DEPTH)) {
        put_word(trace, depth);
    }
}

void cr_trace_bytes(cr_trace *trace, const char *bytes, size_t count)
{
    if (next_field(trace, CR_PRINT_TEXT)) {
        put_bytes(trace, bytes, count);
    }
}

void cr_trace_string(cr_trace *trace, const char *text)
{
    cr_trace_bytes(trace, text, length(text));
}

void cr_trace_name(cr_trace *trace, const char *name)
{
    const uint64_t address = (uint64_t)(uintptr_t)name;
    if (address > CR_PIECE_NAME_MASK) {
        cr_trace_string(trace, name);
    } else if (next_field(trace, CR_PRINT_TEXT)) {
        put_word(trace, CR_PIECE_NAME | address); /* The writer counts its bytes. */
    }
}

/* Returns 0 if the pieces do not fit: the line is too long. */
static inline int put_pieces(cr_trace *trace, const uint64_t *pieces, size_t words)
{
    if (!fits(trace, words)) {
        return 0;
    }
    word *next = (word *)trace->next;
    const uint64_t *const end = pieces + words;
    while (pieces < end) {
        *next++ = *pieces++;
    }
    trace->next = (uint64_t *)next;
    return 1;
}

void cr_trace_pieces(cr_trace *trace, const uint64_t *pieces, size_t words)
{
    if (next_field(trace, CR_PRINT_TEXT)) {
        (void)put_pieces(trace, pieces, words); /* else the trace is broken */
    }
}

void cr_trace_key(cr_trace *trace)
{
    cr_trace_bytes(trace, trace->key, sizeof(trace->key));
}

uint64_t cr_trace_secret(const cr_trace *trace, const char *whose)
{
    _Static_assert(CR_TRACE_SUM_BYTES == sizeof(uint64_t), "a checksum is one word");
    uint8_t bytes[CR_TRACE_SUM_BYTES];
    uint64_t secret = 0;
    cr_blake2s hash = trace->keyed;
    cr_blake2s_add(&hash, whose, length(whose));
    cr_blake2s_end(&hash, bytes);
    for (int i = CR_TRACE_SUM_BYTES - 1; i >= 0; i--) {
        secret = secret << 8 | bytes[i];
    }
    return secret;
}

void cr_trace_end(cr_trace *trace)
{
    if (trace->broken) {
        return;
    }
    if (*trace->form != 0) {
        misused(trace, events[trace->event].fields[trace->form - forms[trace->event]].name,
                "is not printed");
        return;
    }
    end_line(trace, trace->event);
}

void cr_trace_finish(cr_trace *trace)
{
    char digest[CRC_DIGITS];
    cr_trace_flush(trace); /* The digest is that of the lines that were written. */
    for (int i = 0; i < CRC_DIGITS; i++) {
        digest[i] = "0123456789abcdef"[(trace->digest >> (28 - 4 * i)) & 15u];
    }
    cr_trace_begin(trace, CR_EV_END);
    cr_trace_number(trace, trace->recorded + 1u);
    cr_trace_bytes(trace, digest, sizeof(digest));
    cr_trace_end(trace);
    cr_trace_flush(trace);
}

void cr_trace_flush(cr_trace *trace)
{
    if (trace->wait != 0) {
        trace->wait(UINT64_MAX);
        return;
    }
    while (cr_trace_write(trace)) {
    }
}

/* -- writing */

static void append(cr_trace *trace, const char *bytes, size_t count)
{
    if (trace->line_used + count + LINE_RESERVE > CR_TRACE_LINE_MAX) {
        trace->too_long = 1;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        trace->line[trace->line_used++] = bytes[i];
    }
}

static void append_string(cr_trace *trace, const char *text)
{
    append(trace, text, length(text));
}

static void append_escaped(cr_trace *trace, const char *bytes, size_t count)
{
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

/* The bytes of a piece with their number, and in `next` the piece behind it. */
static const char *bytes_of(const word *piece, size_t *count, const word **next)
{
    *count = (size_t)(*piece >> CR_PIECE_COUNT_SHIFT) & CR_PIECE_COUNT_MASK;
    if ((*piece & CR_PIECE_NAME) != 0) {
        const char *name = (const char *)(uintptr_t)(*piece & CR_PIECE_NAME_MASK);
        *count = *count == 0 ? length(name) : *count;
        *next = piece + 1;
        return name;
    }
    *next = piece + cr_piece_words(*count);
    return (const char *)(const void *)(piece + 1);
}

/* Appends a text. Returns the number of its words. */
static uint64_t append_pieces(cr_trace *trace, const word *first)
{
    const word *piece = first;
    for (;;) {
        const word head = *piece;
        size_t count;
        const char *bytes = bytes_of(piece, &count, &piece);
        append_escaped(trace, bytes, count);
        if ((head & CR_PIECE_COMMA) != 0) {
            append(trace, ",", 1);
        }
        if ((head & CR_PIECE_MORE) == 0) {
            return (uint64_t)(piece - first);
        }
    }
}

/* Appends a field of the record. Returns the number of its words. */
static uint64_t append_field(cr_trace *trace, cr_print print, const word *value)
{
    char text[24];
    switch (print) {
    case CR_PRINT_NUMBER:
        append(trace, text, cr_format_decimal(text, *value));
        return 1;
    case CR_PRINT_ADDRESS:
        append_string(trace, "0x");
        append(trace, text, cr_format_hex(text, *value));
        return 1;
    case CR_PRINT_DEPTH:
        if (*value == CR_DEPTH_INF) {
            append_string(trace, "inf");
        } else {
            append(trace, text, cr_format_decimal(text, *value));
        }
        return 1;
    case CR_PRINT_TEXT:
        break;
    }
    return append_pieces(trace, value);
}

static void put_all(const cr_trace *trace, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        trace->put(bytes[i]);
    }
}

/* Writes the line that was composed. The checksum covers "<seq> <event> ...". In the line, the
 * sequence number precedes the checksum. */
static void write_line(cr_trace *trace)
{
    char number[24];
    char sum_text[SUM_DIGITS + 1];
    uint8_t sum[CR_TRACE_SUM_BYTES];
    size_t n = cr_format_decimal(number, trace->written);
    number[n++] = ' ';
    const char *text = trace->line + trace->text_start;
    const size_t text_bytes = trace->line_used - trace->text_start;
    cr_blake2s hash = trace->keyed;
    cr_blake2s_add(&hash, number, n);
    cr_blake2s_add(&hash, text, text_bytes);
    cr_blake2s_end(&hash, sum);
    put_hex(sum_text, sum, sizeof(sum));
    sum_text[SUM_DIGITS] = ' ';
    put_all(trace, trace->line, trace->text_start);
    put_all(trace, sum_text, sizeof(sum_text));
    put_all(trace, text, text_bytes);
    trace->put('\n');
    trace->digest =
        cr_crc32(cr_crc32(cr_crc32(trace->digest, number, n), text, text_bytes), "\n", 1);
    trace->written++;
}

/* So many ticks in nanoseconds. Neither product is too large while a second has less than 2^34
 * ticks. */
static uint64_t nanoseconds(uint64_t ticks, uint64_t hz)
{
    return ticks / hz * NS_PER_S + ticks % hz * NS_PER_S / hz;
}

static void compose(cr_trace *trace, cr_event event, const word *value)
{
    char number[24];
    const uint64_t time = is_timed(trace, event) ? *value++ : 0;
    trace->line_used = 0;
    trace->too_long = 0;
    append_string(trace, "~cr ");
    append(trace, number, cr_format_decimal(number, trace->written));
    append_string(trace, " ");
    trace->text_start = trace->line_used;
    append_string(trace, events[event].name);
    for (const field *f = events[event].fields; f->name != 0; f++) {
        append(trace, " ", 1);
        append_string(trace, f->name);
        append(trace, "=", 1);
        value += append_field(trace, prints[f->type], value);
    }
    if (is_timed(trace, event)) {
        append_string(trace, " at=");
        append(trace, number, cr_format_decimal(number, nanoseconds(time, trace->hz)));
    }
}

static void write_bug(const cr_trace *trace, const word *value, const word *end)
{
    while (value < end) {
        size_t count;
        const char *bytes = bytes_of(value, &count, &value);
        put_all(trace, bytes, count);
    }
}

int cr_trace_write(cr_trace *trace)
{
    if (trace->tail == __atomic_load_n(&trace->head, __ATOMIC_ACQUIRE)) {
        return 0;
    }
    const word *record = at(trace, trace->tail);
    const uint32_t kind = (uint32_t)*record;
    const uint64_t words = *record >> 32;
    if (kind == BUG) {
        write_bug(trace, record + 1, record + words);
    } else if (kind != SKIP && !trace->too_long) {
        compose(trace, (cr_event)kind, record + 1);
        if (trace->too_long) {
            trace->broken = 1; /* No line after it is written. */
        } else {
            write_line(trace);
        }
    }
    trace->tail += words * WORD;
    return 1;
}
