/* SPDX-License-Identifier: BSD-2-Clause
 *
 * All of the supervisor's parts, for those that serve operations. Each header says what its part does. They stand in the
 * order of the parts: a part calls those before it and none after it. */
#ifndef CELLREAP_SUPERVISOR_H
#define CELLREAP_SUPERVISOR_H

#include "clock.h"
#include "answer.h"
#include "tickets.h"
#include "notices.h"
#include "connect.h"
#include "extract.h"
#include "cleaner.h"
#include "population.h"
#include "waits.h"
#include "operations.h"
#include "hooks.h"
#include "arena.h"

#endif
