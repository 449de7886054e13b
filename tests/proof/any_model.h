/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An arena of the size that every built system has, with any bytes in it. Only the two limits in
 * its header are as cr_model_init left them. */
#ifndef PROOF_ANY_MODEL_H
#define PROOF_ANY_MODEL_H

#include "any.h"
#include "arena.h"
#include <cellreap/limits.h>

#ifndef NODES
#define NODES 4096
#define EDGES 16384
#endif

static uint64_t arena[(sizeof(struct cr_model) + NODES * sizeof(cr_node) +
                       EDGES * (sizeof(cr_edge) + sizeof(uint32_t))) /
                      8];

static inline cr_model *any_model(void)
{
    cr_model *model = (cr_model *)(void *)arena;
    MAKE_ANY(&arena);
    model->max_nodes = NODES;
    model->max_edges = EDGES;
    return model;
}

static inline cr_ref any_ref(void)
{
    const cr_ref ref = {any(), any()};
    return ref;
}

#endif
