/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CONNECT. See connect.h. No PD may wait for a space that cannot be created any more. */
#include "connect.h"
#include "answer.h"
#include "arena.h"
#include "system/rows.h"
#include "system/saved.h"
#include "system/text.h"

cr_result cr_find_named_space(const char *name, cr_ref *out)
{
    return cr_rows_find_named(name, out) && !cr_saved_waits(*out) ? CR_RESULT_OK
                                                                  : CR_RESULT_NO_SUCH;
}

cr_result cr_find_served_space(const char *name, cr_ref *out)
{
    cr_result result = cr_find_named_space(name, out);
    return result == CR_RESULT_OK && cr_server_of(*out) == 0 ? CR_RESULT_NO_SUCH : result;
}

/* Gives a PD its REQUEST to a space, or finds the one that it has. The results are the slot and the
 * number of the space. */
static cr_result connect_now(cr_pd *pd, cr_ref space, uint64_t *results)
{
    uint32_t slot;
    cr_node_info info;
    cr_result result = cr_can_make_request(0, pd, space, &slot);
    if (result == CR_RESULT_OK) {
        /* It may be another PD's operation that ends the wait for the space. */
        const cr_cause_of cause = cr_sys.cause;
        cr_sys.cause = (cr_cause_of){.asker = pd, .op = CR_OP_CONNECT};
        result = cr_make_request(pd, space, slot);
        cr_sys.cause = cause;
    } else if (result == CR_RESULT_EXISTS) {
        result = CR_RESULT_OK; /* The PD may ask again and receives the same slot. */
    }
    if (result == CR_RESULT_OK && cr_model_get(cr_sys.model, space, &info) == CR_OK) {
        results[0] = slot;
        results[1] = info.number;
    }
    return result;
}

/* The configured PD that creates the space of this name, or CR_IMAGE_NONE. */
static uint32_t maker_of(const char *name)
{
    uint32_t space = cr_find_configured_space(name);
    return space != CR_IMAGE_NONE ? cr_image_spaces(cr_sys.image)[space].pd : CR_IMAGE_NONE;
}

/* Whether a configured PD does not exist or is going down. */
static int is_away(const cr_pd *pd)
{
    return pd == 0 || !cr_pd_is_up(pd) || cr_is_doomed(pd);
}

/* Whether a configured PD that does not exist or is going down will be created (again). */
static int will_be_made(uint32_t config)
{
    const cr_population_entry *entry = &cr_sup.population.entries[config];
    uint32_t flags = cr_image_pds(cr_sys.image)[config].flags;
    return entry->coming || ((flags & CR_IMAGE_RESPAWN) != 0 && !entry->stays_down) ||
           ((flags & CR_IMAGE_LATE) != 0 && !cr_sup.population.late_begun);
}

int cr_connect_may_come(const cr_pd *pd)
{
    const char *name = pd->wanted;
    /* Each PD waits for at most one space, so this follows a chain. A chain that is longer than the
     * number of PDs ends in a circle that this PD is not in. */
    for (uint32_t i = 0; i < cr_most.pds; i++) {
        uint32_t config = maker_of(name);
        if (config == CR_IMAGE_NONE) {
            return 0;
        }
        const cr_pd *maker = cr_find_configured(config);
        if (is_away(maker)) {
            return i > 0 || will_be_made(config); /* only the last PD of a chain is told */
        }
        if (maker == pd) {
            return 0;
        }
        if (maker->wait != CR_WAIT_CONNECT) {
            return 1;
        }
        name = maker->wanted;
    }
    return 1; /* one PD of the circle is told, and then this is asked again */
}

cr_pd *cr_connect_last(const cr_pd *pd)
{
    cr_pd *maker = 0;
    for (uint32_t i = 0; pd->wait == CR_WAIT_CONNECT && i < cr_most.pds; i++) {
        uint32_t config = maker_of(pd->wanted);
        maker = config != CR_IMAGE_NONE ? cr_find_configured(config) : 0;
        if (is_away(maker)) {
            return 0;
        }
        pd = maker;
    }
    return maker;
}

int cr_connect_is_on_its_way(const cr_pd *pd)
{
    uint32_t config = maker_of(pd->wanted);
    return config != CR_IMAGE_NONE && is_away(cr_find_configured(config)) && will_be_made(config) &&
           !cr_sup.population.entries[config].refused;
}

void cr_connect_answer(cr_pd *pd)
{
    uint64_t results[2];
    cr_ref space;
    const int there = !cr_is_doomed(pd) && cr_find_served_space(pd->wanted, &space) == CR_RESULT_OK;
    const cr_result result = there ? connect_now(pd, space, results) : CR_RESULT_GONE;
    if (result != CR_RESULT_OK) {
        cr_trace_refuse(pd, CR_OP_CONNECT, result);
    }
    cr_answer_later(pd, &(cr_answer){.op = CR_OP_CONNECT,
                                     .result = result,
                                     .count = result == CR_RESULT_OK ? 2 : 0,
                                     .words = results});
}

static int waits(const cr_pd *pd)
{
    return cr_pd_is_served(pd) && pd->wait == CR_WAIT_CONNECT;
}

void cr_connect_wake(const char *name)
{
    for (uint32_t i = 1; cr_sys.waiting[CR_WAIT_CONNECT] != 0 && i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (waits(pd) && cr_text_same(pd->wanted, name)) {
            cr_connect_answer(pd);
        }
    }
}

void cr_connect_cancel(cr_pd *pd)
{
    cr_trace_refuse(pd, CR_OP_CONNECT, CR_RESULT_CANCELLED);
    cr_answer_later(pd, &(cr_answer){.op = CR_OP_CONNECT, .result = CR_RESULT_CANCELLED});
}

void cr_connect_follow_up(void)
{
    int again = cr_sys.waiting[CR_WAIT_CONNECT] != 0;
    /* A PD that was answered no longer waits, and other PDs may wait for it in turn. The loop runs
     * until nothing changes, and each turn answers one PD. */
    for (uint32_t turn = 0; again && turn < cr_most.pds; turn++) {
        again = 0;
        for (uint32_t i = 1; !again && i < cr_most.pds; i++) {
            cr_pd *pd = &cr_sys.pds[i];
            if (waits(pd) && !cr_connect_may_come(pd)) {
                cr_connect_answer(pd);
                again = 1;
            }
        }
    }
}
