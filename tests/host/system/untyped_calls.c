/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How many kernel calls the blocks of an account cost, one number a line. The kernel refuses
 * nothing, and its calls are counted. */
#define CELLREAP_ROOT_TASK
#include "kernel/tables.h"
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNT = 1, BITS = 20, SPLITS = 3 };
cr_image_tables cr_most = {.pds = 4, .bodies = 16, .pool = 64, .blocks = CR_MAX_BLOCKS};
static uint32_t calls;

#undef CR_TABLE_MAKE
#define CR_TABLE_MAKE(table, count) ((table) = calloc(count, sizeof(*(table))))
#include "kernel/untyped.c"

seL4_IPCBuffer *__sel4_ipc_buffer;

seL4_Error cr_retype(seL4_CPtr untyped, seL4_Word type, seL4_Word bits, uint32_t l1, uint32_t slot,
                     uint32_t count)
{
    (void)untyped, (void)type, (void)bits, (void)l1, (void)slot, (void)count;
    calls++;
    return seL4_NoError;
}

seL4_Error cr_revoke(cr_slot at)
{
    (void)at;
    calls++;
    return seL4_NoError;
}

cr_slot cr_slot_at(seL4_CPtr cptr)
{
    return (cr_slot){0, cptr, 0};
}

seL4_CPtr cr_l1_cnode(void)
{
    return 0;
}

uint32_t cr_cspace_bits(void)
{
    return 0;
}

void cr_objects_revoked(uint32_t block)
{
    (void)block;
}

void cr_panic(const char *what, uint64_t value)
{
    (void)printf("%s %llu\n", what, (unsigned long long)value);
    exit(1);
}

static uint32_t take_block(uint32_t bits, cr_status wanted)
{
    uint32_t taken = CR_BLOCK_NONE;
    calls = 0;
    if (cr_untyped_take(bits, ACCOUNT, &taken) != wanted) {
        (void)printf("another result for 2^%u bytes\n", bits);
        exit(1);
    }
    (void)printf("%u\n", calls);
    return taken;
}

int main(void)
{
    cr_untyped_tables();
    n_boot = n_blocks = 1;
    *at(0) = (block){.bits = BITS, .half = CR_BLOCK_NONE, .state = BLOCK_FREE, .owner = ACCOUNT};
    cr_untyped_let_split(ACCOUNT, SPLITS);
    (void)take_block(BITS - SPLITS - 1, CR_ERR_FULL_NODES);
    cr_untyped_give(take_block(BITS - SPLITS, CR_OK));
    (void)take_block(BITS - SPLITS - 1, CR_ERR_FULL_NODES);
    (void)take_block(BITS, CR_OK);
    return 0;
}
