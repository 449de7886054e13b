/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How close two PDs are: RSI, the share of resources that both reach, and FR, the hops to a PD that
 * both depend on (docs/metrics.md). The values are exact: pairs of integers, and no floating point.
 * They are defined for every model.
 *
 * The memory is the caller's, and its size is known beforehand. The cost of a measurement is
 * bounded by the types times the nodes and edges that the two PDs reach; cr_metrics_begin looks at
 * each node once. The model is not changed, except for its touched counters.
 *
 * Nodes that are not active count as absent, and so do resources of such spaces.
 *
 * Freestanding, no allocation, no recursion. Parsed by the host tooling. */
#ifndef CELLREAP_METRICS_H
#define CELLREAP_METRICS_H

#include <cellreap/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CR_FR_INF = 0xffffffff, /* there is no PD that both reach */
    CR_RSI_MAPS = 3,        /* RSI follows at most so many MAP edges after a HOLD */
    CR_METRIC_TYPES_MAX = 0xffff
};

/* The resources of a type that both PDs reach, and those that at least one of them reaches. RSI is
 * shared / all, and 0 if `all` is 0. */
typedef struct cr_rsi {
    uint64_t shared;
    uint64_t all;
} cr_rsi;

/* What a resource counts as, where it is not once, under the type of its space: a memory object
 * counts as many times as it has pages, and a state of another system may have resources of other
 * types in a space. */
typedef struct cr_metric_resource {
    uint32_t type;
    uint32_t weight;
} cr_metric_resource;

typedef struct cr_metrics cr_metrics;

/* The bytes for models of up to `max_nodes` nodes with types below `max_types`. 0 if out of range:
 * at most CR_METRIC_TYPES_MAX types. */
size_t cr_metrics_bytes(uint32_t max_nodes, uint32_t max_types);

/* CR_ERR_ARG, CR_ERR_MEMORY. */
cr_status cr_metrics_init(void *memory, size_t bytes, uint32_t max_nodes, uint32_t max_types,
                          cr_metrics **out);

/* Begins to measure a model, which must not change until the last measurement. `resources`:
 * for each index of a node, what a resource there counts as; NULL: once, under the type of its
 * space. `with_root`: the root task may be the PD that both reach. CR_ERR_ARG: the model is larger
 * than the memory, or has a type that is. */
cr_status cr_metrics_begin(cr_metrics *metrics, cr_model *model,
                           const cr_metric_resource *resources, int with_root);

/* Set the two PDs of the following measurements. CR_ERR_STALE, CR_ERR_KIND, CR_ERR_STATE,
 * CR_ERR_ARG (not begun), CR_ERR_CORRUPT. */
cr_status cr_metrics_first(cr_metrics *metrics, cr_ref pd);
cr_status cr_metrics_second(cr_metrics *metrics, cr_ref pd);

/* Of the two PDs. CR_ERR_ARG: one of them is not set. */
cr_status cr_metrics_fr(const cr_metrics *metrics, uint32_t *fr);
cr_status cr_metrics_rsi(const cr_metrics *metrics, uint32_t type, cr_rsi *out);

#ifdef __cplusplus
}
#endif

#endif
