/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes and destroys memory objects and regions. See memory.h. A step that fails may leave
 * something behind that the revocation of the untyped removes: nothing but descendants of that
 * untyped, and what is in its CNode. */
#include "memory.h"
#include "text.h"
#include "kernel/arch/arch.h"
#include "kernel/devices.h"
#include "kernel/untyped.h"

/* string.c */
void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memset(void *to, int value, size_t count);

enum { PAGE = 1 << CR_PAGE_BITS };

/* Finds page table `at` of those that a region has of its own: all within its span of addresses.
 * Large pages are where a table of the last level could be. Returns 0 if there is none. */
static int find_table(const cr_new_memory *make, uint32_t at, uint32_t *level, uint64_t *vaddr)
{
    const uint64_t end = make->vaddr + cr_bytes_of(make->pages);
    uint32_t left = at;
    for (*level = 0; *level < CR_ARCH_TABLE_LEVELS; (*level)++) {
        const uint32_t span = cr_arch_table_span[*level];
        if (span > make->span || span <= make->pages.bits) {
            continue;
        }
        for (*vaddr = make->vaddr >> span << span; *vaddr < end; *vaddr += 1ull << span) {
            if (left-- == 0) {
                return 1;
            }
        }
    }
    return 0;
}

/* Their number. In the CNode the tables come first, then the pages. */
static uint32_t count_tables(const cr_new_memory *make)
{
    uint32_t count = 0;
    uint32_t level;
    uint64_t vaddr;
    while (find_table(make, count, &level, &vaddr)) {
        count++;
    }
    return count;
}

_Static_assert(PAGE *(uint64_t)CR_MEMORY_PAGES_MAX <= 1u << 21, "two tables of the last level");

/* Whether its pages are those of something else: what a region maps, or what has its place. */
static int has_copies(const cr_new_memory *make)
{
    return make->pd != 0 || make->placed != 0;
}

/* The kernel makes no CNode with one slot. */
static uint32_t cnode_bits(const cr_new_memory *make)
{
    const uint32_t bits = cr_bits_for(count_tables(make) + make->pages.count);
    return bits > 0 ? bits : 1;
}

/* A slot of a CNode in the pool. */
static cr_slot slot_in(uint32_t pool_slot, uint32_t slot, uint32_t bits)
{
    return cr_slot_in(cr_cptr(CR_L1_POOL, pool_slot), slot, bits);
}

/* The CNode comes first, then pages of one size, or tables, which are as large as a small page or a
 * multiple of that. */
cr_status cr_memory_take(cr_new_memory *make)
{
    const uint64_t cnode = 1ull << (cnode_bits(make) + seL4_SlotBits);
    const uint64_t first = has_copies(make) ? PAGE : 1ull << make->pages.bits;
    uint64_t bytes = (cnode + first - 1) & ~(first - 1);
    bytes += has_copies(make) ? 0 : cr_bytes_of(make->pages);
    uint32_t level;
    uint64_t vaddr;
    for (uint32_t at = 0; find_table(make, at, &level, &vaddr); at++) {
        bytes += 1ull << cr_arch_table_bits[level];
    }
    return cr_body_take_block(cr_bits_for(bytes), make->owner, &make->block);
}

/* How many calls make the pages of a memory object. */
static uint32_t batches(const cr_new_memory *make)
{
    return (make->pages.count + CONFIG_RETYPE_FAN_OUT_LIMIT - 1) / CONFIG_RETYPE_FAN_OUT_LIMIT;
}

int cr_memory_step(const cr_new_memory *make, uint32_t at, cr_make_step *out)
{
    const uint32_t objects = has_copies(make) ? 1 : 1 + batches(make);
    const uint32_t tables = count_tables(make);
    if (at < objects) {
        *out = (cr_make_step){CR_MAKE_OBJECTS, at};
    } else if (at < objects + tables) {
        *out = (cr_make_step){CR_MAKE_TABLE, at - objects};
    } else {
        *out = (cr_make_step){CR_MAKE_PAGE, 0};
    }
    return at < objects + tables + (has_copies(make) ? 1 : 0);
}

/* The CNode; of a region, it is visible until its pages are mapped. */
static seL4_Error make_cnode(const cr_new_memory *make)
{
    const uint32_t bits = cnode_bits(make);
    const seL4_Error error = cr_retype(cr_untyped_cap(make->block), seL4_CapTableObject, bits,
                                       CR_L1_POOL, make->pool_slot, 1);
    return error || make->pd == 0 ? error : cr_cnode_show(cr_pool_slot(make->pool_slot), bits);
}

static seL4_Error make_objects(const cr_new_memory *make, uint32_t at)
{
    if (at == 0) {
        return make_cnode(make);
    }
    const uint32_t made = (at - 1) * CONFIG_RETYPE_FAN_OUT_LIMIT;
    const uint32_t left = make->pages.count - made;
    return cr_retype_into(cr_untyped_cap(make->block),
                          make->pages.bits == CR_PAGE_BITS ? cr_arch_frame_type
                                                           : cr_arch_large_type,
                          make->pages.bits, cr_pool_slot(make->pool_slot), made,
                          left < CONFIG_RETYPE_FAN_OUT_LIMIT ? left : CONFIG_RETYPE_FAN_OUT_LIMIT);
}

static seL4_CPtr vspace_of(const cr_new_memory *make)
{
    return cr_body_cap(&make->pd->body, CR_BODY_VSPACE);
}

static seL4_Error map_table(const cr_new_memory *make, uint32_t at)
{
    uint32_t level;
    uint64_t vaddr;
    if (!find_table(make, at, &level, &vaddr)) {
        return seL4_RangeError;
    }
    const seL4_Error error = cr_retype(cr_untyped_cap(make->block), cr_arch_table_type[level],
                                       cr_arch_table_bits[level], cr_l1_spare(), at, 1);
    return error ? error
                 : cr_arch_map_table(level, cr_cptr(cr_l1_spare(), at), vspace_of(make), vaddr);
}

static seL4_Error map_page(const cr_new_memory *make, uint32_t i)
{
    const seL4_CPtr page = cr_cptr(cr_l1_spare(), count_tables(make) + i);
    const seL4_Word vaddr = make->vaddr + ((uint64_t)i << make->pages.bits);
    return make->uncached ? cr_arch_map_device(page, vspace_of(make), vaddr, make->writable)
                          : cr_arch_map_frame(page, vspace_of(make), vaddr, make->writable, 0);
}

/* Frames that have their place count for who has them, as if they were made now. */
static seL4_Error copy_pages(const cr_new_memory *make)
{
    const cr_new_memory object = {.pages = make->pages};
    const uint32_t from = make->pd != 0 ? *make->from : make->placed;
    for (uint32_t i = 0; i < make->pages.count; i++) {
        const uint32_t slot = count_tables(make) + i;
        seL4_Error error = cr_copy(slot_in(make->pool_slot, slot, cnode_bits(make)),
                                   slot_in(from, i, cnode_bits(&object)), seL4_AllRights);
        if (!error && make->pd != 0) {
            error = map_page(make, i);
        }
        if (error) {
            return error;
        }
        if (make->pd == 0) {
            cr_objects_add(make->block, make->pages.bits == CR_PAGE_BITS ? CR_OBJECT_FRAME
                                                                         : CR_OBJECT_LARGE_FRAME);
        }
    }
    return make->pd != 0 ? cr_cnode_hide() : seL4_NoError;
}

cr_status cr_memory_apply(const cr_new_memory *make, const cr_make_step *step)
{
    const seL4_Error error = step->kind == CR_MAKE_OBJECTS ? make_objects(make, step->what)
                             : step->kind == CR_MAKE_TABLE ? map_table(make, step->what)
                                                           : copy_pages(make);
    return error ? CR_ERR_MEMORY : CR_OK;
}

cr_status cr_memory_reserve(cr_new_memory *make)
{
    const cr_status status = cr_memory_take(make);
    if (status == CR_OK) {
        cr_untyped_give(make->block);
    }
    return status;
}

/* The capabilities of the memory object itself are mapped nowhere else. */
static seL4_Error fill_page(uint32_t page, uint32_t bits, const cr_content *content)
{
    const uint32_t size = 1u << bits;
    const uint32_t begin = page << bits;
    const uint32_t count = content->count > begin ? content->count - begin : 0;
    const seL4_CPtr frame = cr_cptr(cr_l1_spare(), page);
    const int counts = content->epoch != CR_IMAGE_NONE && content->epoch >> bits == page;
    uint8_t *bytes;
    uint64_t *word;
    uint64_t before;
    seL4_Error error;
    const int tells = content->physical != CR_IMAGE_NONE && content->physical >> bits == page;
    const uint64_t address = tells ? cr_arch_frame_address(frame) - begin : 0;
    if (!content->clear && count == 0 && !counts && !tells) {
        return seL4_NoError;
    }
    error = cr_window_open(frame, bits, content->uncached, &bytes);
    if (error) {
        return error;
    }
    word = (uint64_t *)(void *)&bytes[counts ? content->epoch % size : 0];
    before = *word;
    if (content->clear) {
        (void)memset(bytes, 0, size);
    }
    if (count > 0) {
        (void)memcpy(bytes, &content->bytes[begin], count < size ? count : size);
    }
    if (counts) {
        *word = before + 1;
    }
    if (tells) {
        *(uint64_t *)(void *)&bytes[content->physical % size] = address;
    }
    return cr_window_close();
}

static cr_status quiet(volatile uint32_t *registers, const cr_image_quiet *row)
{
    volatile uint32_t *const at = &registers[row->offset % PAGE / sizeof(uint32_t)];
    if (row->writes != 0) {
        *at = row->value;
    }
    for (uint32_t i = 0; i < row->reads; i++) {
        if ((*at & row->mask) == row->until) {
            return CR_OK;
        }
    }
    return row->reads == 0 ? CR_OK : CR_ERR_STATE;
}

cr_status cr_memory_quiet(uint32_t pool_slot, uint32_t pages, const cr_image_quiet *row)
{
    const cr_new_memory object = {.pages = {pages, CR_PAGE_BITS}};
    const seL4_CPtr frame = cr_cptr(cr_l1_spare(), row->offset / PAGE);
    uint8_t *registers;
    cr_status status = CR_ERR_KERNEL;
    if (cr_cnode_show(cr_pool_slot(pool_slot), cnode_bits(&object))) {
        return CR_ERR_KERNEL;
    }
    if (!cr_window_open(frame, CR_PAGE_BITS, 1, &registers)) {
        status = quiet((volatile uint32_t *)(void *)registers, row);
    }
    return cr_cnode_hide() ? CR_ERR_KERNEL : status;
}

cr_status cr_memory_place(cr_pages pages, uint32_t *pool_slot, uint32_t *bits)
{
    const cr_new_memory object = {.pages = pages};
    uint32_t block;
    *bits = cnode_bits(&object);
    const cr_status status = cr_untyped_take(*bits + seL4_SlotBits, 0, &block);
    if (status == CR_OK) {
        *pool_slot = (uint32_t)cr_pool_make_sized(cr_untyped_cap(block), seL4_CapTableObject, *bits,
                                                  "no place for the frames of a region");
    }
    return status;
}

cr_status cr_memory_fill(uint32_t pool_slot, cr_pages pages, const cr_content *content)
{
    const cr_new_memory object = {.pages = pages};
    seL4_Error error = cr_cnode_show(cr_pool_slot(pool_slot), cnode_bits(&object));
    for (uint32_t i = 0; !error && i < pages.count; i++) {
        error = fill_page(i, pages.bits, content);
    }
    return cr_cnode_hide() || error ? CR_ERR_MEMORY : CR_OK;
}

/* -- what there is */

int cr_memory_is_unused(cr_ref resource)
{
    return cr_model_first(cr_sys.model, resource, CR_EDGE_HOLD, CR_IN) == CR_NONE &&
           cr_model_first(cr_sys.model, resource, CR_EDGE_MAP, CR_IN) == CR_NONE;
}

uint32_t *cr_memory_block(cr_ref resource)
{
    const uint32_t subset = cr_model_first(cr_sys.model, resource, CR_EDGE_SUBSET, CR_OUT);
    if (subset == CR_NONE) {
        cr_panic("memory is not there", resource.index);
    }
    return &cr_sys.edge_entry[subset];
}

cr_pages cr_memory_pages(cr_ref object)
{
    const cr_objects *made = cr_objects_of(*cr_memory_block(object));
    const uint32_t large = (uint32_t)made->of[CR_OBJECT_LARGE_FRAME];
    return large != 0 ? (cr_pages){large, CR_LARGE_PAGE_BITS}
                      : (cr_pages){(uint32_t)made->of[CR_OBJECT_FRAME], CR_PAGE_BITS};
}

uint32_t cr_memory_size(cr_ref object)
{
    return (uint32_t)(cr_bytes_of(cr_memory_pages(object)) / PAGE);
}

int cr_backing_of(cr_ref resource, cr_ref *object, int *writable)
{
    cr_edge_walk maps = cr_model_walk(cr_sys.model, resource, CR_EDGE_MAP, CR_OUT);
    while (cr_model_next(&maps)) {
        if (cr_is_memory(maps.other)) {
            *object = maps.other;
            *writable = (cr_sys.edge_entry[maps.edge] & CR_REGION_WRITABLE) != 0;
            return 1;
        }
    }
    return 0;
}

int cr_region_place(cr_ref region, uint64_t *vaddr, cr_pages *pages)
{
    cr_edge_info info;
    const uint32_t map = cr_model_first(cr_sys.model, region, CR_EDGE_MAP, CR_OUT);
    if (map == CR_NONE || cr_model_edge(cr_sys.model, map, &info) != CR_OK) {
        return 0;
    }
    *vaddr = (uint64_t)(cr_sys.edge_entry[map] >> CR_REGION_PAGE_SHIFT) << CR_PAGE_BITS;
    *pages = cr_memory_pages(info.to);
    return 1;
}

int cr_memory_cnode_bits(cr_ref resource, uint32_t *bits)
{
    uint64_t vaddr;
    cr_pages mapped = {0, 0};
    if (cr_is_region(resource) && !cr_region_place(resource, &vaddr, &mapped)) {
        return 0;
    }
    const cr_objects *own = cr_objects_of(*cr_memory_block(resource));
    *bits = cr_bits_for((uint32_t)(own->of[CR_OBJECT_TABLE] + own->of[CR_OBJECT_FRAME] +
                                   own->of[CR_OBJECT_LARGE_FRAME]) +
                        mapped.count);
    *bits += *bits == 0; /* The kernel makes no CNode with one slot. */
    return 1;
}

/* Also of one PD. */
static int has_same_space(const cr_pd *pd, const cr_pd *other)
{
    const uint32_t process = cr_process_of(pd);
    return other == pd || (process != CR_IMAGE_NONE && cr_process_of(other) == process);
}

/* Whether the configuration gives the PD a region in one of the spans of these addresses. */
static int is_configured(const cr_pd *pd, uint64_t begin, uint64_t end, uint32_t span)
{
    const cr_image_header *image = cr_sys.image;
    for (uint32_t i = 0; pd->config != CR_IMAGE_NONE && i < image->maps.count; i++) {
        const cr_image_map *map = &cr_image_maps(image)[i];
        const cr_image_region *region = &cr_image_regions(image)[map->region];
        const uint64_t first = (uint64_t)map->page << CR_PAGE_BITS;
        const uint64_t last = first + ((uint64_t)region->pages << (region->page_bits & 63u)) - 1;
        if (map->pd == pd->config && first >> span <= end >> span &&
            begin >> span <= last >> span) {
            return 1;
        }
    }
    return 0;
}

/* The body has the page tables of these spans, but for those of the last level. */
uint32_t cr_region_span(const cr_pd *pd, uint64_t vaddr)
{
    int has_tables = vaddr >> CR_REGION_SPAN_BITS == 0;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *other = &cr_sys.pds[i];
        has_tables |= cr_pd_exists(other) && has_same_space(pd, other) &&
                      is_configured(other, vaddr, vaddr, CR_REGION_SPAN_BITS);
    }
    return has_tables ? CR_LARGE_PAGE_BITS : CR_REGION_SPAN_BITS;
}

static int has_region(const cr_pd *pd, uint64_t begin, uint64_t end, uint32_t span)
{
    cr_edge_walk holds = cr_model_walk(cr_sys.model, pd->node, CR_EDGE_HOLD, CR_OUT);
    while (cr_model_next(&holds)) {
        uint64_t first;
        cr_pages pages;
        if (!cr_is_region(holds.other) || !cr_region_place(holds.other, &first, &pages)) {
            continue;
        }
        const uint64_t last = first + cr_bytes_of(pages) - 1;
        if (first >> span <= end >> span && begin >> span <= last >> span) {
            return 1;
        }
    }
    return 0;
}

int cr_has_region(const cr_pd *pd, uint64_t vaddr, uint64_t last)
{
    const uint32_t span = cr_region_span(pd, vaddr);
    int has = 0;
    for (uint32_t i = 1; !has && i < cr_most.pds; i++) {
        const cr_pd *other = &cr_sys.pds[i];
        has = cr_pd_exists(other) && has_same_space(pd, other) &&
              (has_region(other, vaddr, last, span) || is_configured(other, vaddr, last, span));
    }
    return has;
}
