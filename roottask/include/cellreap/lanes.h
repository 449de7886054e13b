/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the root task and the library of PDs must agree on about lanes of notices (work.h). */
#ifndef CELLREAP_LANES_H
#define CELLREAP_LANES_H

#include <cellreap/policy.h>

/* Whether a failed notice of this kind stops its lane. */
static inline int cr_notice_stops_its_lane(cr_notice_kind kind)
{
    return kind != CR_NOTICE_EXTRACT && kind != CR_NOTICE_PRE_DESTROY && kind != CR_NOTICE_PROBE &&
           kind != CR_NOTICE_FAULT;
}

#endif
