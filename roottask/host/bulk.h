/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Many nodes and edges at once, for the host tooling: a call from Python costs as much as making a
 * hundred edges. Not part of a root task. Parsed by the host tooling. */
#ifndef CELLREAP_HOST_BULK_H
#define CELLREAP_HOST_BULK_H

#include <cellreap/model.h>

/* A node to be made. parent: the position among the nodes of a space's manager or of a resource's
 * space, which must come before it. */
typedef struct cr_bulk_node {
    uint32_t kind; /* cr_node_kind */
    uint32_t type;
    uint32_t number;
    uint32_t flags;
    uint32_t parent;
} cr_bulk_node;

/* An edge to be made: from << CR_BULK_FROM | to << CR_BULK_TO | kind. from, to: positions among the
 * nodes, below 2^29. A counted edge that is given n times has the count n. */
enum { CR_BULK_FROM = 33, CR_BULK_TO = 4 };

/* Makes nodes. out: their references, in the same order. Stops at the first error; *made: the nodes
 * that were made. CR_ERR_ARG: an unknown kind, or a parent that does not come before its node; and
 * the errors of cr_model_add_pd, cr_model_add_space and cr_model_add_resource. */
cr_status cr_bulk_nodes(cr_model *model, const cr_bulk_node *nodes, uint32_t n, cr_ref *out,
                        uint32_t *made);

/* Makes edges between nodes with these references. Stops at the first error; *made: the edges that
 * were made. CR_ERR_ARG: an unknown kind or position; and the errors of cr_model_add_edge. */
cr_status cr_bulk_edges(cr_model *model, const uint64_t *edges, uint32_t n, const cr_ref *refs,
                        uint32_t n_refs, uint32_t *made);

#endif
