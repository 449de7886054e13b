/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Creates and respawns configured PDs. See population.h. */
#include "population.h"
#include "answer.h"
#include "arena.h"
#include "system/text.h"

void cr_population_start(void)
{
    for (uint32_t i = 0; i < cr_sys.image->pds.count; i++) {
        const cr_image_pd *config = &cr_image_pds(cr_sys.image)[i];
        cr_pd *pd = 0;
        if ((config->flags & CR_IMAGE_LATE) != 0) {
            continue;
        }
        cr_status status = cr_make_pd(i, config->program, config->name, 0, &pd);
        if (status != CR_OK) {
            cr_console_string(config->name);
            cr_panic("a PD of the configuration cannot be created", (uint64_t)status);
        }
    }
}

static void make_missing(uint32_t flag)
{
    for (uint32_t i = 0; i < cr_sys.image->pds.count; i++) {
        const cr_image_pd *config = &cr_image_pds(cr_sys.image)[i];
        cr_pd *pd = 0;
        int not_yet = (config->flags & CR_IMAGE_LATE) != 0 && !cr_sup.population.late_begun;
        if ((config->flags & flag) == 0 || not_yet || cr_find_configured(i) != 0) {
            continue;
        }
        cr_status status = cr_make_pd(i, config->program, config->name, 0, &pd);
        if (status != CR_OK) {
            cr_trace_refuse(&cr_sys.pds[0], CR_OP_SPAWN, cr_result_of(status));
        }
    }
}

void cr_population_follow_up(void)
{
    /* A PD that is created while a cleanup awaits subscribers could be tied to a doomed PD from its
     * creation. It is therefore respawned after the cleanup. */
    if (cr_sup.population.followed_up != cr_sys.settled && !cr_cleaner_waits()) {
        cr_sup.population.followed_up = cr_sys.settled;
        make_missing(CR_IMAGE_RESPAWN);
    }
}

int cr_population_begin_late(void)
{
    if (cr_sup.population.late_begun) {
        return 0;
    }
    cr_sup.population.late_begun = 1;
    make_missing(CR_IMAGE_LATE);
    return 1;
}
