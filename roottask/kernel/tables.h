/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The root task's tables, whose numbers of entries the image decides. They are in no segment of the
 * root task's image: when it starts, it maps large pages for them, at an address at which nothing
 * else may be. */
#ifndef CELLREAP_KERNEL_TABLES_H
#define CELLREAP_KERNEL_TABLES_H

#include <cellreap/image.h>
#include <cellreap/limits.h>
#include <cellreap/protocol.h>
#include <cellreap/status.h>
#include <stddef.h>

/* The capabilities to the pages are in the CNode that the kernel gave, which no snapshot
 * (system/truth.h) shows: on aarch64, seL4 stops at one to a large page. */
enum { CR_TABLES_PAGES_MAX = 64 };

/* In the first GiB, for which there is a page directory. Behind the image, the kernel maps what it
 * tells at boot. */
#define CR_TABLES_BEGIN 0x20000000ull
/* Behind them, a large page is mapped while it is filled (system/body.h). */
#define CR_LARGE_WINDOW (CR_TABLES_BEGIN + ((uint64_t)CR_TABLES_PAGES_MAX << CR_LARGE_PAGE_BITS))

/* The numbers of entries. */
extern cr_image_tables cr_most;

/* Sets the numbers of entries. CR_ERR_ARG: a table is too large, or has no entry that the root task
 * cannot do without. */
cr_status cr_tables_size(const cr_image_tables *tables);
/* The bytes that all tables need. */
uint64_t cr_tables_bytes(void);
/* Makes the memory of the tables. It is zero. Must be called when there are untypeds, and before
 * any table is made. CR_ERR_MEMORY. */
cr_status cr_tables_init(void);
/* Stops the system if the tables need more than limits.h says. */
void *cr_table_take(uint64_t count, size_t row);

/* Makes a table. Only for setup. */
#define CR_TABLE_MAKE(table, count) ((table) = cr_table_take(count, sizeof(*(table))))

#endif
