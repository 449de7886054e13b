/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Texts of the trace in pieces, which are put together when the line is written. They are composed
 * in the functions below and not in ones that are called, because a whole state has many rows.
 *
 * A piece begins with a word: the number of its bytes, and what is true of it. Its bytes follow,
 * the last word filled up with anything; or it is a name, whose address is in this word. A name
 * whose number of bytes is 0 ends with a NUL. */
#ifndef CELLREAP_TRACE_TEXT_H
#define CELLREAP_TRACE_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { CR_PIECE_WORD = 8, CR_PIECE_COUNT_SHIFT = 48, CR_PIECE_COUNT_MASK = 0x1fff };
#define CR_PIECE_MORE (1ull << 61)  /* another piece of the same text follows */
#define CR_PIECE_COMMA (1ull << 62) /* a comma follows it */
#define CR_PIECE_NAME (1ull << 63)
#define CR_PIECE_NAME_MASK ((1ull << CR_PIECE_COUNT_SHIFT) - 1)

typedef struct cr_text {
    uint64_t *next; /* where the next piece goes */
    uint64_t *end;  /* of the room */
    uint32_t bytes; /* of the text */
    int too_long;   /* not all pieces have room */
} cr_text;

/* The words of a piece of so many bytes. */
static inline size_t cr_piece_words(size_t count)
{
    return 1 + (count + CR_PIECE_WORD - 1) / CR_PIECE_WORD;
}

/* Begins a text without pieces, which are put into so many words from `room` on. What is behind
 * them is not cleared. */
static inline void cr_text_begin(cr_text *text, uint64_t *room, size_t words)
{
    text->next = room;
    text->end = room + words;
    text->bytes = 0;
    text->too_long = 0;
}

/* Begins a piece of so many words. Returns 0 if it has no room. */
static inline int cr_text_piece(cr_text *text, size_t words, size_t count, uint64_t flags)
{
    if (count > CR_PIECE_COUNT_MASK || words > (size_t)(text->end - text->next)) {
        text->too_long = 1;
        return 0;
    }
    *text->next++ = (uint64_t)count << CR_PIECE_COUNT_SHIFT | flags;
    text->bytes += (uint32_t)count + ((flags & CR_PIECE_COMMA) != 0);
    return 1;
}

/* Adds a piece that can be read on until a multiple of 8 bytes is read. `count`: its bytes.
 * `flags`: CR_PIECE_MORE for all pieces but the last one, CR_PIECE_COMMA. */
static inline void cr_text_words(cr_text *text, const char *piece, size_t count, uint64_t flags)
{
    if (cr_text_piece(text, cr_piece_words(count), count, flags)) {
        for (size_t i = 0; i < count; i += CR_PIECE_WORD) {
            __builtin_memcpy(text->next++, piece + i, CR_PIECE_WORD);
        }
    }
}

/* Adds a piece that is there with its first word, in so many words. */
static inline void cr_text_copy_piece(cr_text *text, const uint64_t *piece, size_t words,
                                      uint64_t flags)
{
    const size_t count = (size_t)(piece[0] >> CR_PIECE_COUNT_SHIFT) & CR_PIECE_COUNT_MASK;
    if (cr_text_piece(text, words, count, flags)) {
        for (size_t i = 1; i < words; i++) {
            *text->next++ = piece[i];
        }
    }
}

/* Adds a piece that never changes: it is read when the line is written. It ends with a NUL. */
static inline void cr_text_name(cr_text *text, const char *name, size_t count, uint64_t flags)
{
    const uint64_t address = (uint64_t)(uintptr_t)name;
    if (address <= CR_PIECE_NAME_MASK) {
        (void)cr_text_piece(text, 1, count, CR_PIECE_NAME | address | flags);
    } else if (cr_text_piece(text, cr_piece_words(count), count, flags)) {
        __builtin_memcpy(text->next, name, count);
        text->next += cr_piece_words(count) - 1;
    }
}

#endif
