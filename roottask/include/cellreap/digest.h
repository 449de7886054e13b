/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The digest of a model state: one number for all of its rows. It is a sum, so a change of the
 * state changes it by the terms of the rows that change, and what it costs to keep it does not
 * depend on the size of the model. The order of the rows does not matter.
 *
 *   label(node) = the BLAKE2s of "<id>,<DATA>" (the columns of its row), 8 bytes, as a number, the
 *                 first byte the lowest. The key is 16 zero bytes: equal states have equal digests
 *                 in all runs.
 *   term(kind, a, b) = stir(stir(a + BY_KIND * kind) + b)
 *   stir(x): x ^= x >> 32; x *= FIRST; x ^= x >> 29; x *= SECOND; x ^= x >> 32
 *   digest = the sum of the terms of all nodes and edges
 *
 * A node has the term (CR_DIGEST_NODE, its label, 1 if it is pinned or the root task, else 0). An
 * edge has the term (its cr_edge_kind, label of `from`, label of `to`), as often as its count; the
 * ends of a LINK are in ascending order of their labels. The kind of a SUBSCRIBE edge is
 * CR_EDGE_SUBSCRIBE + CR_DIGEST_HANDLER * its handler. These are the edges that have rows, and
 * MANAGE. Whether a node is doomed is no part of it. All sums and products are modulo 2^64.
 *
 * Two states that differ by accident have the same digest with a probability of 2^-64. It is no
 * signature: with some effort, a second state with the same digest can be made. That only the root
 * task writes it is ensured by the checksum of its line.
 *
 * Parsed by the host tooling. Pure. */
#ifndef CELLREAP_DIGEST_H
#define CELLREAP_DIGEST_H

#include <cellreap/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CR_DIGEST_FACTOR(name, number) */
#define CR_DIGEST_FACTORS                                                                          \
    CR_DIGEST_FACTOR(CR_DIGEST_BY_KIND, 0x9e3779b97f4a7c15u)                                       \
    CR_DIGEST_FACTOR(CR_DIGEST_FIRST, 0xd1342543de82ef95u)                                         \
    CR_DIGEST_FACTOR(CR_DIGEST_SECOND, 0xaf251af3b0f025b5u)

#define CR_DIGEST_FACTOR(name, number) static const uint64_t name = number;
CR_DIGEST_FACTORS
#undef CR_DIGEST_FACTOR

enum {
    CR_DIGEST_NODE = 100,   /* the kind in the term of a node; those of edges are below */
    CR_DIGEST_HANDLER = 256 /* times the handler: added to the kind of a SUBSCRIBE edge */
};

uint64_t cr_digest_label(const char *id, const char *data);
uint64_t cr_digest_node(uint64_t label, int pinned);
/* One of an edge's terms. */
uint64_t cr_digest_edge(cr_edge_kind kind, uint64_t from, uint64_t to);
/* The same for a SUBSCRIBE edge with this handler. */
uint64_t cr_digest_subscription(uint64_t pd, uint64_t node, uint32_t handler);

/* The rest is also for PDs, so it is no part of the core's library. */

static inline uint64_t cr_digest_stir(uint64_t x)
{
    x ^= x >> 32;
    x *= CR_DIGEST_FIRST;
    x ^= x >> 29;
    x *= CR_DIGEST_SECOND;
    return x ^ (x >> 32);
}

/* One number for words that somebody is told: x = BY_KIND * (count + 1), then x = stir(x + word)
 * for each. */
static inline uint64_t cr_digest_words(const uint64_t *words, uint32_t count)
{
    uint64_t x = CR_DIGEST_BY_KIND * (count + 1ull);
    for (uint32_t i = 0; i < count; i++) {
        x = cr_digest_stir(x + words[i]);
    }
    return x;
}

/* The rows of a plan. They follow from the state, so a trace has only their number and digest:
 * CR_PLAN_ROW(enumerator, number, key of `plan --json`, meaning) */
#define CR_PLAN_ROWS                                                                               \
    CR_PLAN_ROW(CR_ROW_REQUEST, 0, "removed_requests", "survivor, space")                          \
    CR_PLAN_ROW(CR_ROW_REVOKED, 1, "revoked", "survivor, resource in a doomed space")              \
    CR_PLAN_ROW(CR_ROW_SPACE, 2, "revoked_spaces", "survivor, doomed space that it holds")         \
    CR_PLAN_ROW(CR_ROW_BODY, 3, "revoked_bodies", "survivor, capability to a doomed PD")           \
    CR_PLAN_ROW(CR_ROW_CORE, 4, "core_freed", "core resource that no PD holds any more")           \
    CR_PLAN_ROW(CR_ROW_BROKEN, 5, "broken", "survivor, what it keeps that is built on what goes")  \
    CR_PLAN_ROW(CR_ROW_DOOMED, 6, "groups", "doomed node; its depth; its group, from 0")           \
    CR_PLAN_ROW(CR_ROW_NOTICE, 7, "notices", "receiver, node, doomed PD")

typedef enum cr_plan_row {
#define CR_PLAN_ROW(enumerator, number, key, meaning) enumerator = number,
    CR_PLAN_ROWS
#undef CR_PLAN_ROW
} cr_plan_row;

/* The sum over the rows of a plan is its digest. A row has a term like that of an edge, and a third
 * column is stirred into it: x = stir(x + c). a, b, c: the labels of the row's nodes, 0: none.
 * kind: a cr_plan_row; of a notice, its cr_notice_kind is added. The depth of a space is that of
 * its manager; 2^32 - 1: unlimited, or the manager is not doomed. */
static inline uint64_t cr_digest_row(uint32_t kind, uint64_t a, uint64_t b)
{
    return cr_digest_stir(cr_digest_stir(a + CR_DIGEST_BY_KIND * kind) + b);
}

static inline uint64_t cr_digest_row_of_three(uint32_t kind, uint64_t a, uint64_t b, uint64_t c)
{
    return cr_digest_stir(cr_digest_row(kind, a, b) + c);
}

#ifdef __cplusplus
}
#endif

#endif
