/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory that many hold. A PD with a space allocates it, gives it to all PDs whose capabilities it
 * has, and faults when all have mapped it. The others are clients of its space. */
#include <cellreap/client.h>
#include <cellreap/image.h>

enum { PAGES = 256, OBJECTS = 20 };
enum { MAPPED = 0 }; /* the word of the memory that counts who has mapped it */

static uint64_t *const shared = (uint64_t *)(uintptr_t)(1ull << CR_REGION_SPAN_BITS);
static uint32_t space, region_space, region;

static int attach(uint32_t object)
{
    return cr_attach(space, object, (uint64_t)(uintptr_t)shared, 1, &region_space, &region) ==
           CR_RESULT_OK;
}

static void spread(void)
{
    uint32_t object, given;
    (void)cr_own_space();
    cr_say_check("allocate", cr_allocate(PAGES, 0, &space, &object), CR_RESULT_OK);
    cr_say_check("attach", (uint64_t)attach(object), 1);
    for (uint32_t i = 0; i < cr_info()->n_pds; i++) {
        cr_result result;
        do {
            seL4_Yield();
            result = cr_send(space, object, cr_info()->pds[i].slot, 0, &given);
        } while (result == CR_RESULT_UNWANTED);
        cr_say_check("send", result, CR_RESULT_OK);
    }
    while (__atomic_load_n(&shared[MAPPED], __ATOMIC_SEQ_CST) < cr_info()->n_pds) {
        seL4_Yield();
    }
    cr_crash(CR_CRASH_PAGE_FAULT);
}

static void take(void)
{
    uint32_t slot, theirs, own;
    cr_say_check("connect", cr_connect(cr_info()->requests[0], 1, &slot, &theirs), CR_RESULT_OK);
    cr_say_check("allow", cr_allow(theirs, 1), CR_RESULT_OK);
    cr_say_check("allocate", cr_allocate(1, 0, &space, &own), CR_RESULT_OK);
    for (uint32_t at = 1; at == own || !attach(at); at = at % OBJECTS + 1) {
        seL4_Yield();
    }
    (void)__atomic_fetch_add(&shared[MAPPED], 1, __ATOMIC_SEQ_CST);
    cr_wait_for_work(0);
}

void cr_main(void)
{
    if (cr_info()->n_spaces > 0) {
        spread();
    } else {
        take();
    }
}
