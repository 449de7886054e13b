/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Both ends of a ring (pds/ring.c) for test_ring.py. An end can die before any access to the shared
 * memory, or something else can happen there. */
#include <setjmp.h>
#include <stdint.h>

static void instant(void);
#define CR_RING_INSTANT() instant()
#include "ring.c" /* of the folder that the test says */

enum act { SEND, RECEIVE, ACKNOWLEDGE, ASK };
enum { DIED = -1, CALM = -1 };

static jmp_buf dead;
static int accesses_left = CALM;
static void (*happens)(void);

static void instant(void)
{
    if (accesses_left == CALM || accesses_left-- > 0) {
        return;
    }
    void (*const what)(void) = happens;
    accesses_left = CALM;
    if (what == 0) {
        longjmp(dead, 1);
    }
    what();
}

/* Returns the status, or whether the peer is new, or DIED. `what` happens before access `at` of the
 * operation; without it the end dies there. `at` is CALM, or there may be fewer accesses: neither
 * is so. */
int ring_act(cr_ring *ring, int act, uint64_t *entry, int at, void (*what)(void))
{
    accesses_left = at;
    happens = what;
    if (setjmp(dead) != 0) {
        return DIED;
    }
    int result = CR_RING_OK;
    switch (act) {
    case SEND:
        result = (int)cr_ring_send(ring, entry);
        break;
    case RECEIVE:
        result = (int)cr_ring_receive(ring, entry);
        break;
    case ACKNOWLEDGE:
        cr_ring_acknowledge(ring);
        break;
    case ASK:
        result = cr_ring_peer_is_new(ring);
        break;
    }
    accesses_left = CALM;
    return result;
}
