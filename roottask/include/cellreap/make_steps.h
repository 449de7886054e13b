/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Making as a chain of small steps. A PD, a space, a resource or an edge is made by steps of the
 * kinds below, in order. If a step fails, the steps before it are undone in reverse, and everything
 * is as before. The first error is kept. An undo that fails is counted, and the others go on.
 *
 * Applying a step is repeated never. Undoing a step may be repeated. A step that fails has no
 * effect that the undoing of an earlier step does not remove. Nothing of a chain is in the trace
 * before all its steps are done: then each step is committed, in order, which cannot fail. */
#ifndef CELLREAP_MAKE_STEPS_H
#define CELLREAP_MAKE_STEPS_H

#include <cellreap/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CR_MADE(enumerator, number, word, what is made) */
#define CR_MADES                                                                                   \
    CR_MADE(CR_MADE_PD, 0, "pd", "a PD, with the capability that its creator gets")                \
    CR_MADE(CR_MADE_SPACE, 1, "space", "a space, with the request of its first client")            \
    CR_MADE(CR_MADE_RESOURCE, 2, "resource", "a resource")                                         \
    CR_MADE(CR_MADE_REQUEST, 3, "request", "a request")                                            \
    CR_MADE(CR_MADE_HOLD, 4, "hold", "a hold; of a PD's body also the resource for it")            \
    CR_MADE(CR_MADE_MAP, 5, "map", "a map")                                                        \
    CR_MADE(CR_MADE_SUBSCRIPTION, 6, "subscription", "a subscription")                             \
    CR_MADE(CR_MADE_MEMORY, 7, "memory", "a memory object")                                        \
    CR_MADE(CR_MADE_REGION, 8, "region", "a region: a memory object in an address space")

typedef enum cr_made {
#define CR_MADE(enumerator, number, ...) enumerator = number,
    CR_MADES
#undef CR_MADE
        CR_MADE_COUNT
} cr_made;

/* CR_MAKE_STEP(enumerator, number, name in traces, what it does, how it is undone) */
/* clang-format off */
#define CR_MAKE_STEPS                                                                              \
    CR_MAKE_STEP(CR_MAKE_ENTRY, 0, "entry", "takes an entry of the table of PDs",                  \
        "the entry is free again")                                                                 \
    CR_MAKE_STEP(CR_MAKE_LAYOUT, 1, "layout", "reads the ELF file and computes the body",          \
        "nothing is to be undone")                                                                 \
    CR_MAKE_STEP(CR_MAKE_BLOCK, 2, "block", "takes the untyped",                                   \
        "the untyped is revoked, which destroys all objects of it, and given back")                \
    CR_MAKE_STEP(CR_MAKE_OBJECTS, 3, "objects", "retypes objects of one kind", "with the untyped") \
    CR_MAKE_STEP(CR_MAKE_ASID, 4, "asid", "gives the address space an ASID", "with the untyped")   \
    CR_MAKE_STEP(CR_MAKE_TABLE, 5, "table", "maps a page table", "with the untyped")               \
    CR_MAKE_STEP(CR_MAKE_PAGE, 6, "page", "fills a page and maps it", "with the untyped")          \
    CR_MAKE_STEP(CR_MAKE_CAP, 7, "cap", "puts an initial capability into a slot",                  \
        "with the untyped")                                                                        \
    CR_MAKE_STEP(CR_MAKE_THREAD, 8, "thread", "configures the thread", "with the untyped")         \
    CR_MAKE_STEP(CR_MAKE_NODE, 9, "node", "adds a node to the model", "the node is removed")       \
    CR_MAKE_STEP(CR_MAKE_EDGE, 10, "edge", "adds an edge to the model", "the edge is removed")     \
    CR_MAKE_STEP(CR_MAKE_SLOT, 11, "slot", "takes a slot or an entry for a capability",            \
        "it is free again")                                                                        \
    CR_MAKE_STEP(CR_MAKE_PARENT, 12, "parent", "mints the parent of capabilities",                 \
        "the capability is deleted")                                                               \
    CR_MAKE_STEP(CR_MAKE_GRANT, 13, "grant", "copies a capability into a PD's CSpace",             \
        "the capability is deleted")                                                               \
    CR_MAKE_STEP(CR_MAKE_START, 14, "start", "resumes the thread", "the thread is suspended")      \
    CR_MAKE_STEP(CR_MAKE_CONTENT, 15, "content", "fills a region of the configuration",            \
        "nothing is to be undone")
/* clang-format on */

typedef enum cr_make_kind {
#define CR_MAKE_STEP(enumerator, number, ...) enumerator = number,
    CR_MAKE_STEPS
#undef CR_MAKE_STEP
        CR_MAKE_KIND_COUNT
} cr_make_kind;

typedef struct cr_make_step {
    cr_make_kind kind;
    uint32_t what; /* which of this kind; its meaning is the caller's */
} cr_make_step;

enum { CR_MAKE_STEPS_MAX = 32768 };

typedef struct cr_make_result {
    cr_status status;  /* of the step that failed, or CR_OK */
    cr_make_step step; /* the step that failed */
    uint32_t done;     /* steps that were done before it, or in all */
    uint32_t undone;   /* of these, the steps that were undone */
    cr_status residue; /* the first error of an undo */
} cr_make_result;

/* The steps of a chain, and what carries them out. */
typedef struct cr_make_chain {
    /* Step `at`, from 0. Returns 0 if the chain has no such step. The same each time. */
    int (*step)(void *context, uint32_t at, cr_make_step *out);
    cr_status (*apply)(void *context, const cr_make_step *step);
    /* `why`: what failed, and how far the undoing is. */
    cr_status (*undo)(void *context, const cr_make_step *step, const cr_make_result *why);
    void (*commit)(void *context, const cr_make_step *step);
    void *context;
} cr_make_chain;

/* Makes everything or nothing. CR_ERR_ARG: the chain has more than CR_MAKE_STEPS_MAX steps. */
cr_make_result cr_make_run(const cr_make_chain *chain);

/* Undoes the `result->done` steps of a chain, the last one first, whoever applied them. Sets
 * `undone` and `residue`. */
void cr_make_undo(const cr_make_chain *chain, cr_make_result *result);

const char *cr_made_name(cr_made made);
const char *cr_make_step_name(cr_make_kind kind);

#ifdef __cplusplus
}
#endif

#endif
