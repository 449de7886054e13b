/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where the root task's large tables are. The kernel's loader maps an image page by page, and each
 * page occupies a slot of the CNode that the kernel makes, which can have as few as 4096. The
 * smallest tables fit into the image. Larger ones are in no segment of it (roottask.ld): the root
 * task maps large pages there when it starts. */
#ifndef CELLREAP_KERNEL_TABLES_H
#define CELLREAP_KERNEL_TABLES_H

#include "kernel.h"

#if CELLREAP_DOUBLINGS > 0
/* In front of the definition of a table, which has no initial value. It must not be touched before
 * cr_tables_init. The compiler knows by ".sbss." that nothing of it is in the file. */
#define CR_TABLE __attribute__((section(".sbss.cr_tables")))
#else
#define CR_TABLE
#endif

/* Makes the memory of the tables. It is zero. Must be called when there are untypeds, and before
 * any table is used. CR_ERR_MEMORY. */
cr_status cr_tables_init(void);

#endif
