/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages to a console server. */
#ifndef CELLREAP_PDS_CONSOLE_H
#define CELLREAP_PDS_CONSOLE_H

#include <cellreap/client.h>

/* REQUEST: the number of characters that the client has -> the next one. It waits for it. */
enum { CO_NEXT = 0x300 };
enum { CO_OK = CR_REPLY_BASE, CO_BAD_REQUEST };
enum { CO_END = 4 /* the character that ends what is typed */ };

#endif
