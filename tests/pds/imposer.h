/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages between imposer.c and its client guest.c. */
#ifndef CELLREAP_PDS_IMPOSER_H
#define CELLREAP_PDS_IMPOSER_H

#include <cellreap/client.h>

/* A message with any label: the imposer gives the caller resources until the root task refuses. The
 * answer is the last result, then the objects that were given. */
enum { IM_OK = CR_REPLY_BASE, IM_MOST = 60 };

#endif
