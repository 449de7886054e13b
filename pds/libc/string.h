/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The functions of C's <string.h> that need no memory allocation and no locale, for programs of
 * PDs. The library for PDs has them, so a program may define its own. */
#ifndef CELLREAP_STRING_H
#define CELLREAP_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int value, size_t count);
int memcmp(const void *a, const void *b, size_t count);
void *memchr(const void *in, int value, size_t count);

size_t strlen(const char *text);
size_t strnlen(const char *text, size_t most);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t most);
char *strcpy(char *restrict to, const char *restrict from);
char *strncpy(char *restrict to, const char *restrict from, size_t count);
char *strcat(char *restrict to, const char *restrict from);
char *strncat(char *restrict to, const char *restrict from, size_t most);
char *strchr(const char *text, int letter);
char *strrchr(const char *text, int letter);
char *strstr(const char *text, const char *wanted);
size_t strspn(const char *text, const char *accepted);
size_t strcspn(const char *text, const char *rejected);

#endif
