/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The functions of libc/string.h that the compiler does not need (roottask/kernel/string.c has the
 * others). This file must be compiled with the options that CMakeLists.txt gives it: see there. */
#include <stdint.h>
#include <string.h>

void *memchr(const void *in, int value, size_t count)
{
    const uint8_t *bytes = in;
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == (uint8_t)value) {
            return (void *)(uintptr_t)(bytes + i);
        }
    }
    return 0;
}

size_t strlen(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0') {
        length++;
    }
    return length;
}

size_t strnlen(const char *text, size_t most)
{
    size_t length = 0;
    while (length < most && text[length] != '\0') {
        length++;
    }
    return length;
}

int strncmp(const char *a, const char *b, size_t most)
{
    for (size_t i = 0; i < most; i++) {
        uint8_t x = (uint8_t)a[i];
        uint8_t y = (uint8_t)b[i];
        if (x != y || x == 0) {
            return x - y;
        }
    }
    return 0;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

char *strncpy(char *restrict to, const char *restrict from, size_t count)
{
    size_t length = strnlen(from, count);
    for (size_t i = 0; i < count; i++) {
        to[i] = i < length ? from[i] : '\0';
    }
    return to;
}

char *strncat(char *restrict to, const char *restrict from, size_t most)
{
    char *end = to + strlen(to);
    size_t length = strnlen(from, most);
    for (size_t i = 0; i < length; i++) {
        end[i] = from[i];
    }
    end[length] = '\0';
    return to;
}

char *strcat(char *restrict to, const char *restrict from)
{
    return strncat(to, from, SIZE_MAX);
}

char *strchr(const char *text, int letter)
{
    return memchr(text, letter, strlen(text) + 1);
}

char *strrchr(const char *text, int letter)
{
    for (size_t i = strlen(text) + 1; i > 0; i--) {
        if (text[i - 1] == (char)letter) {
            return (char *)(uintptr_t)(text + i - 1);
        }
    }
    return 0;
}

char *strstr(const char *text, const char *wanted)
{
    size_t length = strlen(wanted);
    for (; strnlen(text, length) == length; text++) {
        if (strncmp(text, wanted, length) == 0) {
            return (char *)(uintptr_t)text;
        }
    }
    return 0;
}

static size_t span(const char *text, const char *letters, int in)
{
    size_t length = 0;
    while (text[length] != '\0' && (strchr(letters, text[length]) != 0) == in) {
        length++;
    }
    return length;
}

size_t strspn(const char *text, const char *accepted)
{
    return span(text, accepted, 1);
}

size_t strcspn(const char *text, const char *rejected)
{
    return span(text, rejected, 0);
}
