/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages between taker.c and its clients. */
#ifndef CELLREAP_PDS_TAKER_H
#define CELLREAP_PDS_TAKER_H

#include <cellreap/client.h>

enum {
    TK_MAKE = 0x200, /* REQUEST: which of its spaces -> slot of a resource in it */
    TK_TAKE = 0x201, /* REQUEST: takes the last resource of the first space away */
    TK_USE = 0x202   /* RESOURCE: a word of the client -> badge */
};

enum { TK_OK = CR_REPLY_BASE, TK_BAD = CR_REPLY_BASE + 1 };

#endif
