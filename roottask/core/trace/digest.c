/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The digest of a model state. See digest.h. */
#include <cellreap/blake2s.h>
#include <cellreap/digest.h>

enum { LABEL_BYTES = 8 };

static uint64_t term(uint32_t kind, uint64_t a, uint64_t b)
{
    return cr_digest_stir(cr_digest_stir(a + CR_DIGEST_BY_KIND * kind) + b);
}

static size_t length(const char *text)
{
    size_t n = 0;
    while (text[n] != '\0') {
        n++;
    }
    return n;
}

uint64_t cr_digest_label(const char *id, const char *data)
{
    /* Behind a key of 16 zeros, which is the same for all labels. */
    static const cr_blake2s keyed = {.h = {0xee1b6ce3u, 0x3b3b6ad9u, 0xf01ee033u, 0x37d74b4cu,
                                           0xf4a24112u, 0x589cb143u, 0xee5a3f17u, 0x48fa17e4u},
                                     .count = CR_BLAKE2S_BLOCK,
                                     .digest = LABEL_BYTES};
    uint8_t bytes[LABEL_BYTES];
    cr_blake2s hash = keyed;
    cr_blake2s_add(&hash, id, length(id));
    cr_blake2s_add(&hash, ",", 1);
    cr_blake2s_add(&hash, data, length(data));
    cr_blake2s_end(&hash, bytes);
    uint64_t label = 0;
    for (int i = LABEL_BYTES - 1; i >= 0; i--) {
        label = label << 8 | bytes[i];
    }
    return label;
}

uint64_t cr_digest_node(uint64_t label, int pinned)
{
    return term(CR_DIGEST_NODE, label, pinned != 0);
}

uint64_t cr_digest_subscription(uint64_t pd, uint64_t node, uint32_t handler)
{
    return term(CR_EDGE_SUBSCRIBE + CR_DIGEST_HANDLER * handler, pd, node);
}

uint64_t cr_digest_edge(cr_edge_kind kind, uint64_t from, uint64_t to)
{
    if (kind == CR_EDGE_LINK && from > to) {
        return term(kind, to, from);
    }
    return term(kind, from, to);
}
