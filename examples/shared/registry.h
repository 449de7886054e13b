/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the programs that try the protocol out say to each other: a registry, which manages a space and does
 * with it what it is asked to, and a peer, which uses what it was sent. */
#ifndef CELLREAP_PDS_REGISTRY_H
#define CELLREAP_PDS_REGISTRY_H

#include <cellreap/client.h>

/* To the registry, with a REQUEST badge. Results: a cr_result first, then what is named. */
enum {
    RG_MAKE = 0x300,         /* -> result, object, slot: a new resource, given to the caller */
    RG_GIVE = 0x301,         /* object -> result, slot */
    RG_TAKE_BACK = 0x302,    /* object -> result, holds left */
    RG_DELETE = 0x303,       /* object -> result */
    RG_WHO = 0x304,          /* -> result, badge of the request */
    RG_HOLDS = 0x305,        /* object -> result, holds of all PDs together */
    RG_FIRST_CLIENT = 0x306, /* -> result, space, slot: a second space, whose first client is its first PD capability's PD */
    RG_GIVE_TO = 0x307,      /* object, badge -> result */
    RG_DELETE_SPACE = 0x308, /* -> result: the second space */
    RG_SET_DEPTH = 0x309,    /* pd depth, rs depth -> result */
    RG_DELETE_OTHERS = 0x30a, /* space, object -> result: of somebody else's */
    RG_DESTROYED = 0x30b,    /* -> result, destroy notices that came so far */
    RG_FAIL = 0x30c,         /* never answered: a page fault */
    RG_SHARE_CORE = 0x30d    /* -> result: shares its right to make spaces with its first PD capability's PD */
};

/* To a resource of the registry: any label -> object. */
/* To the peer, with a REQUEST badge. */
enum {
    PE_USE = 0x380,     /* slot -> label of the answer, its first word: calls a resource */
    PE_WHO = 0x381,     /* slot -> label, badge: RG_WHO over a request that it was given */
    PE_DROP = 0x382,    /* space -> result: drops its request */
    PE_RELEASE = 0x383, /* space, object -> result, holds left */
    PE_NUMBER = 0x384   /* -> its PD number */
};

enum { RG_OK = CR_REPLY_BASE, RG_BAD = CR_REPLY_BASE + 1 };

#endif
