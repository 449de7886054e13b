/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A message to a server of several spaces. In it, and in ST_ALLOCATE, a word names the space by
 * its place in the configuration. */
#ifndef CELLREAP_PDS_STUBBORN_H
#define CELLREAP_PDS_STUBBORN_H

enum { SB_RESUME = 0x420 }; /* place of the space -> cr_result */

#endif
