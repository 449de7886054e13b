/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory objects (MO), and the regions of address spaces into which they are mapped (VMR).
 *
 * Each is made of one untyped: a memory object of a CNode and its pages, a region of a CNode with
 * copies of the pages' capabilities, which are mapped, and of page tables, unless the configuration
 * has it made: then the PD's body has them. The CNode's capability is in the slot of the root
 * task's pool that belongs to the resource. So one revoke takes a memory object from all address
 * spaces, or a region from its own, and zeroes nothing that stays. The kernel zeroes an untyped
 * before it is used again.
 *
 * Nothing of a PD's body is retyped from these, and nothing of these from a body. */
#ifndef CELLREAP_SYSTEM_MEMORY_H
#define CELLREAP_SYSTEM_MEMORY_H

#include "system.h"
#include <cellreap/make_steps.h>

enum { CR_MEMORY_ROOT_SLOTS = 1 /* the slot of its untyped; that in the pool is the resource's */ };

/* A memory object or a region that is being made. */
typedef struct cr_new_memory {
    cr_pages pages;
    uint32_t account; /* 0: the configuration has it made */
    uint32_t owner;   /* of the block */
    uint32_t block;
    uint32_t pool_slot; /* of its CNode */
    const cr_pd *pd;    /* whose region it is; 0: it is a memory object */
    uint64_t vaddr;
    uint32_t span; /* of what its own page tables map, log2, at most; 0: it has none */
    int writable;
    int uncached;
    uint32_t slot;        /* of the resource by which its PD may map it; 0: the PD needs none */
    const uint32_t *from; /* the slot of the pool with the CNode of what is mapped */
    uint32_t placed;      /* the slot of the pool with the CNode of cr_memory_place; 0: anywhere */
} cr_new_memory;

/* Memory is made in steps: take, then each step of cr_memory_step in order.
 * cr_body_give_block removes everything from cr_memory_take on. For a region this must come before
 * its address space is destroyed: the kernel finds mappings by the number of the address space,
 * which the next PD gets. */
cr_status cr_memory_take(cr_new_memory *make);
/* Step `at`, from 0. Returns 0 if there is no such step. */
int cr_memory_step(const cr_new_memory *make, uint32_t at, cr_make_step *out);
cr_status cr_memory_apply(const cr_new_memory *make, const cr_make_step *step);
/* Sets the block aside for its owner, if the owner has no such block. Nothing of it must exist. */
cr_status cr_memory_reserve(cr_new_memory *make);

/* Makes a CNode for frames at a fixed physical address, from which a memory object gets copies.
 * *pool_slot: of the CNode, *bits: log2 of its slots. */
cr_status cr_memory_place(cr_pages pages, uint32_t *pool_slot, uint32_t *bits);

/* What a memory object is to contain. */
typedef struct cr_content {
    int clear;            /* it may contain anything */
    int uncached;         /* as a PD has it, who would not see what is in a cache */
    const uint8_t *bytes; /* at its beginning */
    uint32_t count;
    uint32_t epoch;    /* the offset of a word that is incremented, or CR_IMAGE_NONE */
    uint32_t physical; /* the offset of a word for the physical address, or CR_IMAGE_NONE */
} cr_content;

/* `pool_slot`: of its CNode. */
cr_status cr_memory_fill(uint32_t pool_slot, cr_pages pages, const cr_content *content);

/* Does to a device, whose frames are in the CNode of this slot of the pool, what a row of the
 * configuration says. CR_ERR_STATE: it has not become quiet. It can be repeated. */
cr_status cr_memory_quiet(uint32_t pool_slot, uint32_t pages, const cr_image_quiet *row);

/* Whether nobody holds memory and no region maps to it. */
int cr_memory_is_unused(cr_ref resource);
/* Where the block of such a resource is kept. */
uint32_t *cr_memory_block(cr_ref resource);
/* The pages of a memory object, and how many small ones these could be: so quotas count them. */
cr_pages cr_memory_pages(cr_ref object);
uint32_t cr_memory_size(cr_ref object);
/* The memory object that backs a resource, and whether its holders may write there. Returns 0 if
 * there is none. */
int cr_backing_of(cr_ref resource, cr_ref *object, int *writable);
/* How many slots the CNode of such a resource has, log2. Returns 0 if what it maps was taken. */
int cr_memory_cnode_bits(cr_ref resource, uint32_t *bits);
/* Where a region is. Returns 0 if what it maps was taken. */
int cr_region_place(cr_ref region, uint64_t *vaddr, cr_pages *pages);
/* The span of addresses, log2, in which a region that the PD attaches there is alone. */
uint32_t cr_region_span(const cr_pd *pd, uint64_t vaddr);
/* Whether a region of the PD is in one of the spans of these addresses, or one of the configuration
 * was: the body keeps the page tables of those. */
int cr_has_region(const cr_pd *pd, uint64_t vaddr, uint64_t last);

#endif
