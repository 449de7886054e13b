/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The state machines with any values, valid or not. */
#include "any.h"
#include <cellreap/machines.h>

void main(void)
{
    (void)cr_life_may((cr_life)any(), (cr_life)any());
    (void)cr_wait_may((cr_wait)any(), (cr_wait)any());
    (void)cr_phase_may((cr_phase)any(), (cr_phase)any());
}
