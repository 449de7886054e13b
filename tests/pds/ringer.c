/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An end of a ring, or the witness of its receiver. Argument 0:
 *
 * SENDER sends a burst of entries in each round. Each has the number that the ring has for it.
 * RECEIVER notes in memory that the witness has, too, which number it has done before it
 * acknowledges it, and then that it has. It says if it receives what it must not. WITNESS only
 * keeps that memory. At the end, all say how far they came. */
#include <cellreap/client.h>
#include <cellreap/ring.h>

enum { SENDER = 0, RECEIVER = 1, WITNESS = 2 };
enum { PAGE = 4096, BURST = 1000, WAITS = 20 };
enum { DONE = 0, ACKNOWLEDGED = 1, AGAIN = 2, WRONG = 3 }; /* words of the memory */

static volatile uint64_t *const noted =
    (volatile uint64_t *)(uintptr_t)(2ull << CR_REGION_SPAN_BITS);
static cr_ring ring;

static void look_for_peer(void)
{
    if (cr_ring_peer_is_new(&ring)) {
        cr_say_text("the other end is new");
    }
}

static void say(const char *what, uint64_t number)
{
    cr_line line = {0};
    cr_say(cr_put_number(cr_put(&line, what), number));
}

static void send_burst(void)
{
    uint32_t waited = 0;
    for (uint32_t sent = 0; sent < BURST && waited < WAITS;) {
        const uint64_t entry = (uint64_t)ring.index + 1;
        look_for_peer();
        if (cr_ring_send(&ring, &entry) == CR_RING_OK) {
            sent++;
            waited = 0;
        } else {
            seL4_Yield();
            waited++;
        }
    }
}

/* What is done may have been acknowledged without a note of it: then the next one comes. */
static void receive_one(uint64_t number)
{
    const uint64_t done = noted[DONE];
    if (number == done && noted[ACKNOWLEDGED] == done - 1) {
        noted[AGAIN]++;
    } else if (number != done + 1) {
        noted[WRONG]++;
    }
    noted[DONE] = number;
    cr_ring_acknowledge(&ring);
    noted[ACKNOWLEDGED] = number;
}

static void receive_all(void)
{
    uint64_t number;
    for (uint32_t waited = 0; waited < WAITS;) {
        look_for_peer();
        if (cr_ring_receive(&ring, &number) == CR_RING_OK) {
            receive_one(number);
            waited = 0;
        } else {
            seL4_Yield();
            waited++;
        }
    }
}

void cr_main(void)
{
    const uint64_t role = cr_info()->args[0];
    if (role != WITNESS) {
        cr_say_check("open",
                     cr_ring_open(&ring, (void *)(uintptr_t)(1ull << CR_REGION_SPAN_BITS), PAGE, 1,
                                  role == SENDER ? CR_RING_SENDER : CR_RING_RECEIVER),
                     CR_RING_OK);
    }
    while (cr_next_round()) {
        cr_checkpoint();
        if (role == SENDER) {
            send_burst();
        } else if (role == RECEIVER) {
            receive_all();
        }
    }
    if (role == SENDER) {
        say("sent ", ring.index);
    } else if (role == RECEIVER) {
        receive_all();
        say("acknowledged ", ring.index);
    } else {
        say("again ", noted[AGAIN]);
        say("wrong ", noted[WRONG]);
    }
    cr_wait_for_work(0);
}
