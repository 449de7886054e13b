/* What the server and its clients agree on. */
#pragma once

#include <cellreap/client.h>

enum { ADD = 0x200 };                                        /* label of a request: one number */
enum { ADDED = CR_REPLY_BASE, REFUSED = CR_REPLY_BASE + 1 }; /* labels of answers */
