/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The limits of the root task. An operation that would exceed a limit is refused and changes
 * nothing. This is the only list: C takes the numbers from it, the host tooling parses it, and the
 * tables in docs/architecture.md are generated from it. The core has no such limits, because its
 * callers give it memory. The limits of messages are in protocol.h. */
#ifndef CELLREAP_LIMITS_H
#define CELLREAP_LIMITS_H

/* The tables that a configuration decides: the image says how many entries each has
 * (cr_image_tables). When the root task starts, it takes memory for these. The bytes of an entry
 * are those in all arrays that have one for it.
 * CR_TABLE_LIMIT(enumerator, most entries, word, bytes of an entry, what it limits) */
/* clang-format off */
#define CR_TABLE_LIMITS                                                                            \
    CR_TABLE_LIMIT(CR_MAX_PDS, 1024, pds, 8408, "PDs at a time, with the root task")               \
    CR_TABLE_LIMIT(CR_MAX_NODES, 32768, nodes, 714, "PDs, spaces and resources at a time")         \
    CR_TABLE_LIMIT(CR_MAX_EDGES, 131072, edges, 454, "edges at a time")                            \
    CR_TABLE_LIMIT(CR_MAX_SPACES, 4096, spaces, 1280, "spaces at a time")                          \
    CR_TABLE_LIMIT(CR_MAX_TYPES, 2048, types, 280, "types of spaces at a time")                    \
    CR_TABLE_LIMIT(CR_MAX_REQUESTS, 32768, requests, 32,                                           \
        "REQUEST edges with a capability at a time")                                               \
    CR_TABLE_LIMIT(CR_MAX_TOMBSTONES, 4096, tombstones, 710,                                       \
        "destroyed PDs and spaces that PDs refer to")                                              \
    CR_TABLE_LIMIT(CR_MAX_TICKETS, 4096, tickets, 56, "tickets that are not over")                 \
    CR_TABLE_LIMIT(CR_MAX_MAPS, 32768, maps, 32,                                                   \
        "maps that servers report, in all extractions under way")                                  \
    CR_TABLE_LIMIT(CR_MAX_SLOTS, 1048576, slots, 8, "slots of the CSpaces of all PDs")             \
    CR_TABLE_LIMIT(CR_MAX_PAIRS, 1048576, pairs, 4,                                                \
        "pairs of PDs, one of which may make edges for the other")                                 \
    CR_TABLE_LIMIT(CR_MAX_CLOSE, 36864, close, 108,                                                \
        "nodes among which it is measured how close PDs are")                                      \
    CR_TABLE_LIMIT(CR_MAX_BODIES, 2048, bodies, 0,                                                 \
        "slots for the CNodes of bodies, a power of 2")                                            \
    CR_TABLE_LIMIT(CR_MAX_POOL, 65536, pool, 5,                                                    \
        "slots of the root task's own, a power of 2")                                              \
    CR_TABLE_LIMIT(CR_MAX_BLOCKS, 16384, blocks, 128,                                              \
        "blocks of kernel memory, a power of 2")
/* clang-format on */

/* CR_SYSTEM_LIMIT(enumerator, number, what it limits) */
/* clang-format off */
#define CR_SYSTEM_LIMITS                                                                           \
    CR_SYSTEM_LIMIT(CR_PRIORITY_MAX, 200, "the highest priority of a PD; the lowest is 1")         \
    CR_SYSTEM_LIMIT(CR_CSPACE_BITS_MIN, 5, "the smallest CSpace of a PD: log2 of its slots")       \
    CR_SYSTEM_LIMIT(CR_CSPACE_BITS_MAX, 10, "the largest CSpace of a PD: log2 of its slots")       \
    CR_SYSTEM_LIMIT(CR_STACK_PAGES_MAX, 64, "pages of a PD's stack")                               \
    CR_SYSTEM_LIMIT(CR_PROGRAM_PAGES_MAX, 16384, "pages of a PD's program, stack and buffers")     \
    CR_SYSTEM_LIMIT(CR_PROGRAM_SEGMENTS_MAX, 16, "segments of a program that are loaded")          \
    CR_SYSTEM_LIMIT(CR_MAX_COUNT, 1024,                                                            \
        "HOLDs of one node by one PD, and subscriptions of one PD to one node")                    \
    CR_SYSTEM_LIMIT(CR_MAX_LOST_SLOTS, 32,                                                         \
        "slots of a PD that wait for it to acknowledge their loss; a PD at the limit is given "    \
        "no capability")                                                                           \
    CR_SYSTEM_LIMIT(CR_MAX_TAKEN, 32,                                                              \
        "`free`, `disconnect` and `extract` notices that a PD has fetched and not finished; a PD " \
        "at the limit is handed no more of them")                                                  \
    CR_SYSTEM_LIMIT(CR_TOMBSTONES_EACH, 4,                                                         \
        "destroyed PDs and spaces that a PD refers to; with one more, the first is forgotten")     \
    CR_SYSTEM_LIMIT(CR_MAX_REPORTS, 64, "reports that are kept for listeners")                     \
    CR_SYSTEM_LIMIT(CR_MAX_TICKETS_EACH, 16, "tickets of one PD that are not over")                \
    CR_SYSTEM_LIMIT(CR_MAX_CLEANUPS, 8, "cleanups that await subscribers at a time")               \
    CR_SYSTEM_LIMIT(CR_MAX_EXTRACTIONS, 2, "extractions at a time")                                \
    CR_SYSTEM_LIMIT(CR_MAX_MAPS_EACH, 512, "maps that one server reports in one extraction")       \
    CR_SYSTEM_LIMIT(CR_REFUSALS_TOLD, 64, "refused operations of a PD that are traced one by one") \
    CR_SYSTEM_LIMIT(CR_ANSWERS_TOLD, 64,                                                           \
        "answers to questions of a PD that are traced one by one")                                 \
    CR_SYSTEM_LIMIT(CR_ANSWERS_EACH, 1000,                                                         \
        "answers to questions of a PD of which one is traced later on")                            \
    CR_SYSTEM_LIMIT(CR_REFUSALS_SUM, 1000, "refused operations of a PD in one REFUSED event")      \
    CR_SYSTEM_LIMIT(CR_SHARE, 1000,                                                                \
        "what a PD may ask of the root task before its equals have their turn: 1 for a message "   \
        "and for each kernel call, 16 for each line of the trace")                                 \
    CR_SYSTEM_LIMIT(CR_TRACE_BEHIND, 256,                                                          \
        "lines of the trace that may wait for the console when a PD goes on")                      \
    CR_SYSTEM_LIMIT(CR_TRACE_FEW, 16,                                                              \
        "lines that one message may lead to. If there are more, as after a fault, neither they "   \
        "nor as many later ones count for `CR_TRACE_BEHIND`")                                      \
    CR_SYSTEM_LIMIT(CR_TRACE_MOST, 2048,                                                           \
        "lines of the trace that may wait for the console at any time. If the machine stops for "  \
        "good, no more are lost")                                                                  \
    CR_SYSTEM_LIMIT(CR_MAX_SAYS, 4096, "lines that a PD prints")                                   \
    CR_SYSTEM_LIMIT(CR_MAX_CONSENTS, 2048,                                                         \
        "SUBSCRIBEs of a PD, and its ALLOWs that led to no edge, until the next cleanup ends")     \
    CR_SYSTEM_LIMIT(CR_TRACE_LINE_MAX, 2048, "bytes of a trace line")
/* clang-format on */

/* What each PD of the configuration may use at a time: its account. The PDs that it spawned use the
 * account of their creator. [pd.quota] in a configuration sets a quota by its word. A configured PD
 * itself, and the edges that it has from the start, are not charged.
 * CR_QUOTA(enumerator, number, word, what is counted) */
/* clang-format off */
#define CR_QUOTAS                                                                                  \
    CR_QUOTA(CR_QUOTA_NODES, 0, "nodes",                                                           \
        "spaces and resources that it manages, memory objects and regions that it made, and 2 "    \
        "for each PD that it spawned")                                                             \
    CR_QUOTA(CR_QUOTA_EDGES, 1, "edges",                                                           \
        "its edges, those between its spaces and resources, the notices that they left behind, "   \
        "and those that it has fetched; the first subscription to a node counts twice")            \
    CR_QUOTA(CR_QUOTA_SPACES, 2, "spaces", "spaces that it manages")                               \
    CR_QUOTA(CR_QUOTA_TYPES, 3, "types", "types of the spaces that it manages")                    \
    CR_QUOTA(CR_QUOTA_REQUESTS, 4, "requests", "REQUEST edges that it has")                        \
    CR_QUOTA(CR_QUOTA_TICKETS, 5, "tickets", "tickets that it has")                                \
    CR_QUOTA(CR_QUOTA_PDS, 6, "pds", "PDs that it spawned")                                        \
    CR_QUOTA(CR_QUOTA_BYTES, 7, "bytes",                                                           \
        "kernel memory of the PDs that it spawned, and of its memory objects and regions")         \
    CR_QUOTA(CR_QUOTA_MAPS, 8, "maps", "maps that it reports, in all extractions under way")       \
    CR_QUOTA(CR_QUOTA_PAGES, 9, "pages", "pages of 4 KiB of the memory objects that it made")
/* clang-format on */

typedef enum cr_quota {
#define CR_QUOTA(enumerator, number, ...) enumerator = number,
    CR_QUOTAS
#undef CR_QUOTA
        CR_QUOTA_COUNT
} cr_quota;

enum {
#define CR_SYSTEM_LIMIT(enumerator, number, ...) enumerator = number,
    CR_SYSTEM_LIMITS
#undef CR_SYSTEM_LIMIT
};

enum {
#define CR_TABLE_LIMIT(enumerator, number, ...) enumerator = number,
    CR_TABLE_LIMITS
#undef CR_TABLE_LIMIT
};

enum {
    CR_TABLES_BYTES = 90112, /* what the tables take beside the bytes of their entries, at most */
    CR_IMAGE_MAX_PDS = CR_MAX_PDS - 1 /* PDs in a configuration */
};

#endif
