/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel.h"

void print_char(char c)
{
    if (c == '\n') {
        arch_put('\r');
    }
    arch_put(c);
}

void print(const char *text)
{
    for (; *text != '\0'; text++) {
        print_char(*text);
    }
}

void print_hex(word value)
{
    char text[19] = "0x";
    int at = 2;
    for (int shift = 60; shift >= 0; shift -= 4) {
        word digit = (value >> shift) & 15;
        if (digit != 0 || at > 2 || shift == 0) {
            text[at++] = "0123456789abcdef"[digit];
        }
    }
    text[at] = '\0';
    print(text);
}

/* The host recognises a failed kernel by the first words of this line. */
_Noreturn void panic(const char *what, word value)
{
    print("\n========== KERNEL EXCEPTION ==========\nrefkernel: ");
    print(what);
    print(" ");
    print_hex(value);
    print("\n");
    arch_halt();
}

/* The compiler emits calls of these functions. */
void *memset(void *to, int value, size_t bytes);
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);

void *memset(void *to, int value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        ((volatile unsigned char *)to)[i] = (unsigned char)value;
    }
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        ((volatile unsigned char *)to)[i] = ((const unsigned char *)from)[i];
    }
    return to;
}
