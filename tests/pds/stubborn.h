/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a server of several spaces is asked, beside ST_ALLOCATE: both with a word that says which space. */
#ifndef CELLREAP_PDS_STUBBORN_H
#define CELLREAP_PDS_STUBBORN_H

enum { SB_RESUME = 0x420 }; /* place of the space -> cr_result */

#endif
