/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Feeds random messages to the decoder, under AddressSanitizer and UndefinedBehaviorSanitizer. The
 * words of a message lie in a heap block that is exactly as large as the message's length says. A
 * read beyond the length is therefore an error that stops the program.
 *
 *   fuzz_decode COUNT SEED   Prints one line with a count for each result and each operation. The
 *                            exit code is 1 if an answer is wrong or if an operation was never
 *                            accepted.
 *
 * -DFUZZ_SHORT=N makes blocks N words smaller than the lengths say, as if the decoder read that far
 * beyond the block. ASan must stop it.
 * -DFUZZ_LIBFUZZER builds the function that libFuzzer calls, instead of main. */
#include <cellreap/decode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FUZZ_SHORT
#define FUZZ_SHORT 0
#endif

enum { MOST = 120 };

static uint64_t results[CR_RESULT_COUNT];
static uint64_t accepted[CR_OP_COUNT];

static void wrong(const char *what, const cr_raw_message *m)
{
    fprintf(stderr, "fuzz_decode: %s: label %llu, length %u, capabilities %u\n", what,
            (unsigned long long)m->label, m->length, m->extra);
    exit(1);
}

static void text_ends(const char *text, size_t bytes, int wanted, const cr_raw_message *m)
{
    const char *nul = memchr(text, '\0', bytes);
    if (nul == 0 || (nul != text) != wanted) {
        wrong("a text that does not end, is empty or should be", m);
    }
}

/* Checks what the user of accepted arguments may rely on. */
static void check_accepted(const cr_raw_message *m, const cr_operation_args *r)
{
    uint32_t most = r->op == CR_OP_SAY           ? CR_SAY_MAX
                    : r->op == CR_OP_FINISH_WORK ? CR_WORK_MAX
                    : r->op == CR_OP_SUBGRAPH    ? CR_SUBGRAPH_MAX
                                                 : 0;
    if ((uint64_t)r->op != m->label || r->count > most ||
        (most != 0 && r->op != CR_OP_SAY && r->count == 0)) {
        wrong("an operation or a count that is not the message's", m);
    }
    text_ends(r->name, sizeof(r->name),
              r->op == CR_OP_CREATE_SPACE || r->op == CR_OP_CONNECT || r->op == CR_OP_SPAWN ||
                  r->op == CR_OP_STAY_DOWN,
              m);
    text_ends(r->type, sizeof(r->type), r->op == CR_OP_CREATE_SPACE, m);
    for (uint32_t i = 0; r->op == CR_OP_FINISH_WORK && i < r->count; i++) {
        if ((uint32_t)r->answers[i].result >= CR_WORK_RESULT_COUNT) {
            wrong("an answer that there is not", m);
        }
    }
    for (uint32_t i = 0; r->op == CR_OP_SUBGRAPH && i < r->count; i++) {
        if ((r->items[i].object == 0) != (r->items[i].target_object == 0)) {
            wrong("a space mapped to a resource", m);
        }
    }
    if (r->wait > 1 || r->round_boundary > 1 || r->has_pd > 1) {
        wrong("a value out of its range", m);
    }
    accepted[r->op]++;
}

static void try_one(uint64_t label, uint32_t length, uint32_t extra, uint64_t unwrapped,
                    const uint64_t *words)
{
    static uint64_t copy[MOST];
    size_t bytes = 8u * (length > FUZZ_SHORT ? length - FUZZ_SHORT : 0);
    uint64_t *block = malloc(bytes);
    cr_operation_args *out = malloc(sizeof(*out));
    if ((block == 0 && bytes != 0) || out == 0) {
        fprintf(stderr, "fuzz_decode: no memory\n");
        exit(2);
    }
    if (bytes != 0) {
        memcpy(block, words, bytes);
        memcpy(copy, words, bytes);
    }
    memset(out, 0xa5, sizeof(*out));
    cr_raw_message m = {
        .label = label, .length = length, .extra = extra, .unwrapped = unwrapped, .words = block};
    cr_result result = cr_decode_operation(&m, out);
    if ((uint32_t)result >= CR_RESULT_COUNT) {
        wrong("a result that there is not", &m);
    }
    results[result]++;
    if (result == CR_RESULT_OK) {
        check_accepted(&m, out);
    }
    if (m.label != label || m.length != length || m.extra != extra || m.unwrapped != unwrapped ||
        m.words != block || (bytes != 0 && memcmp(block, copy, bytes) != 0)) {
        wrong("a message was changed", &m);
    }
    free(out);
    free(block);
}

#ifdef FUZZ_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* data: 24 bytes of label, badge and capabilities, then the words. Most messages get the magic
 * number as their first word. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t head[3] = {0};
    uint64_t words[MOST] = {0};
    if (size < sizeof(head)) {
        return 0;
    }
    memcpy(head, data, sizeof(head));
    size_t length = (size - sizeof(head)) / 8;
    length = length > MOST - 1 ? MOST - 1 : length;
    words[0] = (head[2] & 0xf0) == 0xf0 ? head[1] : CR_PROTOCOL_MAGIC;
    if (length != 0) {
        memcpy(words + 1, data + sizeof(head), 8 * length);
    }
    try_one((head[0] >> 8) & 1 ? head[0] : head[0] % (CR_OP_COUNT + 1), (uint32_t)length + 1,
            (uint32_t)(head[2] & 3), head[1], words);
    return 0;
}

#else

static uint64_t state;

/* splitmix64: the same numbers on every machine. */
static uint64_t next(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t n)
{
    return next() % n;
}

static uint64_t some_word(void)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     3,
                                     4,
                                     5,
                                     15,
                                     16,
                                     17,
                                     31,
                                     32,
                                     33,
                                     399,
                                     400,
                                     401,
                                     0xfffffffeu,
                                     0xffffffffu,
                                     0x100000000u,
                                     ~(uint64_t)0,
                                     0x8000000000000000u,
                                     CR_PROTOCOL_MAGIC};
    uint64_t kind = below(4);
    return kind == 0   ? next()
           : kind == 1 ? below(40)
                       : edges[below(sizeof(edges) / sizeof(edges[0]))];
}

static void some_text(uint64_t *words, uint32_t count)
{
    static const char usual[] = "ABCXYZ019_PDMOabc-.~!";
    char text[32] = {0};
    size_t n = below(8 * (uint64_t)count + 1);
    for (size_t i = 0; i < n; i++) {
        text[i] =
            below(30) == 0 ? (char)below(256) : usual[below(below(4) == 0 ? sizeof(usual) - 1 : 9)];
    }
    memcpy(words, text, 8 * (size_t)count);
}

/* Makes a message that resembles a valid one of the operation. Returns its length. */
static uint32_t likely(uint64_t label, uint64_t *words)
{
    uint32_t length = 1 + (uint32_t)below(6);
    words[0] = CR_PROTOCOL_MAGIC;
    for (uint32_t i = 1; i < MOST; i++) {
        words[i] = below(3) == 0 ? some_word() : below(4);
    }
    switch (label) {
    case CR_OP_SAY:
        words[1] = below(CR_SAY_MAX + 16);
        return 2 + (uint32_t)((words[1] + 7) / 8);
    case CR_OP_CREATE_SPACE:
        some_text(words + 1, CR_TYPE_WORDS);
        some_text(words + 1 + CR_TYPE_WORDS, CR_NAME_WORDS);
        return 1 + CR_TYPE_WORDS + CR_NAME_WORDS;
    case CR_OP_CONNECT:
    case CR_OP_SPAWN:
        some_text(words + 1, CR_NAME_WORDS);
        return 1 + CR_NAME_WORDS + (uint32_t)below(2);
    case CR_OP_FINISH_WORK:
        words[1] = 1 + below(CR_WORK_MAX);
        for (uint64_t i = 0; i < words[1]; i++) {
            words[2 + 2 * i] = below(8) == 0 ? below(20) : next();
            words[3 + 2 * i] = below(40) == 0 ? some_word() : below(CR_WORK_RESULT_COUNT);
        }
        return 2 + 2 * (uint32_t)words[1];
    case CR_OP_SUBGRAPH:
        words[2] = 1 + below(CR_SUBGRAPH_MAX);
        for (uint64_t i = 0; i < words[2]; i++) {
            words[3 + 3 * i] = below(5);
            words[5 + 3 * i] = below(40) == 0 ? some_word() : words[3 + 3 * i];
        }
        return 3 + CR_SUBGRAPH_WORDS * (uint32_t)words[2];
    default:
        return length;
    }
}

int main(int argc, char **argv)
{
    uint64_t words[MOST];
    if (argc != 3) {
        fprintf(stderr, "usage: fuzz_decode COUNT SEED\n");
        return 2;
    }
    uint64_t count = strtoull(argv[1], 0, 10);
    state = strtoull(argv[2], 0, 10);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t label = below(CR_OP_COUNT + 1);
        uint32_t length = likely(label, words);
        int shows = label == CR_OP_SEND || label == CR_OP_SHARE_REQUEST || label == CR_OP_TERMINATE;
        uint32_t extra = below(4) == 0 ? (uint32_t)below(4) : (uint32_t)shows;
        /* Half of the messages are then spoilt: length, words, label or magic number. */
        for (uint64_t spoil = below(2) == 0 ? 0 : 1 + below(3); spoil > 0; spoil--) {
            switch (below(6)) {
            case 0:
                length = (uint32_t)below(MOST + 1);
                break;
            case 1:
                length = length > 0 ? length - 1 : 0;
                break;
            case 2:
                length = length < MOST ? length + 1 : MOST;
                break;
            case 3:
                words[below(MOST)] = some_word();
                break;
            case 4:
                words[below(8)] ^= (uint64_t)1 << below(64);
                break;
            default:
                label = some_word();
                break;
            }
        }
        try_one(label, length, extra, some_word(), words);
    }
    int missing = 0;
    for (uint32_t i = 0; i < CR_RESULT_COUNT; i++) {
        printf("result %u: %llu\n", i, (unsigned long long)results[i]);
    }
    for (uint32_t i = 1; i < CR_OP_COUNT; i++) {
        printf("operation %u accepted: %llu\n", i, (unsigned long long)accepted[i]);
        missing |= accepted[i] == 0;
    }
    if (missing) {
        fprintf(stderr, "fuzz_decode: an operation was never accepted\n");
    }
    return missing;
}

#endif
