/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Arbitrary values for the harnesses in this folder. Frama-C's Eva analyses each harness for all
 * values at once. docs/proof.md says what follows from that. Never compiled. */
#ifndef PROOF_ANY_H
#define PROOF_ANY_H

#include <__fc_builtin.h>
#include <stddef.h>
#include <stdint.h>

static inline uint32_t any(void)
{
    return Frama_C_unsigned_int_interval(0, UINT32_MAX);
}

static inline uint64_t any_64(void)
{
    return Frama_C_unsigned_long_interval(0, UINT64_MAX);
}

static inline uint32_t at_most(uint32_t limit)
{
    return Frama_C_unsigned_int_interval(0, limit);
}

/* Gives all bytes of an object any value. */
#define MAKE_ANY(object) Frama_C_make_unknown((char *)(object), sizeof(*(object)))

#endif
