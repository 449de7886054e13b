/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages between ward.c and its fault handler. */
#ifndef CELLREAP_PDS_WARD_H
#define CELLREAP_PDS_WARD_H

#include "storage.h"
#include <cellreap/client.h>

enum {
    WD_FAULT = 0x300 /* to a server: pretend to fault */
};

#endif
