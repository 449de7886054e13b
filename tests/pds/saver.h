/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The messages to saver.c. */
#ifndef CELLREAP_TESTS_SAVER_H
#define CELLREAP_TESTS_SAVER_H

#include "storage.h"

enum {
    SAVER_KEEP = 0x130,  /* slot of the capability to a PD, its number */
    SAVER_UNTOLD = 0x131 /* 0, the number of a PD that it gets no capability to */
};

#endif
