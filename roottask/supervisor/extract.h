/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Extraction: the model state as the root task knows it, and with it what the servers know. Each live server is asked
 * about its spaces by notices. What it reports is kept apart from the model and never acts on it. When nobody is left who
 * could still answer, the state is printed as it is at that moment, with what was reported and still makes sense in it.
 * So the result is legal whatever servers say, or do not say. */
#ifndef CELLREAP_SUPERVISOR_EXTRACT_H
#define CELLREAP_SUPERVISOR_EXTRACT_H

#include "system/system.h"
#include <cellreap/decode.h>

/* A MAP edge that a server reported. */
typedef struct cr_piece {
    uint32_t x;    /* the extraction */
    uint32_t by;   /* the manager's receiver number */
    uint32_t next; /* of those from the same node, plus 1 */
    cr_ref from;
    cr_ref to;
} cr_piece;

/* What one SUBGRAPH reports. */
typedef struct cr_pieces {
    uint32_t count;
    cr_piece at[CR_SUBGRAPH_MAX];
} cr_pieces;

typedef struct cr_extraction {
    int used;
    uint32_t x;
    cr_ref by; /* the root task, or who asked */
    uint64_t ticket;
    uint64_t due; /* receivers without a deadline are awaited until then; 0: for ever */
} cr_extraction;

typedef struct cr_extractions {
    cr_extraction at[CR_MAX_EXTRACTIONS];
    cr_piece pieces[CR_MAX_MAPS];
    cr_piece all[CR_MAX_MAPS]; /* while one is finished */
    uint32_t n_pieces;
    uint32_t first_piece[CR_MAX_NODES]; /* from that node, plus 1; 0: none */
    uint32_t last_x;
    uint64_t seen; /* cr_sup.changes when they were looked at last */
    /* The search of cr_is_built_on. */
    uint32_t queue[CR_MAX_NODES];
    uint32_t reached[CR_MAX_NODES];
    uint32_t stamp;
} cr_extractions;

/* Whether one can begin. CR_RESULT_BUSY. */
cr_result cr_extract_check(const cr_pd *by, int with_ticket);
/* Begins it. `ticket`: where to put its number; 0: without one. */
void cr_extract_start(cr_pd *by, uint64_t *ticket);
int cr_extract_running(void);
/* How many notices wait on account of extractions that run. Costs the notices there are. */
uint32_t cr_extract_notices(void);
/* Whether an answer BY_RESOURCE can be taken, and taking it. *more: how many notices come of those taken with it; they and
 * this one's are added up. CR_RESULT_FAILED, FULL. */
cr_result cr_extract_may_split(const cr_work_notice *notice, uint32_t *more);
void cr_extract_split(cr_pd *manager, const cr_work_notice *notice);
/* Whether what a server reports in answer to a notice that it was handed can be taken, all of it.
 * *out is the part that was not known. Changes nothing. CR_RESULT_NO_SUCH: that was no question, or
 * its extraction is over. GONE, DENIED, FAILED, FULL. */
cr_result cr_extract_may_take(const cr_pd *from, const cr_work_notice *notice,
                              const cr_subgraph_item *items, uint32_t count, cr_pieces *out);
void cr_extract_take(const cr_pd *from, const cr_work_notice *notice, const cr_pieces *pieces);
/* Prints the results of extractions that wait for nobody. */
void cr_extract_follow_up(void);
/* The same of those whose time is over at `now`; UINT64_MAX: of all. */
void cr_extract_expire(uint64_t now);
/* When the next one's time is over; 0: never. */
uint64_t cr_extract_next_due(void);
/* Whether a node is, over any number of MAP edges, built on another one, or is that one. `x`: with what extraction x has
 * learned; 0: by the model alone. */
int cr_is_built_on(cr_ref node, cr_ref other, uint32_t x);

#endif
