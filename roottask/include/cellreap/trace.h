/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes the trace (docs/trace-format.md). The caller begins a line, which is the record of one
 * event, adds its fields in the order of the table, and ends it. Until then nothing of the line is
 * seen.
 *
 * A line is recorded in a ring in memory that the caller provides, as words. It goes out in a frame
 * with the lines next to it, a sequence number and a checksum only when it is written: recording is
 * what the caller waits for, and writing is not. Who writes may be another thread, which the caller
 * may interrupt at any instruction: it calls cr_trace_write, and nobody else does then. If the ring
 * has no room for the longest line, the caller waits until lines are written (`wait`), so nothing
 * is ever lost. It also waits before more than `most` lines are not written.
 *
 * The fields that a caller adds are compared with the table in trace_events.h: their number, and
 * the function that prints each of them. A difference is a bug in the caller. The console then
 * names the event and the field, and `broken` is set. That line and all later lines are not
 * written, END included.
 *
 * Each frame has a checksum that only the holder of the trace's key can make. The first event
 * prints the key on the console, which PDs cannot read. */
#ifndef CELLREAP_TRACE_H
#define CELLREAP_TRACE_H

#include <cellreap/limits.h>
#include <cellreap/trace_events.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    /* The bytes of the longest record: the texts of a line, and words of its fields. */
    CR_TRACE_RECORD_MAX = 4096,
    CR_TRACE_RING_MIN = 8192,  /* twice CR_TRACE_RECORD_MAX */
    CR_TRACE_MOST_MIN = 128,   /* twice the room for lines that the recorder waits for */
    CR_TRACE_FRAME_REST = 256, /* bytes of a frame besides the last of its lines */
    CR_DICTIONARY_PLACES = 1024
};

/* The texts of which the console has only the numbers any more. */
typedef struct cr_dictionary {
    uint32_t count;
    uint16_t places[CR_DICTIONARY_PLACES];   /* by hash: the number of a text + 1; 0: none */
    uint16_t begin[CR_DICTIONARY_TEXTS + 1]; /* of each text in `bytes`, and the end of all */
    char bytes[CR_DICTIONARY_BYTES];
} cr_dictionary;

typedef struct cr_trace {
    uint8_t *ring;
    uint64_t capacity;         /* in bytes, a multiple of 8 */
    volatile uint64_t head;    /* bytes that were ever recorded; only the recorder changes it */
    volatile uint64_t tail;    /* those of them that were written; only the writer changes it */
    volatile uint64_t written; /* the number of lines */
    uint64_t recorded;         /* the number of lines, with those that are not written yet */
    void (*put)(char c);
    /* Returns when so many lines are written or the ring is empty. 0: the recorder writes. */
    void (*wait)(uint64_t lines);
    volatile int broken; /* nothing more is recorded */
    uint32_t most;       /* lines that are not written at a time, if `wait` is there */
    /* The record being made: its first word, and where its next one goes. */
    uint64_t *record;
    uint64_t *next;
    uint64_t limit;      /* a record may begin at a `head` up to this one without a further look */
    const uint8_t *form; /* what the rest of the fields are; see trace.c */
    cr_event event;
    /* What only the writer uses. */
    uint64_t factor; /* the key of the checksums */
    uint64_t addend;
    uint64_t last_time; /* of the last record, in nanoseconds */
    uint32_t digest;    /* of the checksums so far */
    uint32_t line_used;
    uint32_t line_end; /* the line may be so long now */
    int too_long;
    cr_dictionary known;
    /* Of events with times; all 0: without. */
    uint64_t (*now)(void);
    uint64_t hz;    /* ticks of `now` in a second */
    uint64_t start; /* `now` of the first event */
    char line[CR_TRACE_LINE_MAX + CR_TRACE_FRAME_REST];
    uint8_t secret[CR_TRACE_KEY_BYTES]; /* the key */
    char key[2 * CR_TRACE_KEY_BYTES];   /* in hex digits */
} cr_trace;

/* `capacity`: a multiple of 8, at least CR_TRACE_RING_MIN, else the trace is broken from the
 * start. `ring` is aligned to 8 bytes. */
void cr_trace_init(cr_trace *trace, void *ring, size_t capacity,
                   const uint8_t key[CR_TRACE_KEY_BYTES], void (*put)(char c));
/* Each event after the first one gets its time: `now` counts `hz` ticks in a second and never goes
 * back. Must be called before anything is recorded, and hz must not be 0. */
void cr_trace_timed(cr_trace *trace, uint64_t (*now)(void), uint64_t hz);
/* From here on another thread writes, and `wait` waits for it. No more than `most` lines, at least
 * CR_TRACE_MOST_MIN, are recorded and not written at any time. */
void cr_trace_written_by_another(cr_trace *trace, uint32_t most, void (*wait)(uint64_t lines));

void cr_trace_begin(cr_trace *trace, cr_event event);
void cr_trace_number(cr_trace *trace, uint64_t value);
void cr_trace_address(cr_trace *trace, uint64_t value);
/* CR_DEPTH_INF is printed as inf. */
void cr_trace_depth(cr_trace *trace, uint32_t depth);
/* Printed as 16 hex digits. */
void cr_trace_digest(cr_trace *trace, uint64_t digest);
/* So many numbers, with their count. */
void cr_trace_numbers(cr_trace *trace, const uint64_t *values, size_t count);
void cr_trace_string(cr_trace *trace, const char *text);
void cr_trace_bytes(cr_trace *trace, const char *bytes, size_t count);
/* The same for a text that never changes: it is read when the line is written. */
void cr_trace_name(cr_trace *trace, const char *name);
/* Prints the pieces of a cr_text (trace_text.h), which take so many words. It has at least one. */
void cr_trace_pieces(cr_trace *trace, const uint64_t *pieces, size_t words);
/* Prints the key of the trace, for TRACE only. No PD may exist yet. */
void cr_trace_key(cr_trace *trace);
/* A secret of its own for whom the key of the trace is to be no help: the keyed BLAKE2s of this
 * text, of 8 bytes, the first one the lowest. */
uint64_t cr_trace_secret(const cr_trace *trace, const char *whose);
void cr_trace_end(cr_trace *trace);

/* Records the END line, which has the number of lines (END included) and the digest, and
 * flushes. */
void cr_trace_finish(cr_trace *trace);

/* Returns when all lines that were recorded are written. */
void cr_trace_flush(cr_trace *trace);

/* For the writer: writes the oldest lines that are not written yet, at most so many, in one frame.
 * Returns their number; 1 if what was written is no line; 0 if there is nothing to write. */
uint32_t cr_trace_write(cr_trace *trace, uint32_t most);

/* CRC-32 (IEEE 802.3, reflected), the same as crc32 of zlib. Start with state 0. */
uint32_t cr_crc32(uint32_t state, const void *bytes, size_t count);

/* Write an unsigned number to `out` (at least 21 bytes), NUL-terminated. Return its length. */
size_t cr_format_decimal(char *out, uint64_t value);
size_t cr_format_hex(char *out, uint64_t value);

#ifdef __cplusplus
}
#endif

#endif
