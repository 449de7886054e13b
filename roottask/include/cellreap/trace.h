/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Composes trace lines (docs/trace-format.md). The caller begins a line, adds its fields in the
 * order of the table, and ends it. The line is stored in a buffer that the caller provides. When
 * the caller flushes, the buffer is written to the console. If the buffer is full, the lines in it
 * are written at once, so nothing is lost.
 *
 * The fields that a caller adds are compared with the table in trace_events.h: their number, and
 * the function that prints each of them. A difference is a bug in the caller. The console then
 * names the event and the field, and `broken` is set. That line and all later lines are not
 * written, END included.
 *
 * Each line has a checksum that only the holder of the trace's key can make. The first event prints
 * the key on the console, which PDs cannot read. */
#ifndef CELLREAP_TRACE_H
#define CELLREAP_TRACE_H

#include <cellreap/blake2s.h>
#include <cellreap/limits.h>
#include <cellreap/trace_events.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cr_trace {
    char *buffer;
    size_t capacity;
    size_t used;
    void (*put)(char c);
    cr_blake2s keyed;  /* with the key hashed: the beginning of each checksum */
    uint64_t sequence; /* sequence number of the next line */
    uint32_t digest;   /* CRC-32 state over the texts so far */
    int broken;
    /* The line being composed. */
    size_t line_used;
    size_t text_start;
    size_t field; /* index of the next field in the row of the event */
    cr_event event;
    char key[2 * CR_TRACE_KEY_BYTES]; /* in hex digits */
    char line[CR_TRACE_LINE_MAX];
} cr_trace;

/* `capacity`: at least CR_TRACE_LINE_MAX bytes, else the trace is broken from the start. */
void cr_trace_init(cr_trace *trace, char *buffer, size_t capacity,
                   const uint8_t key[CR_TRACE_KEY_BYTES], void (*put)(char c));

void cr_trace_begin(cr_trace *trace, cr_event event);
void cr_trace_number(cr_trace *trace, uint64_t value);
void cr_trace_address(cr_trace *trace, uint64_t value);
/* CR_DEPTH_INF is printed as inf. */
void cr_trace_depth(cr_trace *trace, uint32_t depth);
void cr_trace_string(cr_trace *trace, const char *text);
void cr_trace_bytes(cr_trace *trace, const char *bytes, size_t count);
/* Prints the key of the trace, for TRACE only. No PD may exist yet. */
void cr_trace_key(cr_trace *trace);
void cr_trace_end(cr_trace *trace);

/* Writes the END line, which has the number of lines (END included) and the digest, and flushes. */
void cr_trace_finish(cr_trace *trace);

/* Writes the buffered lines to the console. */
void cr_trace_flush(cr_trace *trace);

/* CRC-32 (IEEE 802.3, reflected), the same as crc32 of zlib. Start with state 0. */
uint32_t cr_crc32(uint32_t state, const void *bytes, size_t count);

/* Write an unsigned number to `out` (at least 21 bytes), NUL-terminated. Return its length. */
size_t cr_format_decimal(char *out, uint64_t value);
size_t cr_format_hex(char *out, uint64_t value);

#ifdef __cplusplus
}
#endif

#endif
