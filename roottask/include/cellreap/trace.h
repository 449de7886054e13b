/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Composing trace lines (docs/trace-format.md). A line is begun, given its fields in the table's order, and
 * ended. It goes to a buffer that the caller gives, and from there to the console when the caller flushes.
 * If the buffer is full, the lines in it are put out at once, so nothing is lost.
 *
 * The fields that a caller prints, their number and which function prints them, are compared with the table in
 * trace_events.h. A caller that differs is a bug: the console says which event and field it is, `broken` is
 * set, and neither that line nor END is written. */
#ifndef CELLREAP_TRACE_H
#define CELLREAP_TRACE_H

#include <cellreap/limits.h>
#include <cellreap/trace_events.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cr_trace {
    char *buffer;
    size_t capacity;
    size_t used;
    void (*put)(char c);
    uint32_t sequence; /* of the next line */
    uint32_t digest;   /* CRC-32 state over the texts so far */
    int broken;
    /* the line being composed */
    size_t line_used;
    size_t text_start;
    size_t field; /* the place of the next one in the event's row */
    cr_event event;
    char line[CR_TRACE_LINE_MAX];
} cr_trace;

/* `capacity`: at least CR_TRACE_LINE_MAX bytes, else the trace is broken from the start. */
void cr_trace_init(cr_trace *trace, char *buffer, size_t capacity, void (*put)(char c));

void cr_trace_begin(cr_trace *trace, cr_event event);
void cr_trace_number(cr_trace *trace, uint64_t value);
void cr_trace_address(cr_trace *trace, uint64_t value);
/* CR_DEPTH_INF is printed as inf. */
void cr_trace_depth(cr_trace *trace, uint32_t depth);
void cr_trace_string(cr_trace *trace, const char *text);
void cr_trace_bytes(cr_trace *trace, const char *bytes, size_t count);
void cr_trace_end(cr_trace *trace);

/* Writes the END line with the count (END included) and the digest. */
void cr_trace_finish(cr_trace *trace);

/* Puts out whatever is buffered. */
void cr_trace_flush(cr_trace *trace);

/* CRC-32 (IEEE 802.3, reflected), as zlib's crc32: start with state 0. */
uint32_t cr_crc32(uint32_t state, const void *bytes, size_t count);

/* Writes an unsigned number to `out` (at least 21 bytes), NUL-terminated; returns its length. */
size_t cr_format_decimal(char *out, uint64_t value);
size_t cr_format_hex(char *out, uint64_t value);

#endif
