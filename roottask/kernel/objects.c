/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Counts kernel objects. See objects.h. */
#include "objects.h"
#include "arch/arch.h"
#include "untyped.h"

cr_objects cr_objects_used;

/* Of what is made before there are tables, nothing is ever revoked. */
static cr_objects *of_blocks;

void cr_objects_tables(void)
{
    CR_TABLE_MAKE(of_blocks, cr_most.blocks);
}

/* Keeps the number of a block inside the table (docs/proof.md). */
static cr_objects *of_block(uint32_t block)
{
    return &of_blocks[block & (cr_most.blocks - 1)];
}

/* CR_OBJECT_COUNT: the type is not counted here. Address spaces may have the type of tables. */
static cr_object kind_of(seL4_Word type)
{
    for (uint32_t level = 0; level < CR_ARCH_TABLE_LEVELS; level++) {
        if (type == cr_arch_table_type[level]) {
            return CR_OBJECT_TABLE;
        }
    }
    return type == cr_arch_frame_type           ? CR_OBJECT_FRAME
           : type == cr_arch_large_type         ? CR_OBJECT_LARGE_FRAME
           : type == seL4_TCBObject             ? CR_OBJECT_THREAD
           : type == seL4_EndpointObject        ? CR_OBJECT_ENDPOINT
           : type == seL4_NotificationObject    ? CR_OBJECT_NOTIFICATION
           : type == seL4_CapTableObject        ? CR_OBJECT_CNODE
           : type == (seL4_Word)CR_SC_OBJECT    ? CR_OBJECT_SCHED_CONTEXT
           : type == (seL4_Word)CR_REPLY_OBJECT ? CR_OBJECT_REPLY
                                                : CR_OBJECT_COUNT;
}

static void add(uint32_t block, cr_object kind, uint32_t count)
{
    cr_objects_used.of[kind] += count;
    if (block != CR_BLOCK_NONE && of_blocks != 0) {
        of_block(block)->of[kind] += count;
    }
}

void cr_objects_retyped(seL4_CPtr untyped, seL4_Word type, uint32_t count)
{
    const cr_object kind = kind_of(type);
    if (kind != CR_OBJECT_COUNT) {
        add(cr_untyped_find(untyped), kind, count);
    }
}

void cr_objects_add(uint32_t block, cr_object kind)
{
    add(block, kind, 1);
}

void cr_objects_remove(uint32_t block, cr_object kind)
{
    cr_objects_used.of[kind] -= of_block(block)->of[kind];
    of_block(block)->of[kind] = 0;
}

void cr_objects_revoked(uint32_t block)
{
    for (uint32_t kind = 0; kind < CR_OBJECT_COUNT; kind++) {
        cr_objects_remove(block, (cr_object)kind);
    }
}

const cr_objects *cr_objects_of(uint32_t block)
{
    return of_block(block);
}
