/* SPDX-License-Identifier: BSD-2-Clause */
#include <cellreap/blake2s.h>
#include <cellreap/policy.h>
#include <cellreap/trace.h>
#include <cellreap/trace_text.h>

_Static_assert((int)CR_TRACE_RING_MIN == 2 * (int)CR_TRACE_RECORD_MAX, "room for two records");

/* Names, for messages about a table that is misused. */
static const struct {
    const char *name;
    const char *const *fields; /* 0: end of the list */
} events[] = {
#define FIELD(name, type) #name,
#define CR_TRACE_EVENT(enumerator, name, fields, meaning)                                          \
    [enumerator] = {name, (const char *const[]){fields 0}},
    CR_TRACE_EVENTS
#undef CR_TRACE_EVENT
#undef FIELD
};

_Static_assert(sizeof(events) / sizeof(events[0]) == CR_EVENT_COUNT, "one row an event");

/* The forms of events: the print function of each field + 1, and 0 behind the last one. A field is
 * recorded often, so this is one byte to compare, and not two tables to look up. */
enum { FIELDS_MAX = 24, NO_FORM = 0xff };

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

enum { DIGEST_DIGITS = 8, WORD = 8 };

/* A record is a number of words: its event with its length in words, and its fields. A field is its
 * value, or the pieces of a text. A record lies in the ring in one piece; what is left at the end
 * of the ring is skipped. */
enum { SKIP = CR_EVENT_COUNT, BUG = CR_EVENT_COUNT + 1 };

/* When the recorder looks whether more lines may wait, there is room for so many, or it waits. The
 * record of a line has at least two words: each event has a field. */
enum { ROOM_MIN = 64, LINE_BYTES_MIN = 2 * WORD };

#define FIELD(name, type) +1
#define CR_TRACE_EVENT(enumerator, name, fields, meaning)                                          \
    _Static_assert(0 fields >= 1, "an event has a field");
CR_TRACE_EVENTS
#undef CR_TRACE_EVENT
#undef FIELD

_Static_assert((int)CR_TRACE_MOST_MIN == 2 * (int)ROOM_MIN, "some lines may always wait");

typedef uint64_t __attribute__((may_alias)) word;

#define NS_PER_S 1000000000ull
#define PRIME ((1ull << 61) - 1)

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

/* The same number modulo 2^61 - 1. */
static uint64_t reduced(uint64_t x)
{
    x = (x & PRIME) + (x >> 61);
    return x >= PRIME ? x - PRIME : x;
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
    uint64_t halves[2];
    _Static_assert(sizeof(halves) == CR_TRACE_KEY_BYTES, "a key has two halves");
    __builtin_memcpy(halves, key, sizeof(halves));
    __builtin_memcpy(trace->secret, key, sizeof(halves));
    trace->factor = reduced(halves[0]);
    trace->addend = reduced(halves[1]);
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

void cr_trace_written_by_another(cr_trace *trace, uint32_t most, void (*wait)(uint64_t lines))
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
    const char *next = events[trace->event].fields[trace->form - forms[trace->event]];
    misused(trace, next != 0 ? next : "",
            next != 0 ? "printed as another type than the table has"
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

void cr_trace_digest(cr_trace *trace, uint64_t digest)
{
    if (next_field(trace, CR_PRINT_DIGEST)) {
        put_word(trace, digest);
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

void cr_trace_numbers(cr_trace *trace, const uint64_t *values, size_t count)
{
    if (next_field(trace, CR_PRINT_NUMBERS)) {
        put_word(trace, count);
        (void)put_pieces(trace, values, count); /* else the trace is broken */
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
    uint8_t bytes[sizeof(uint64_t)];
    uint64_t secret = 0;
    cr_blake2s hash;
    cr_blake2s_init(&hash, trace->secret, sizeof(trace->secret), sizeof(bytes));
    cr_blake2s_add(&hash, whose, length(whose));
    cr_blake2s_end(&hash, bytes);
    for (int i = (int)sizeof(bytes) - 1; i >= 0; i--) {
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
        misused(trace, events[trace->event].fields[trace->form - forms[trace->event]],
                "is not printed");
        return;
    }
    end_line(trace, trace->event);
}

void cr_trace_finish(cr_trace *trace)
{
    char digest[DIGEST_DIGITS];
    cr_trace_flush(trace); /* The digest is that of the lines that were written. */
    for (int i = 0; i < DIGEST_DIGITS; i++) {
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
    while (cr_trace_write(trace, UINT32_MAX) != 0) {
    }
}

/* -- writing */

/* A frame takes no further record when it has so many, or so many characters. Below its limits, the
 * number of its records is one character. */
enum { FRAME_RECORDS = 32, FRAME_CHARS = 96 };

/* Characters that are reserved for the checksum and the end of the line, bytes of a word of the
 * checksum, and characters of the mark, which it does not cover. */
enum { LINE_RESERVE = 64, SUMMED = 7, MARK_CHARS = sizeof(CR_FRAME_MARK) - 1 };

_Static_assert((int)FRAME_RECORDS < (int)CR_FRAME_ONE, "one character");
_Static_assert((int)CR_FRAME_CLEAR >= (int)CR_DICTIONARY_TEXTS &&
                   2 * (int)CR_FRAME_PLAIN + 1 < (int)CR_FRAME_TWO,
               "a piece of a text begins with one or two characters");
_Static_assert((int)CR_DICTIONARY_PLACES >= 2 * (int)CR_DICTIONARY_TEXTS,
               "half of the places are empty");

static void append(cr_trace *trace, uint32_t c)
{
    if (trace->line_used >= trace->line_end) {
        trace->too_long = 1;
        return;
    }
    trace->line[trace->line_used++] = (char)c;
}

/* Six bits. */
static void append_digit(cr_trace *trace, uint64_t digit)
{
    append(trace, CR_FRAME_ZERO + ((uint32_t)digit & 63u));
}

static void append_digits(cr_trace *trace, uint64_t value, uint32_t digits)
{
    while (digits > 0) {
        append_digit(trace, value >> (6 * --digits));
    }
}

static void append_number(cr_trace *trace, uint64_t value)
{
    if (value < CR_FRAME_ONE) {
        append_digit(trace, value);
    } else if (value < CR_FRAME_TWO) {
        append_digits(trace, ((uint64_t)CR_FRAME_ONE << 6) + value, 2);
    } else {
        uint32_t digits = 2;
        while (digits < CR_FRAME_DIGITS && value >> (6 * digits) != 0) {
            digits++;
        }
        if (value >> (6 * digits) != 0) {
            append_digit(trace, 63);
            append_digits(trace, value, CR_FRAME_ALL_DIGITS);
        } else {
            append_digit(trace, CR_FRAME_LONG + digits - 2);
            append_digits(trace, value, digits);
        }
    }
}

static void append_escaped(cr_trace *trace, unsigned char c)
{
    if (c >= 0x21 && c <= 0x7e && c != '%') {
        append(trace, c);
    } else {
        append(trace, '%');
        append(trace, (uint32_t) "0123456789ABCDEF"[c >> 4]);
        append(trace, (uint32_t) "0123456789ABCDEF"[c & 15]);
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

/* A piece of a text, with the comma behind it if there is one. */
typedef struct piece {
    const char *bytes;
    size_t count; /* without the comma */
    size_t all;   /* with it */
} piece;

static int is_known(const cr_dictionary *known, uint32_t number, const piece *p)
{
    const char *text = &known->bytes[known->begin[number]];
    if ((size_t)known->begin[number + 1] - known->begin[number] != p->all) {
        return 0;
    }
    for (size_t i = 0; i < p->count; i++) {
        if (text[i] != p->bytes[i]) {
            return 0;
        }
    }
    return p->all == p->count || text[p->count] == ',';
}

/* The place of a text, or the empty one where it belongs. There is always one. FNV-1a. */
static uint16_t *place_of(cr_dictionary *known, const piece *p)
{
    uint32_t hash = 0x811c9dc5u ^ (uint32_t)(p->all - p->count);
    for (size_t i = 0; i < p->count; i++) {
        hash = (hash ^ (unsigned char)p->bytes[i]) * 0x01000193u;
    }
    for (hash ^= hash >> 16;; hash++) {
        uint16_t *place = &known->places[hash % CR_DICTIONARY_PLACES];
        if (*place == 0 || is_known(known, *place - 1u, p)) {
            return place;
        }
    }
}

/* Adds a text, in an empty place or, if there is no room, as the first one of an empty dictionary.
 * Returns the token for that. */
static uint32_t add_text(cr_dictionary *known, uint16_t *place, const piece *p)
{
    uint32_t token = CR_FRAME_DEFINE;
    if (known->count == CR_DICTIONARY_TEXTS ||
        known->begin[known->count] + p->all > CR_DICTIONARY_BYTES) {
        token = CR_FRAME_CLEAR;
        known->count = 0;
        for (uint32_t i = 0; i < CR_DICTIONARY_PLACES; i++) {
            known->places[i] = 0;
        }
        place = place_of(known, p);
    }
    char *text = &known->bytes[known->begin[known->count]];
    for (size_t i = 0; i < p->count; i++) {
        text[i] = p->bytes[i];
    }
    if (p->all > p->count) {
        text[p->count] = ',';
    }
    known->begin[known->count + 1] = (uint16_t)(known->begin[known->count] + p->all);
    *place = (uint16_t)++known->count;
    return token;
}

static void append_piece(cr_trace *trace, const piece *p, uint32_t more)
{
    uint32_t token = CR_FRAME_PLAIN;
    if (p->all != 0 && p->all <= CR_DICTIONARY_TEXT_MAX) {
        uint16_t *place = place_of(&trace->known, p);
        if (*place != 0) {
            append_number(trace, 2 * (*place - 1u) + more);
            return;
        }
        token = add_text(&trace->known, place, p);
    }
    append_number(trace, 2 * token + more);
    for (size_t i = 0; i < p->count; i++) {
        append_escaped(trace, (unsigned char)p->bytes[i]);
    }
    if (p->all > p->count) {
        append(trace, ',');
    }
    append(trace, ' ');
}

/* Appends a text. Returns the number of its words in the record. */
static uint64_t append_text(cr_trace *trace, const word *first)
{
    const word *next = first;
    uint32_t more;
    do {
        const word head = *next;
        piece p;
        p.bytes = bytes_of(next, &p.count, &next);
        p.all = p.count + ((head & CR_PIECE_COMMA) != 0);
        more = (head & CR_PIECE_MORE) != 0;
        append_piece(trace, &p, more);
    } while (more);
    return (uint64_t)(next - first);
}

/* So many ticks in nanoseconds. Neither product is too large while a second has less than 2^34
 * ticks. */
static uint64_t nanoseconds(uint64_t ticks, uint64_t hz)
{
    return ticks / hz * NS_PER_S + ticks % hz * NS_PER_S / hz;
}

static void compose(cr_trace *trace, cr_event event, const word *value)
{
    const uint64_t ticks = is_timed(trace, event) ? *value++ : 0;
    append_number(trace, event);
    for (const uint8_t *form = forms[event]; *form != 0; form++) {
        switch ((cr_print)(*form - 1)) {
        case CR_PRINT_NUMBER:
        case CR_PRINT_ADDRESS:
            append_number(trace, *value++);
            break;
        case CR_PRINT_DEPTH: /* CR_DEPTH_INF becomes 0 */
            append_number(trace, (uint32_t)(*value++ + 1));
            break;
        case CR_PRINT_DIGEST:
            append_digits(trace, *value++, CR_FRAME_ALL_DIGITS);
            break;
        case CR_PRINT_TEXT:
            value += append_text(trace, value);
            break;
        case CR_PRINT_NUMBERS:
            for (uint64_t left = *value + 1; left > 0; left--) {
                append_number(trace, *value++);
            }
            break;
        }
    }
    if (is_timed(trace, event)) {
        const uint64_t time = nanoseconds(ticks, trace->hz);
        append_number(trace, time - trace->last_time);
        trace->last_time = time;
    }
}

/* sum * factor + addend modulo 2^61 - 1. The sum is below 2^61, and the addend below 2^62. */
static uint64_t summed(const cr_trace *trace, uint64_t sum, uint64_t addend)
{
    const unsigned __int128 product = (unsigned __int128)sum * trace->factor;
    return reduced(((uint64_t)product & PRIME) + (uint64_t)(product >> 61) + addend);
}

/* The checksum of what was composed: a polynomial of its words of seven bytes, of which the last
 * one is filled up with zeros (docs/trace-format.md). */
static uint64_t sum_of(cr_trace *trace)
{
    uint64_t sum = 1;
    __builtin_memset(&trace->line[trace->line_used], 0, WORD);
    for (uint32_t i = MARK_CHARS; i < trace->line_used; i += SUMMED) {
        uint64_t next;
        __builtin_memcpy(&next, &trace->line[i], sizeof(next));
        sum = summed(trace, sum, next & ((1ull << (8 * SUMMED)) - 1));
    }
    return summed(trace, sum, trace->addend) & ((1ull << (6 * CR_FRAME_SUM_DIGITS)) - 1);
}

static void begin_frame(cr_trace *trace)
{
    trace->line_used = 0;
    trace->line_end = sizeof(trace->line) - LINE_RESERVE;
    for (const char *mark = CR_FRAME_MARK; *mark != '\0'; mark++) {
        append(trace, (unsigned char)*mark);
    }
    append_number(trace, trace->written);
    append_digit(trace, 0); /* for the number of records */
}

static void end_frame(cr_trace *trace, uint32_t count_at, uint32_t records)
{
    trace->line[count_at] = (char)(CR_FRAME_ZERO + records);
    const uint64_t sum = sum_of(trace);
    trace->line_end = sizeof(trace->line);
    append_digits(trace, sum, CR_FRAME_SUM_DIGITS);
    append(trace, '\n');
    for (uint32_t i = 0; i < trace->line_used; i++) {
        trace->put(trace->line[i]);
    }
    trace->digest = trace->digest * CR_FRAME_DIGEST + (uint32_t)sum;
    trace->written += records;
}

/* Adds the record of a line to the frame. If it is too long, the trace ends before it. */
static uint32_t add_record(cr_trace *trace, cr_event event, const word *value)
{
    const uint32_t before = trace->line_used;
    if (trace->too_long) {
        return 0;
    }
    trace->line_end = before + CR_TRACE_LINE_MAX - LINE_RESERVE;
    compose(trace, event, value);
    if (trace->too_long) {
        trace->line_used = before;
        trace->broken = 1;
        return 0;
    }
    return 1;
}

static void write_bug(const cr_trace *trace, const word *value, const word *end)
{
    while (value < end) {
        size_t count;
        const char *bytes = bytes_of(value, &count, &value);
        for (size_t i = 0; i < count; i++) {
            trace->put(bytes[i]);
        }
    }
}

uint32_t cr_trace_write(cr_trace *trace, uint32_t most)
{
    const uint64_t head = __atomic_load_n(&trace->head, __ATOMIC_ACQUIRE);
    uint64_t tail = trace->tail;
    uint32_t records = 0;
    if (tail == head) {
        return 0;
    }
    begin_frame(trace);
    const uint32_t begin = trace->line_used;
    most = most < FRAME_RECORDS ? most : FRAME_RECORDS;
    while (tail != head && records < most && trace->line_used < FRAME_CHARS) {
        const word *record = at(trace, tail);
        const uint32_t kind = (uint32_t)*record;
        const uint64_t words = *record >> 32;
        if (kind == BUG) {
            if (records != 0) {
                break; /* The lines before it come first. */
            }
            write_bug(trace, record + 1, record + words);
        } else if (kind != SKIP) {
            records += add_record(trace, (cr_event)kind, record + 1);
        }
        tail += words * WORD;
        if (kind == CR_EV_TRACE || kind == BUG) {
            break;
        }
    }
    if (records != 0) {
        end_frame(trace, begin - 1, records);
    }
    trace->tail = tail;
    return records != 0 ? records : 1;
}
