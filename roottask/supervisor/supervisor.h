/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The main loop; and all parts of the supervisor, for the files that serve operations. The header
 * of each part says what the part does. The order of the includes is the order of the parts: a part
 * may call the parts before it, and must not call the parts after it. */
#ifndef CELLREAP_SUPERVISOR_H
#define CELLREAP_SUPERVISOR_H

#include "clock.h"
#include "answer.h"
#include "tickets.h"
#include "notices.h"
#include "connect.h"
#include "extract.h"
#include "cleaner.h"
#include "faults.h"
#include "calls.h"
#include "probes.h"
#include "progress.h"
#include "population.h"
#include "waits.h"
#include "silence.h"
#include "operations.h"
#include "share.h"
#include "hooks.h"
#include "arena.h"

#endif
