/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Measures what operations cost that are served, and what those cost that are refused, by the
 * counter of the CPU. Under -icount, ticks stand for instructions. For each kind it prints
 *
 *     KIND served TICKS refused TICKS
 *
 * the fewest ticks of TURNS operations that were served, and the average of TURNS that were refused
 * in a row. */
#include "counter.h"

CR_ASKS_WITHOUT_LIBRARY

enum { TURNS = 100 };

static uint32_t own;     /* a space */
static uint32_t foreign; /* another PD's */
static uint32_t first;   /* a resource of its own */
static uint32_t last;    /* the resource that was made last */

static uint64_t raw(uint64_t label, uint64_t magic)
{
    seL4_SetMR(0, magic);
    seL4_SetMR(1, own);
    return seL4_MessageInfo_get_label(
        seL4_Call(CR_SLOT_ROOT, seL4_MessageInfo_new(label, 0, 0, 2)));
}

static cr_result look(void)
{
    cr_look_state state;
    return cr_look(own, 0, 0, &state);
}

static cr_result bad_magic(void)
{
    return (cr_result)raw(CR_OP_CREATE_RESOURCE, 0x1234);
}

static cr_result bad_operation(void)
{
    return (cr_result)raw(CR_OP_COUNT, CR_PROTOCOL_MAGIC);
}

static cr_result look_nowhere(void)
{
    cr_look_state state;
    return cr_look(own + 77, 0, 0, &state);
}

static cr_result create(void)
{
    return cr_create_resource(own, &last);
}

static cr_result create_nowhere(void)
{
    uint32_t object;
    return cr_create_resource(own + 77, &object);
}

static cr_result create_elsewhere(void)
{
    uint32_t object;
    return cr_create_resource(foreign, &object);
}

static cr_result map(void)
{
    uint32_t object;
    return cr_create_resource(own, &object) == CR_RESULT_OK ? cr_map(own, object, own, first)
                                                            : CR_RESULT_FULL;
}

static cr_result map_in_a_circle(void)
{
    return cr_map(own, first, own, first);
}

static cr_result create_space(void)
{
    static char name[] = "heap00";
    uint32_t space;
    name[5] = (char)(name[5] + 1);
    if (name[5] > '9') {
        name[5] = '0';
        name[4] = (char)(name[4] + 1);
    }
    return cr_create_space("HEAP", name, &space);
}

static cr_result allow(void)
{
    static uint32_t count;
    return cr_allow(foreign, count++ % 2);
}

static cr_result allow_itself(void)
{
    return cr_allow_pd(cr_info()->pd, 1);
}

static cr_result subscribe(void)
{
    static uint32_t count;
    return count++ % 2 == 0 ? cr_subscribe(own, 0) : cr_unsubscribe(own, 0);
}

static cr_result subscribe_elsewhere(void)
{
    return cr_subscribe(1, 0);
}

static void price(const char *kind, cr_result (*served)(void), cr_result (*refused)(void))
{
    uint64_t fewest = UINT64_MAX;
    uint64_t begin;
    for (int i = 0; served != 0 && i < TURNS; i++) {
        begin = counter();
        const cr_result result = served();
        const uint64_t took = counter() - begin;
        if (result != CR_RESULT_OK) {
            cr_exit((uint64_t)result);
        }
        fewest = took < fewest ? took : fewest;
    }
    begin = counter();
    for (int i = 0; i < TURNS; i++) {
        if (refused() == CR_RESULT_OK) {
            cr_exit(100);
        }
    }
    const uint64_t all = counter() - begin;
    cr_line line = {0};
    cr_put(&line, kind);
    cr_put_number(cr_put(&line, " served "), fewest);
    cr_say(cr_put_number(cr_put(&line, " refused "), all / TURNS));
}

/* The fewest ticks of a service until there is no more room, and the average of refusals then. */
static void price_at_quota(const char *kind, cr_result (*make)(void))
{
    uint64_t fewest = UINT64_MAX;
    uint64_t begin;
    for (;;) {
        begin = counter();
        const cr_result result = make();
        const uint64_t took = counter() - begin;
        if (result == CR_RESULT_FULL) {
            break;
        }
        if (result != CR_RESULT_OK) {
            cr_exit((uint64_t)result);
        }
        fewest = took < fewest ? took : fewest;
    }
    begin = counter();
    for (int i = 0; i < TURNS; i++) {
        if (make() != CR_RESULT_FULL) {
            cr_exit(101);
        }
    }
    const uint64_t all = counter() - begin;
    cr_line line = {0};
    cr_put(&line, kind);
    cr_put_number(cr_put(&line, " served "), fewest);
    cr_say(cr_put_number(cr_put(&line, " refused "), all / TURNS));
}

static int note(const cr_work_entry *work)
{
    (void)work;
    return 0;
}

void cr_main(void)
{
    uint32_t slot;
    own = cr_own_space();
    if (cr_connect(cr_info()->requests[0], 1, &slot, &foreign) != CR_RESULT_OK ||
        cr_create_resource(own, &first) != CR_RESULT_OK) {
        cr_exit(1);
    }
    price("a-bad-magic-number", look, bad_magic);
    price("no-operation", look, bad_operation);
    price("an-unknown-space", look, look_nowhere);
    price("a-resource-of-an-unknown-space", create, create_nowhere);
    price("a-resource-of-another's-space", create, create_elsewhere);
    price("a-circle-of-maps", map, map_in_a_circle);
    price("an-allowance-for-itself", allow, allow_itself);
    price("a-subscription-without-an-edge", subscribe, subscribe_elsewhere);
    price_at_quota("a-space-beyond-the-quota", create_space);
    price_at_quota("a-resource-beyond-the-quota", create);
    cr_wait_for_work(note);
}
