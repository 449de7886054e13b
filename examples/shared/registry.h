/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages to the programs that test the protocol: a registry, which manages a space and
 * performs operations on it as ordered, and a peer, which uses capabilities that were sent to
 * it. */
#ifndef CELLREAP_PDS_REGISTRY_H
#define CELLREAP_PDS_REGISTRY_H

#include <cellreap/client.h>

/* Messages to the registry, with a REQUEST badge: words -> words of the answer. The first word
 * of an answer is a cr_result. */
enum {
    RG_MAKE = 0x300,      /* -> result, object, slot: a new resource, given to the caller */
    RG_GIVE = 0x301,      /* object -> result, slot */
    RG_TAKE_BACK = 0x302, /* object -> result, holds left */
    RG_DELETE = 0x303,    /* object -> result */
    RG_WHO = 0x304,       /* -> result, badge of the request */
    RG_HOLDS = 0x305,     /* object -> result, holds of all PDs together */
    /* -> result, space, slot: creates a second space; its first client is the PD of the
     * registry's first PD capability */
    RG_FIRST_CLIENT = 0x306,
    /* object, badge -> result: gives the object to the client with that badge */
    RG_GIVE_TO = 0x307,
    RG_DELETE_SPACE = 0x308,  /* -> result: deletes the second space */
    RG_SET_DEPTH = 0x309,     /* pd depth, rs depth -> result */
    RG_DELETE_OTHERS = 0x30a, /* space, object -> result: deletes a resource of another manager */
    RG_DESTROYED = 0x30b,     /* -> result, number of destroy notices received so far */
    RG_FAIL = 0x30c,          /* never answered: the registry takes a page fault */
    /* -> result: shares the registry's right to create spaces with the PD of its first PD
     * capability */
    RG_SHARE_CORE = 0x30d
};

/* A message with any label to a resource of the registry is answered with its object. */
/* Messages to the peer, with a REQUEST badge. */
enum {
    PE_USE = 0x380, /* slot -> label and first word of the answer: the peer calls a resource */
    /* slot -> label, badge: the peer sends RG_WHO over a request that was shared with it */
    PE_WHO = 0x381,
    PE_DROP = 0x382,    /* space -> result: the peer drops its request */
    PE_RELEASE = 0x383, /* space, object -> result, holds left: the peer releases a hold */
    PE_NUMBER = 0x384,  /* -> the peer's PD number */
    PE_ALLOW = 0x385    /* space, PD number, count -> result: the peer's ALLOW */
};

enum { RG_OK = CR_REPLY_BASE, RG_BAD = CR_REPLY_BASE + 1 };

#endif
