/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the root task and its PDs agree on. */
#ifndef EMBED_H
#define EMBED_H

enum {
    CSPACE_BITS = 6,
    DESK_SLOT = (1 << CSPACE_BITS) - 1, /* of the clerk's CSpace: the root task's own endpoint */
    BELL_SLOT = DESK_SLOT - 1,          /* the component's endpoint, with the root task's badge */
    ENTER = 0x200,                      /* clerk to ledger: one entry */
    RING = 0x300,                       /* clerk to the root task's loop: the entries so far */
    REPORT = 0x301, /* clerk to desk: the entries that were made, and the losses it was told of */
    ENTRIES = 3     /* that the ledger takes before it fails */
};

#endif
