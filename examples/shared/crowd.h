/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages between the many clients of crowd_client.c and the servers of crowd_server.c. */
#ifndef CELLREAP_PDS_CROWD_H
#define CELLREAP_PDS_CROWD_H

#include <cellreap/client.h>

enum { CW_CLIENTS = 128 };
/* Words: number of the client, number of its request (counted from 1). The answer has the same
 * two words. */
enum { CW_ASK = 0x400 };
enum { CW_OK = CR_REPLY_BASE, CW_BAD = CR_REPLY_BASE + 1 };

#endif
