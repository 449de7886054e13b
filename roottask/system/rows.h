/* SPDX-License-Identifier: BSD-2-Clause
 *
 * All changes to the rows of the model state. They keep the digest of the state (digest.h), the
 * index of its numbers and the tallies of the accounts (charge.h), so no other code may add or
 * remove a node or an edge of the model. */
#ifndef CELLREAP_SYSTEM_ROWS_H
#define CELLREAP_SYSTEM_ROWS_H

#include "system.h"

/* A node was added to the model, and its entry in the tables of the system is complete. */
void cr_rows_added(cr_ref node);
/* What a digest has for the node. 0 for none. */
static inline uint64_t cr_rows_label(cr_ref node)
{
    return node.index == CR_NONE ? 0 : cr_sys.labels[node.index];
}
/* As cr_model_set_pinned. */
cr_status cr_rows_set_pinned(cr_ref pd, int pinned);

/* Why an edge goes, which says whether it has a record of its own. */
typedef enum cr_drop {
    CR_DROP_ASKED = 0,   /* a PD asked for it */
    CR_DROP_CLEANUP = 1, /* a cleanup removes it */
    CR_DROP_UNTOLD = 2   /* it was never told, or goes with its node */
} cr_drop;

/* As cr_model_add_edge or cr_model_subscribe, and what undoes them. `entry`: of a HOLD or REQUEST,
 * as in cr_sys.edge_entry; the handler of a SUBSCRIBE. Dropping needs only the latter. */
cr_status cr_rows_add_edge(cr_edge_kind kind, cr_ref from, cr_ref to, uint32_t entry);
cr_status cr_rows_drop_edge(cr_edge_kind kind, cr_ref from, cr_ref to, uint32_t entry, cr_drop why);
/* Tells of an edge that was added, when it will not be undone any more. */
void cr_rows_tell_edge(cr_edge_kind kind, cr_ref from, cr_ref to, uint32_t entry);
/* What else an edge leaves behind that goes with its node; `entry` is as above. */
typedef void (*cr_row_gone)(const cr_edge_info *edge, uint32_t entry, const void *with);
/* As cr_model_destroy. `cleanup`: a cleanup removes it. `each`, which may be 0, is called for all
 * edges but SUBSCRIBE. */
cr_status cr_rows_destroy(cr_ref node, int cleanup, cr_row_gone each, const void *with);

/* The resource of these numbers, or the space if `object` is 0. Returns 0 if there is none. The
 * cost does not depend on how many there are. */
int cr_rows_find(uint32_t space, uint32_t object, cr_ref *out);
/* The active space of this name that is no core space. Returns 0 if there is none. */
int cr_rows_find_named(const char *name, cr_ref *out);

#endif
