/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The main thread watches the cleaner. It hands the steps of a cleanup over to the cleaner's thread
 * and waits. If the cleaner faults, meets an error or hangs, the main thread begins a new epoch and
 * starts the thread afresh. The journal tells the new one where to go on. A step at which
 * CR_STEP_ATTEMPTS cleaners died is left: the rest of its phase goes on, and then the step is
 * attempted again.
 *
 * Signals that come meanwhile are noted, and the main loop handles them afterwards
 * (cr_cleaner_watch_take_signals). If the configuration gives the cleaner a priority below that of
 * some PDs (cleaner_priority), messages of these PDs come too (interleaved.h). Otherwise no PD
 * runs, and none comes. */
#ifndef CELLREAP_SUPERVISOR_CLEANER_WATCH_H
#define CELLREAP_SUPERVISOR_CLEANER_WATCH_H

#include "cleaner.h"

enum {
    /* Interrupts of the timer, at least 10 ms apart, that a cleaner may see without making a kernel
     * call, writing to the console or finishing a step. Then it hangs. Without a timer nobody finds
     * out. */
    CR_CLEANER_PATIENCE = 100
};

/* Has the cleaner carry out steps until there is none or one awaits subscribers. Returns which. If
 * a step that was left fails as often again, or cannot be left, the system stops. */
cr_execution_end cr_watch_cleaner(void);
/* The badges of the signals that came meanwhile. 0: none. */
uint64_t cr_cleaner_watch_take_signals(void);

#endif
