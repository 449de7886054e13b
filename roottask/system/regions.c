/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The regions of the configuration. See regions.h. */
#include "regions.h"
#include "kernel/devices.h"
#include "kernel/untyped.h"
#include "making.h"
#include "text.h"

static const cr_image_region *region_at(uint32_t region)
{
    return &cr_image_regions(cr_sys.image)[region];
}

static cr_pages pages_of(uint32_t region)
{
    return (cr_pages){region_at(region)->pages, region_at(region)->page_bits};
}

/* The owners of the memory: a number for each memory object, then one for each map. */
static uint32_t owner_of_object(uint32_t region)
{
    return CR_OWNER_MEMORY + region;
}

static uint32_t owner_of_map(uint32_t map)
{
    return CR_OWNER_MEMORY + CR_IMAGE_MAX_REGIONS + map;
}

_Static_assert((int)CR_DEVICES_MAX >= (int)CR_IMAGE_MAX_REGIONS + 2, "and UART and timer");

/* By region of a device, or of memory that has its place: the slot of the pool with the CNode of
 * its frames. Else 0. */
static uint32_t placed[CR_IMAGE_MAX_REGIONS];

static int is_device(const cr_image_region *region)
{
    return region->device != CR_IMAGE_NONE;
}

static uint64_t paddr_of(const cr_image_region *region)
{
    return (uint64_t)(is_device(region) ? region->device : region->place) << CR_PAGE_BITS;
}

void cr_regions_claim(const cr_image_header *image)
{
    for (uint32_t i = 0; i < image->regions.count; i++) {
        const cr_image_region *region = &cr_image_regions(image)[i];
        const cr_pages pages = {region->pages, region->page_bits};
        if (region->place != CR_IMAGE_NONE &&
            cr_untyped_take_at(paddr_of(region), cr_bytes_of(pages)) != CR_OK) {
            cr_panic("the kernel does not give the memory of a region at", paddr_of(region));
        }
    }
}

static void place(const seL4_BootInfo *info, const cr_image_region *region, uint32_t *slot)
{
    const uint64_t paddr = paddr_of(region);
    const cr_pages pages = {region->pages, region->page_bits};
    uint32_t bits = 0;
    cr_status status = cr_memory_place(pages, slot, &bits);
    if (status == CR_OK) {
        status = is_device(region) ? cr_device_frames(info, paddr, pages.count, *slot, bits)
                                   : cr_memory_frames(paddr, pages.count, pages.bits, *slot);
    }
    if (status != CR_OK) {
        cr_panic("the kernel does not give the frames of a region at", paddr);
    }
}

/* The kernel gives the pages of one untyped in ascending order. */
void cr_regions_init(const seL4_BootInfo *info, const cr_image_header *image)
{
    const cr_image_region *regions = cr_image_regions(image);
    for (uint32_t round = 0; round < image->regions.count; round++) {
        uint32_t next = CR_IMAGE_NONE;
        for (uint32_t i = 0; i < image->regions.count; i++) {
            if (placed[i] == 0 && (is_device(&regions[i]) || regions[i].place != CR_IMAGE_NONE) &&
                (next == CR_IMAGE_NONE || paddr_of(&regions[i]) < paddr_of(&regions[next]))) {
                next = i;
            }
        }
        if (next == CR_IMAGE_NONE) {
            return;
        }
        place(info, &regions[next], &placed[next]);
    }
}

static int is_there(cr_ref object)
{
    cr_node_info info;
    return cr_model_get(cr_sys.model, object, &info) == CR_OK && cr_is_memory(object);
}

static const cr_new_part *new_object(uint32_t region)
{
    cr_new_part *part = cr_making_new_object(pages_of(region));
    part->memory.placed = placed[region];
    part->memory.owner = owner_of_object(region);
    part->known = &cr_sys.region_objects[region];
    cr_making_add_part(part);
    return part;
}

/* Whose memory object is made in this chain. 0: nobody's. */
static const cr_new_part *find_new(uint32_t region)
{
    for (uint32_t i = 0; i < cr_now_made.n_parts; i++) {
        if (cr_now_made.parts[i].known == &cr_sys.region_objects[region]) {
            return &cr_now_made.parts[i];
        }
    }
    return 0;
}

static cr_content content_of(const cr_image_region *region, int is_new)
{
    const int fills = is_new || region->after == CR_AFTER_REFILL;
    int uncached = 0;
    for (uint32_t i = 0; i < cr_sys.image->maps.count; i++) {
        const cr_image_map *map = &cr_image_maps(cr_sys.image)[i];
        uncached |= region_at(map->region) == region && map->cached == 0;
    }
    if (is_device(region)) {
        return (cr_content){.uncached = uncached,
                            .clear = region->after == CR_AFTER_ZERO,
                            .epoch = CR_IMAGE_NONE,
                            .physical = CR_IMAGE_NONE};
    }
    return (cr_content){.uncached = uncached,
                        .clear = is_new ? region->place != CR_IMAGE_NONE
                                        : region->after != CR_AFTER_KEEP,
                        .bytes = cr_image_at(cr_sys.image, region->offset),
                        .count = fills ? region->bytes : 0,
                        .epoch = region->epoch,
                        .physical = region->physical};
}

static void add_map(const cr_pd *pd, uint32_t at)
{
    const cr_image_map *map = &cr_image_maps(cr_sys.image)[at];
    const cr_ref known = cr_sys.region_objects[map->region];
    const int is_new = !is_there(known);
    const cr_new_part *object = find_new(map->region);
    if (is_new && object == 0) {
        object = new_object(map->region);
    }
    cr_new_part *part = cr_making_new_region(pd, object, known, (uint64_t)map->page << CR_PAGE_BITS,
                                             map->writable != 0);
    part->memory.owner = owner_of_map(at);
    part->memory.placed = placed[map->region];
    part->memory.uncached = map->cached == 0;
    part->content = content_of(region_at(map->region), is_new);
    cr_making_add_part(part);
    if (part->content.clear || part->content.count > 0 || part->content.epoch != CR_IMAGE_NONE ||
        part->content.physical != CR_IMAGE_NONE) {
        cr_making_add(CR_MAKE_CONTENT, cr_making_of(part));
    }
}

void cr_regions_add(const cr_pd *pd, uint32_t config)
{
    for (uint32_t i = 0; i < cr_sys.image->maps.count; i++) {
        if (cr_image_maps(cr_sys.image)[i].pd == config) {
            add_map(pd, i);
        }
    }
}

cr_body_params cr_body_shape(uint32_t config, uint32_t program, uint32_t cspace_bits)
{
    static cr_body_range ranges[CR_IMAGE_MAX_MAPS];
    const cr_image_program *elf = &cr_image_programs(cr_sys.image)[program];
    const cr_image_pd *pd = config != CR_IMAGE_NONE ? &cr_image_pds(cr_sys.image)[config] : 0;
    cr_body_params out = {.elf = cr_image_elf(cr_sys.image, elf),
                          .elf_bytes = elf->bytes,
                          .cspace_bits = cspace_bits,
                          .stack_pages = pd != 0 ? pd->stack_pages : CR_SPAWNED_STACK_PAGES,
                          .thread = pd != 0 ? pd->thread : 0,
                          .ranges = ranges};
    for (uint32_t i = 0; pd != 0 && i < cr_sys.image->maps.count; i++) {
        const cr_image_map *map = &cr_image_maps(cr_sys.image)[i];
        if (map->pd == config) {
            ranges[out.n_ranges++] = (cr_body_range){.vaddr = (uint64_t)map->page << CR_PAGE_BITS,
                                                     .pages = pages_of(map->region)};
        }
    }
    return out;
}

static int has(const cr_pd *pd, uint32_t region)
{
    int any = 0;
    for (uint32_t i = 0; i < cr_sys.image->maps.count; i++) {
        const cr_image_map *map = &cr_image_maps(cr_sys.image)[i];
        any |= map->pd == pd->config && map->region == region;
    }
    return any;
}

cr_status cr_regions_quiet(cr_pd *pd)
{
    cr_status status = CR_OK;
    for (uint32_t i = 0; status == CR_OK && i < cr_sys.image->quiets.count; i++) {
        const cr_image_quiet *row = &cr_image_quiets(cr_sys.image)[i];
        if (has(pd, row->region)) {
            status = cr_memory_quiet(placed[row->region], region_at(row->region)->pages, row);
        }
    }
    pd->loud = status != CR_OK;
    return status;
}

cr_status cr_regions_reserve(uint32_t config)
{
    static const cr_pd nobody;
    cr_status status = CR_OK;
    for (uint32_t i = 0; status == CR_OK && i < cr_sys.image->maps.count; i++) {
        const cr_image_map *map = &cr_image_maps(cr_sys.image)[i];
        cr_new_memory region = {
            .pages = pages_of(map->region), .owner = owner_of_map(i), .pd = &nobody};
        cr_new_memory object = {.pages = region.pages,
                                .owner = owner_of_object(map->region),
                                .placed = placed[map->region]};
        if (map->pd != config) {
            continue;
        }
        status = cr_memory_reserve(&region);
        if (status == CR_OK && !is_there(cr_sys.region_objects[map->region])) {
            status = cr_memory_reserve(&object);
        }
    }
    return status;
}
