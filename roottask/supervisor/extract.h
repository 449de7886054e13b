/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Extraction of the model state: what the root task knows, together with what the servers know. The
 * root task asks each live server about its spaces by notices. The reports are stored apart from
 * the model and must never change the model or affect an operation.
 *
 * When no PD is left that could still answer, the root task prints the state of that moment, with
 * those reports that are still valid in it. The result is therefore legal no matter what servers
 * report, and also if they report nothing. */
#ifndef CELLREAP_SUPERVISOR_EXTRACT_H
#define CELLREAP_SUPERVISOR_EXTRACT_H

#include "system/system.h"
#include <cellreap/decode.h>

/* A MAP edge that a server reported. */
typedef struct cr_piece {
    uint32_t x;  /* number of the extraction */
    uint32_t by; /* receiver number of the manager */
    uint32_t account;
    uint32_t next; /* index of the next piece from the same node, plus 1 */
    cr_ref from;
    cr_ref to;
} cr_piece;

/* The content of one SUBGRAPH message. */
typedef struct cr_pieces {
    uint32_t count;
    cr_piece at[CR_SUBGRAPH_MAX];
} cr_pieces;

typedef struct cr_extraction {
    uint32_t x; /* its number; 0: the entry is free */
    cr_ref by;  /* the PD that asked for it, or the root task */
    uint64_t ticket;
} cr_extraction;

typedef struct cr_extractions {
    cr_extraction at[CR_MAX_EXTRACTIONS];
    cr_piece *pieces;
    uint32_t n_pieces;
    /* index of the first piece from the node, plus 1; 0: none */
    uint32_t *first_piece;
    uint32_t last_x;
    uint64_t seen; /* cr_sup.changes at the last look at the extractions */
    /* The search of cr_is_built_on. */
    uint32_t *queue;
    uint64_t *reached;
    uint64_t stamp;
} cr_extractions;

/* Whether an extraction can begin. CR_RESULT_BUSY. FULL: no number for it is left. */
cr_result cr_extract_check(const cr_pd *by, int with_ticket);
/* Begins an extraction. `ticket` receives the number of its ticket. 0: without a ticket. */
void cr_extract_start(cr_pd *by, uint64_t *ticket);
/* Whether the acknowledgement BY_RESOURCE can be accepted, and its effect: one notice for each
 * resource of the space. *more is the number of notices from other acknowledgements of the same
 * message. This one's are added. CR_RESULT_FAILED, FULL. */
cr_result cr_extract_may_split(const cr_pd *manager, const cr_work_notice *notice, uint32_t *more);
void cr_extract_split(cr_pd *manager, const cr_work_notice *notice);
/* Whether the report of a server about a notice that it fetched can be accepted as a whole. *out is
 * the part that was not known. Changes nothing. CR_RESULT_NO_SUCH: the notice was no question, or
 * its extraction has ended. GONE, DENIED, FAILED, FULL. */
cr_result cr_extract_may_take(const cr_pd *from, const cr_work_notice *notice,
                              const cr_subgraph_item *items, uint32_t count, cr_pieces *out);
void cr_extract_take(const cr_pd *from, const cr_work_notice *notice, const cr_pieces *pieces);
/* Withdraws the PD's questions that it was never handed and that no extraction awaits: its notices
 * were given up, or the extraction has ended. */
void cr_extract_withdraw(const cr_pd *pd);
/* Ends the extraction with this ticket without a result. */
void cr_extract_cancel(uint64_t ticket);
/* Prints the results of the extractions that await no PD. */
void cr_extract_follow_up(void);
/* Whether an extraction awaits that this PD finishes a notice with this tag. */
int cr_extract_awaits(uint32_t tag, const cr_pd *pd);
/* Whether a node is built on another node over any number of MAP edges, or is the same node. `x`:
 * include the reports of extraction x. 0: use only the model. */
int cr_is_built_on(cr_ref node, cr_ref other, uint32_t x);

#endif
