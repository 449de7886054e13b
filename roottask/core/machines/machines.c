/* SPDX-License-Identifier: BSD-2-Clause */
#include <cellreap/machines.h>
#include <stdint.h>

/* 1 where the table in machines.h has an edge. */
static const uint8_t life_edges[CR_LIFE_COUNT][CR_LIFE_COUNT] = {
#define CR_LIFE_EDGE(from, to, reason) [from][to] = 1,
    CR_LIFE_EDGES
#undef CR_LIFE_EDGE
};

static const uint8_t wait_edges[CR_WAIT_COUNT][CR_WAIT_COUNT] = {
#define CR_WAIT_EDGE(from, to, reason) [from][to] = 1,
    CR_WAIT_EDGES
#undef CR_WAIT_EDGE
};

static const uint8_t phase_edges[CR_PHASE_COUNT][CR_PHASE_COUNT] = {
#define CR_PHASE_EDGE(from, to, reason) [from][to] = 1,
    CR_PHASE_EDGES
#undef CR_PHASE_EDGE
};

int cr_life_may(cr_life from, cr_life to)
{
    return (uint32_t)from < CR_LIFE_COUNT && (uint32_t)to < CR_LIFE_COUNT && life_edges[from][to];
}

int cr_wait_may(cr_wait from, cr_wait to)
{
    return (uint32_t)from < CR_WAIT_COUNT && (uint32_t)to < CR_WAIT_COUNT && wait_edges[from][to];
}

int cr_phase_may(cr_phase from, cr_phase to)
{
    return (uint32_t)from < CR_PHASE_COUNT && (uint32_t)to < CR_PHASE_COUNT &&
           phase_edges[from][to];
}
