/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a crowd of clients and its servers say to each other. */
#ifndef CELLREAP_PDS_CROWD_H
#define CELLREAP_PDS_CROWD_H

#include <cellreap/client.h>

enum { CW_CLIENTS = 128 };
/* Number of the client, number of its request, rising from 1 -> the same two. */
enum { CW_ASK = 0x400 };
enum { CW_OK = CR_REPLY_BASE, CW_BAD = CR_REPLY_BASE + 1 };

#endif
