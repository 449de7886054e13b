/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The functions that a compiler may call even in a freestanding program. A PD's program links this
 * file too, so it must not use anything of the root task. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int value, size_t count);
int memcmp(const void *a, const void *b, size_t count);
char *strcpy(char *restrict to, const char *restrict from);

/* Memory of any type. volatile, below, prevents the compiler from turning the loops into calls of
 * these functions. */
typedef uint64_t __attribute__((may_alias)) word;

enum { WORD = sizeof(word) };

/* The bytes up to the first aligned word at `address`, at most `count`. */
static size_t bytes_before(const void *address, size_t count)
{
    const size_t bytes = (size_t)(-(uintptr_t)address % WORD);
    return bytes < count ? bytes : count;
}

/* Copies upwards. Words are copied only if both are aligned: not every memory allows others. */
static void copy_up(void *to, const void *from, size_t count)
{
    volatile uint8_t *out = to;
    const volatile uint8_t *in = from;
    size_t i = 0;
    if (((uintptr_t)to ^ (uintptr_t)from) % WORD == 0) {
        for (const size_t first = bytes_before(to, count); i < first; i++) {
            out[i] = in[i];
        }
        for (; count - i >= WORD; i += WORD) {
            *(volatile word *)(volatile void *)&out[i] =
                *(const volatile word *)(const volatile void *)&in[i];
        }
    }
    for (; i < count; i++) {
        out[i] = in[i];
    }
}

void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
    copy_up(to, from, count);
    return to;
}

void *memmove(void *to, const void *from, size_t count)
{
    volatile uint8_t *out = to;
    const volatile uint8_t *in = from;
    if ((uintptr_t)to <= (uintptr_t)from) {
        copy_up(to, from, count);
        return to;
    }
    for (size_t i = count; i > 0; i--) {
        out[i - 1] = in[i - 1];
    }
    return to;
}

void *memset(void *to, int value, size_t count)
{
    volatile uint8_t *out = to;
    const word all = (uint8_t)value * (UINT64_MAX / UINT8_MAX);
    size_t i = 0;
    for (const size_t first = bytes_before(to, count); i < first; i++) {
        out[i] = (uint8_t)value;
    }
    for (; count - i >= WORD; i += WORD) {
        *(volatile word *)(volatile void *)&out[i] = all;
    }
    for (; i < count; i++) {
        out[i] = (uint8_t)value;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t count)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    for (size_t i = 0; i < count; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

/* libsel4 copies the names of threads with strcpy. */
char *strcpy(char *restrict to, const char *restrict from)
{
    volatile char *out = to;
    size_t i = 0;
    do {
        out[i] = from[i];
    } while (from[i++] != '\0');
    return to;
}
