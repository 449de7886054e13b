/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Creates and respawns configured PDs. See population.h. */
#include "population.h"
#include "answer.h"
#include "arena.h"
#include "residue.h"
#include "system/channels.h"
#include "system/doors.h"
#include "system/text.h"

enum { RETRY_MS = 10 }; /* the first delay after two refused attempts */

static cr_population_entry *entry_of(uint32_t config)
{
    return &cr_sup.population.entries[config];
}

static void set_coming(uint32_t config, int coming)
{
    cr_population_entry *entry = entry_of(config);
    if (coming != entry->coming) {
        cr_sup.population.coming += coming ? 1u : UINT32_MAX;
        entry->coming = coming;
    }
}

static const cr_image_pd *image_pd(uint32_t config)
{
    return &cr_image_pds(cr_sys.image)[config];
}

/* Without a timer the budget of a PD is for the whole run and nothing is delayed. */
static uint32_t if_timed(uint32_t ms)
{
    return cr_clock_exists() ? ms : 0;
}

/* 0 for the first time, then `first`, then twice as much each time, up to a limit. However large
 * the count, this takes no more turns than the limit has bits. */
static uint32_t delay_of(uint32_t count, uint32_t first)
{
    uint32_t delay = count > 1 ? first : 0;
    for (uint32_t i = 2; i < count && delay != 0 && delay < CR_RESPAWN_DELAY_MAX_MS; i++) {
        delay *= 2;
    }
    return delay < CR_RESPAWN_DELAY_MAX_MS ? delay : CR_RESPAWN_DELAY_MAX_MS;
}

static void trace_respawn(cr_change change, const char *name, uint32_t count, uint32_t delay)
{
    cr_trace_begin_of(CR_EV_RESPAWN, change);
    cr_trace_string(&cr_sys.trace, name);
    cr_trace_number(&cr_sys.trace, count);
    cr_trace_number(&cr_sys.trace, delay);
    cr_trace_end(&cr_sys.trace);
}

/* A PD was destroyed and the configuration marks it for respawn. */
static void decide(uint32_t index)
{
    const cr_image_pd *config = image_pd(index);
    cr_population_entry *entry = entry_of(index);
    if (entry->window == 0) {
        entry->count = 0;
        const uint32_t window = if_timed(config->respawn_window_ms);
        entry->window = window != 0 ? cr_clock_due(window) : UINT64_MAX;
    }
    if (entry->count == config->respawn_budget) {
        entry->stays_down = 1;
        cr_door_close(index);
        trace_respawn(CR_CHANGE_OVER, config->name, 0, 0);
        return;
    }
    entry->count++;
    set_coming(index, 1);
    uint32_t delay = delay_of(entry->count, if_timed(config->respawn_delay_ms));
    entry->not_before = delay != 0 ? cr_clock_due(delay) : 0;
    trace_respawn(CR_CHANGE_DUE, config->name, entry->count, delay);
}

static int is_doomed(uint32_t config)
{
    const cr_pd *pd = cr_find_configured(config);
    return pd != 0 && cr_is_doomed(pd);
}

/* The same of a PD that a cleanup that waits dooms. What cleanups left counts as gone. */
static int is_doomed_beside(uint32_t config)
{
    const cr_pd *pd = cr_find_configured(config);
    return pd != 0 && cr_cleaner_dooming(pd->node) != 0;
}

/* Whether a doomed PD has a region of the PD, or the other end of a channel. What a plan frees must
 * not be held anew. */
static int shares_with_doomed(uint32_t index)
{
    const cr_image_header *image = cr_sys.image;
    const cr_image_map *maps = cr_image_maps(image);
    for (uint32_t i = 0; i < image->ends.count; i++) {
        if (cr_image_ends(image)[i].pd == index && is_doomed(cr_image_ends(image)[i ^ 1].pd)) {
            return 1;
        }
    }
    for (uint32_t i = 0; i < image->maps.count; i++) {
        for (uint32_t k = 0; maps[i].pd == index && k < image->maps.count; k++) {
            if (maps[k].region == maps[i].region && is_doomed(maps[k].pd)) {
                return 1;
            }
        }
    }
    return 0;
}

/* Whether a PD would have an edge to or from a doomed PD if it were created now. A cleanup that
 * awaits subscribers relies on its doomed PDs staying as they are. A PD capability is not given to
 * a doomed PD, so it does not count if a cleanup left that. */
static int is_tied_to_doomed(uint32_t index)
{
    const cr_image_header *image = cr_sys.image;
    uint32_t handler = image_pd(index)->fault_handler;
    if (!cr_cleaner_waits() && !cr_residue_any()) {
        return 0;
    }
    if ((handler != CR_IMAGE_NONE && is_doomed(handler)) || shares_with_doomed(index)) {
        return 1;
    }
    for (uint32_t i = 0; i < image->links.count; i++) {
        const cr_image_link *link = &cr_image_links(image)[i];
        if ((link->a == index && is_doomed(link->b)) || (link->b == index && is_doomed(link->a))) {
            return 1;
        }
    }
    for (uint32_t i = 0; i < image->holds.count; i++) {
        const cr_image_pd_hold *hold = &cr_image_holds(image)[i];
        if ((hold->pd == index && is_doomed_beside(hold->target)) ||
            (hold->target == index && is_doomed_beside(hold->pd))) {
            return 1;
        }
    }
    return 0;
}

/* The PD that is to be created first, or CR_IMAGE_NONE: the configured fault handler if it comes,
 * and the process of a thread, which does not live without it. */
static uint32_t awaited(uint32_t index)
{
    const uint32_t handler = image_pd(index)->fault_handler;
    const uint32_t process = image_pd(index)->process;
    if (process != CR_IMAGE_NONE && (cr_find_configured(process) == 0 || is_doomed(process))) {
        return process;
    }
    return handler != CR_IMAGE_NONE && entry_of(handler)->coming ? handler : CR_IMAGE_NONE;
}

static void try(uint32_t index)
{
    cr_population_entry *entry = entry_of(index);
    cr_pd *pd = 0;
    cr_result result = cr_make_configured_pd(index, &pd);
    if (result == CR_RESULT_OK) {
        set_coming(index, 0);
        if (entry->count > 0) {
            cr_channels_came_back(index);
        }
        entry->refused = 0;
        entry->tries = 0;
        return;
    }
    entry->tries++;
    /* The second attempt is after the next message: not every refusal lasts. Without a timer the
     * third one is after the next cleanup. */
    entry->refused = entry->tries > 1;
    entry->not_before = entry->tries == 1   ? 0
                        : cr_clock_exists() ? cr_clock_due(delay_of(entry->tries, RETRY_MS))
                                            : UINT64_MAX;
    cr_trace_refuse(&cr_sys.pds[0], CR_OP_SPAWN, result);
}

/* A PD that cannot be created now is tried again later. If there is no memory for it at all,
 * cr_accounts_start says so. */
void cr_population_start(void)
{
    for (uint32_t i = 0; i < cr_sys.image->pds.count; i++) {
        if ((image_pd(i)->flags & CR_IMAGE_LATE) == 0) {
            set_coming(i, 1);
            if (awaited(i) == CR_IMAGE_NONE) {
                try(i);
            }
        }
    }
    cr_doors_connect();
}

/* A cleanup has ended. It may have destroyed PDs, and it has freed room for PDs that were
 * refused. */
static void look_for_missing(void)
{
    if (!cr_sys.respawnable_gone && cr_sup.population.coming == 0) {
        return;
    }
    cr_sys.respawnable_gone = 0;
    for (uint32_t i = 0; i < cr_sys.image->pds.count; i++) {
        cr_population_entry *entry = entry_of(i);
        uint32_t flags = image_pd(i)->flags;
        int begun = (flags & CR_IMAGE_LATE) == 0 || cr_sup.population.late_begun;
        if (entry->refused) {
            entry->not_before = 0;
        }
        if ((flags & CR_IMAGE_RESPAWN) != 0 && begun && !entry->coming && !entry->stays_down &&
            cr_find_configured(i) == 0) {
            decide(i);
        }
    }
}

void cr_population_follow_up(void)
{
    cr_channels_turn();
    if (cr_sup.cleaner.stops) {
        return; /* What was refused before must not come back either. */
    }
    if (cr_sup.population.followed_up != cr_sys.settled) {
        cr_sup.population.followed_up = cr_sys.settled;
        look_for_missing();
    }
    for (uint32_t i = 0; cr_sup.population.coming > 0 && i < cr_sys.image->pds.count; i++) {
        cr_population_entry *entry = entry_of(i);
        if (entry->coming && entry->not_before == 0 && awaited(i) == CR_IMAGE_NONE &&
            !is_tied_to_doomed(i)) {
            try(i);
        }
    }
    cr_doors_connect();
    if (cr_sys.image->ends.count > 0 && !cr_population_pending()) {
        cr_channels_ring();
    }
}

cr_result cr_population_may_cancel(const cr_pd *from, const char *name, uint32_t *config)
{
    uint32_t i = 0;
    while (i < cr_sys.image->pds.count && !cr_text_same(image_pd(i)->name, name)) {
        i++;
    }
    if (i == cr_sys.image->pds.count) {
        return CR_RESULT_NO_SUCH;
    }
    *config = i;
    /* Whoever is given the capability can also terminate the PD until its budget is used up. */
    if (cr_hold_row(from, i) == CR_IMAGE_NONE) {
        return CR_RESULT_DENIED;
    }
    /* The first time that a PD is made is no respawn. */
    return entry_of(i)->coming && entry_of(i)->count > 0 ? CR_RESULT_OK : CR_RESULT_GONE;
}

void cr_population_cancel(uint32_t config)
{
    cr_population_entry *entry = entry_of(config);
    set_coming(config, 0);
    entry->refused = 0;
    entry->tries = 0;
    entry->not_before = 0;
    entry->stays_down = 1;
    cr_door_close(config);
}

int cr_population_begin_late(void)
{
    if (cr_sup.population.late_begun) {
        return 0;
    }
    cr_sup.population.late_begun = 1;
    for (uint32_t i = 0; i < cr_sys.image->pds.count; i++) {
        if ((image_pd(i)->flags & CR_IMAGE_LATE) != 0) {
            set_coming(i, 1);
        }
    }
    return 1;
}

void cr_population_expire(uint64_t now)
{
    for (uint32_t i = 0; i < cr_sys.image->pds.count; i++) {
        cr_population_entry *entry = entry_of(i);
        entry->window = entry->window <= now ? 0 : entry->window;
        entry->not_before = entry->not_before <= now ? 0 : entry->not_before;
    }
}

uint64_t cr_population_next_due(void)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < cr_sys.image->pds.count; i++) {
        next = cr_clock_earlier(next, entry_of(i)->window);
        next = cr_clock_earlier(next, entry_of(i)->not_before);
    }
    return next != UINT64_MAX ? next : 0;
}

int cr_population_pending(void)
{
    for (uint32_t i = 0; cr_sup.population.coming > 0 && i < cr_sys.image->pds.count; i++) {
        uint32_t first = awaited(i);
        if (entry_of(i)->coming && !entry_of(i)->refused &&
            (first == CR_IMAGE_NONE || (entry_of(first)->coming && !entry_of(first)->refused))) {
            return 1;
        }
    }
    return 0;
}
