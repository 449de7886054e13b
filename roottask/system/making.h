/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What is being made: the chain of steps (cellreap/make_steps.h) over model, kernel and tables. One
 * chain runs at a time. Its user begins it, adds the parts in the order in which they are made, and
 * runs it. The functions of make.c and make_pd.c are the users. */
#ifndef CELLREAP_SYSTEM_MAKING_H
#define CELLREAP_SYSTEM_MAKING_H

#include "memory.h"

/* The regions that the configuration maps for a PD, and the memory objects for them. */
enum {
    CR_NEW_MEMORIES = 2 * CR_IMAGE_MAX_MAPS,
    CR_NEW_PARTS = CR_NEW_MEMORIES + CR_IMAGE_MAX_ENDS + CR_STARTUP_LINES + 1,
    CR_MEMORY_STEPS = 12
};

/* An owner, three core spaces, a fault handler, links to all others, a PD capability, two of each
 * region, and one of each channel and line, and of an address space. */
static inline uint32_t cr_making_edges(void)
{
    return cr_most.pds + 8 + CR_NEW_PARTS;
}

static inline uint32_t cr_making_steps(void)
{
    return cr_making_edges() + 16 + CR_NEW_PARTS * CR_MEMORY_STEPS;
}

/* A new PD. */
typedef struct cr_new_pd {
    cr_pd *pd;
    cr_pd *creator; /* 0: the root task */
    uint32_t config;
    uint32_t program;
    uint32_t saved_bits; /* of a saved state: log2 of the slots of its CSpace; or 0 */
    char name[CR_NAME_BYTES];
    cr_body_params params;
} cr_new_pd;

typedef struct cr_new_space {
    cr_ref manager;
    const char *type;
    const char *name;
    uint32_t flags;
    uint32_t type_number;
    uint32_t entry;
    cr_ref ref; /* set when its node is added */
} cr_new_space;

typedef struct cr_new_resource {
    cr_ref space;
    const uint32_t *number; /* a PD has its number when the resource of its body is made */
    seL4_CPtr endpoint;
    const cr_pd *body_of; /* the resource stands for the body of this PD; or 0 */
    uint32_t pool_slot;
    cr_ref ref; /* set when its node is added */
} cr_new_resource;

/* A memory object, a region, a line (lines.h), or what is no kernel object: a channel, or an
 * address space. */
typedef struct cr_new_part {
    cr_new_resource resource;
    cr_new_memory memory;
    cr_content content; /* of the memory object, when the region is there */
    uint32_t number;
    cr_ref *known; /* what others may have, too, of the configuration: where it is kept; or 0 */
    cr_ref object; /* a region: what is mapped, if that is not new */
    const cr_ref *maps; /* the same, or what is new */
    uint32_t line;      /* a line: which one; else CR_IMAGE_NONE */
    uint32_t pd_slot;   /* a line: where its PD has the capability */
} cr_new_part;

/* The capability of a request or a hold. */
typedef struct cr_new_cap {
    cr_pd *pd;
    uint32_t slot;
    uint32_t request;   /* the entry of a request */
    const cr_ref *node; /* the space or the resource */
} cr_new_cap;

typedef struct cr_new_edge {
    cr_edge_kind kind;
    const cr_ref *from; /* a node that is being made has its reference when the edge is added */
    const cr_ref *to;
    uint32_t entry; /* as in rows.h */
} cr_new_edge;

typedef struct cr_making {
    cr_made made;
    char name[CR_ID_BYTES]; /* for the trace */
    int has_pd;
    cr_new_pd pd;
    cr_new_space space;
    cr_new_resource resource;
    cr_new_part parts[CR_NEW_PARTS];
    uint32_t n_parts;
    cr_new_cap request;
    cr_new_cap hold;
    uint32_t was; /* the state of the hold's slot before */
    cr_new_edge *edges;
    uint32_t n_edges;
    /* the steps after those of the PD's body */
    cr_make_step *steps;
    uint32_t n_steps;
} cr_making;

extern cr_making cr_now_made;

/* Which of the steps of a kind. */
enum { CR_OF_PD = 0, CR_OF_SPACE = 1, CR_OF_RESOURCE = 2, CR_OF_REQUEST = 3, CR_OF_HOLD = 4 };
/* Of the parts, each has so many numbers, from this one on: that of a step of cr_memory_step is the
 * lower part. */
enum { CR_OF_PART = 1 << 24 };

/* `name`: what the trace calls it. */
void cr_making_begin(cr_made made, const char *name);
/* The same, with the id of a node. */
void cr_making_begin_at(cr_made made, cr_ref node);
void cr_making_add(cr_make_kind kind, uint32_t what);
void cr_making_add_edge(const cr_new_edge *edge);
/* Add the parts that `cr_now_made` describes. */
void cr_making_add_resource(void);
/* A part of a memory object, or of a region of `pd` with `object`, which may be new; and of what is
 * no kernel object. */
cr_new_part *cr_making_new_object(cr_pages pages);
cr_new_part *cr_making_new_region(const cr_pd *pd, const cr_new_part *object, cr_ref old,
                                  uint64_t vaddr, int writable);
const cr_new_part *cr_making_new_bare(cr_ref space, cr_ref *known);
/* What the steps of a part are about. */
static inline uint32_t cr_making_of(const cr_new_part *part)
{
    return CR_OF_PART * (uint32_t)(part - cr_now_made.parts + 1);
}
/* Adds the part, which was made last. Its account and owner are set. */
void cr_making_add_part(cr_new_part *part);
/* Adds a line, which the PD that is being made has in a slot. */
void cr_making_add_line(const cr_pd *pd, uint32_t line, cr_ref space, uint32_t slot);
void cr_making_add_hold(cr_pd *pd, const cr_ref *resource, uint32_t slot);
/* A hold of the resource of a PD's body, with that resource if there is none. */
void cr_making_add_body_hold(cr_pd *holder, const cr_pd *pd, uint32_t slot);
/* `name`: of the space. */
void cr_making_add_request(cr_pd *pd, const cr_ref *space, const char *name, uint32_t slot);
/* Makes all or nothing. If nothing was made, the trace says why. */
cr_result cr_making_run(void);

/* The parts of chains for a PD (make_pd.c) and for a space (make.c). */
cr_status cr_enter_pd(cr_new_pd *make);
void cr_leave_pd(cr_new_pd *make);
cr_status cr_add_pd_node(cr_new_pd *make);
void cr_commit_pd(const cr_new_pd *make);
void cr_commit_start(const cr_new_pd *make);
cr_status cr_add_space_node(cr_new_space *make);
void cr_commit_space(const cr_new_space *make);

#endif
