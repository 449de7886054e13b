/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks the configuration in the image. See text.h. The rest of the root task uses the tables
 * without any check. cr_image_valid must therefore check every offset, count and index, even though
 * the checksum is correct. */
#include "text.h"
#include "body.h"
#include "tombstones.h"
#include <cellreap/limits.h>
#include <cellreap/model.h>
#include <cellreap/policy.h>
#include <cellreap/trace.h>

static int table_fits(const cr_image_header *image, cr_image_table table, size_t row)
{
    return table.offset % 4 == 0 && table.offset >= sizeof(*image) &&
           table.offset <= image->bytes && table.count <= (image->bytes - table.offset) / row;
}

static int ends(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\0') {
            return 1;
        }
    }
    return 0;
}

/* Whether there is an entry for each slot of such a CSpace. */
static int has_slots(uint32_t cspace_bits)
{
    return cspace_bits <= CR_CSPACE_BITS_MAX && cr_most.pds << cspace_bits <= cr_most.slots;
}

/* Of a further thread the process is an earlier PD, and no further thread itself. */
static int thread_fits(const cr_image_header *image, uint32_t index)
{
    const cr_image_pd *pds = cr_image_pds(image);
    const cr_image_pd *pd = &pds[index];
    if (pd->threads < 1 || pd->threads > CR_THREADS_MAX || pd->thread >= pd->threads ||
        (pd->thread == 0) != (pd->process == CR_IMAGE_NONE)) {
        return 0;
    }
    return pd->thread == 0 ||
           (pd->process < index && pds[pd->process].thread == 0 &&
            pds[pd->process].threads == pd->threads && pds[pd->process].program == pd->program);
}

static int pds_fit(const cr_image_header *image)
{
    for (uint32_t i = 0; i < image->pds.count; i++) {
        const cr_image_pd *pd = &cr_image_pds(image)[i];
        if (!ends(pd->name, CR_NAME_BYTES) || pd->program >= image->programs.count ||
            pd->priority < 1 || pd->priority > CR_PRIORITY_MAX || pd->spawn_priority < 1 ||
            pd->spawn_priority > pd->priority || pd->cspace_bits < CR_CSPACE_BITS_MIN ||
            !has_slots(pd->cspace_bits) || pd->budget_us > pd->period_us ||
            (pd->budget_us == 0) != (pd->period_us == 0) || pd->stack_pages < 1 ||
            pd->stack_pages > CR_STACK_PAGES_MAX ||
            pd->respawn_delay_ms > CR_RESPAWN_DELAY_MAX_MS || pd->reader > image->pds.count ||
            (pd->fault_handler != CR_IMAGE_NONE && pd->fault_handler >= i) ||
            !thread_fits(image, i)) {
            return 0;
        }
    }
    return 1;
}

/* Whether the policy is one, and has a threshold if it is about closeness. */
static int policy_fits(const cr_image_header *image)
{
    if (image->policy >= CR_POLICY_COUNT || image->rsi_mins.count > CR_IMAGE_MAX_RSI_MINS) {
        return 0;
    }
    for (uint32_t i = 0; i < image->rsi_mins.count; i++) {
        const cr_image_rsi_min *least = &cr_image_rsi_mins(image)[i];
        if (!ends(least->type, CR_TYPE_BYTES) || least->shared == 0 || least->shared > least->all) {
            return 0;
        }
    }
    if (image->policy != CR_POLICY_DEPTH && cr_most.close != cr_node_entries()) {
        return 0;
    }
    return image->policy == CR_POLICY_DEPTH || image->fr_max != CR_IMAGE_NONE ||
           image->rsi_mins.count != 0;
}

/* Whether a row refers to what it must, and to no later row. */
static int saved_node_fits(const cr_image_header *image, uint32_t index)
{
    const cr_image_saved_node *rows = cr_image_saved_nodes(image);
    const cr_image_saved_node *row = &rows[index];
    if (!ends(row->name, CR_NAME_BYTES) || !ends(row->type, CR_TYPE_BYTES)) {
        return 0;
    }
    switch (row->kind) {
    case CR_SAVED_GONE:
        return row->of < image->programs.count && row->bits >= CR_CSPACE_BITS_MIN &&
               has_slots(row->bits);
    case CR_SAVED_NAMED:
        return row->of < image->pds.count;
    case CR_SAVED_SPACE:
        return row->of < index && rows[row->of].kind <= CR_SAVED_NAMED;
    case CR_SAVED_RESOURCE:
        return row->of < index && rows[row->of].kind == CR_SAVED_SPACE &&
               row->number < rows[row->of].next;
    default:
        return 0;
    }
}

static int is_pd(const cr_image_saved_node *row)
{
    return row->kind == CR_SAVED_GONE || row->kind == CR_SAVED_NAMED;
}

static int saved_edge_fits(const cr_image_header *image, const cr_image_saved_edge *edge)
{
    const cr_image_saved_node *rows = cr_image_saved_nodes(image);
    const uint32_t count = image->saved_nodes.count;
    if (edge->from >= count || edge->to >= count || edge->count == 0 ||
        edge->handler >= (edge->kind == CR_EDGE_SUBSCRIBE ? CR_HANDLER_COUNT : 1)) {
        return 0;
    }
    const cr_image_saved_node *from = &rows[edge->from];
    const cr_image_saved_node *to = &rows[edge->to];
    switch (edge->kind) {
    case CR_EDGE_REQUEST:
        return is_pd(from) && to->kind == CR_SAVED_SPACE && edge->count == 1;
    case CR_EDGE_HOLD:
        return is_pd(from) && to->kind == CR_SAVED_RESOURCE && edge->count <= CR_MAX_COUNT;
    case CR_EDGE_MAP:
        return !is_pd(from) && from->kind == to->kind && edge->count == 1;
    case CR_EDGE_SUBSCRIBE:
        return from->kind == CR_SAVED_NAMED &&
               (to->kind == CR_SAVED_GONE || to->kind == CR_SAVED_SPACE) &&
               edge->count <= CR_MAX_COUNT;
    default:
        return 0;
    }
}

static int saved_fits(const cr_image_header *image)
{
    if (image->saved_nodes.count > cr_most.nodes) {
        return 0;
    }
    for (uint32_t i = 0; i < image->saved_nodes.count; i++) {
        const cr_image_saved_node *row = &cr_image_saved_nodes(image)[i];
        if (!saved_node_fits(image, i)) {
            return 0;
        }
        /* Numbers are given once, in their order. */
        if (i > 0 && (row[-1].kind > row->kind ||
                      (row[-1].kind == row->kind && row->kind != CR_SAVED_NAMED &&
                       (row->kind != CR_SAVED_RESOURCE || row[-1].of == row->of) &&
                       row[-1].number >= row->number))) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < image->saved_edges.count; i++) {
        if (!saved_edge_fits(image, &cr_image_saved_edges(image)[i])) {
            return 0;
        }
    }
    return 1;
}

static int regions_fit(const cr_image_header *image)
{
    if (image->regions.count > CR_IMAGE_MAX_REGIONS) {
        return 0;
    }
    for (uint32_t i = 0; i < image->regions.count; i++) {
        const cr_image_region *region = &cr_image_regions(image)[i];
        const int large = region->page_bits == CR_LARGE_PAGE_BITS;
        const uint64_t bytes = (uint64_t)region->pages << (region->page_bits & 63u);
        if (!ends(region->name, CR_NAME_BYTES) || region->pages == 0 ||
            region->pages > CR_MEMORY_PAGES_MAX || (!large && region->page_bits != CR_PAGE_BITS) ||
            (region->device != CR_IMAGE_NONE &&
             (region->bytes > 0 || large || region->place != CR_IMAGE_NONE)) ||
            (region->place != CR_IMAGE_NONE &&
             ((uint64_t)region->place << CR_PAGE_BITS) % (1ull << (region->page_bits & 63u)) !=
                 0) ||
            region->after >= CR_AFTER_COUNT || region->bytes > bytes ||
            (region->epoch != CR_IMAGE_NONE &&
             (region->epoch % 8 != 0 || region->epoch >= bytes)) ||
            (region->physical != CR_IMAGE_NONE &&
             (region->physical % 8 != 0 || region->physical >= bytes))) {
            return 0;
        }
    }
    if (image->quiets.count > CR_IMAGE_MAX_QUIETS) {
        return 0;
    }
    for (uint32_t i = 0; i < image->quiets.count; i++) {
        const cr_image_quiet *quiet = &cr_image_quiets(image)[i];
        if (quiet->region >= image->regions.count) {
            return 0;
        }
        const cr_image_region *region = &cr_image_regions(image)[quiet->region];
        if (region->device == CR_IMAGE_NONE || quiet->offset % 4 != 0 ||
            quiet->offset >> CR_PAGE_BITS >= region->pages) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < image->maps.count; i++) {
        const cr_image_map *map = &cr_image_maps(image)[i];
        uint32_t maps = 0;
        for (uint32_t k = 0; k <= i; k++) {
            maps += cr_image_maps(image)[k].pd == map->pd;
        }
        if (map->region >= image->regions.count || map->pd >= image->pds.count || map->page == 0 ||
            map->page >> (CR_REGIONS_END_BITS - CR_PAGE_BITS) != 0 || maps > CR_IMAGE_MAX_MAPS) {
            return 0;
        }
        const uint32_t bits = cr_image_regions(image)[map->region].page_bits;
        if (map->page & ((1u << (bits - CR_PAGE_BITS)) - 1)) {
            return 0;
        }
    }
    return 1;
}

/* How many numbers the PD can have for its channels and interrupts. */
static uint32_t ids_of(const cr_image_header *image, uint32_t pd)
{
    return (cr_image_pds(image)[pd].flags & CR_IMAGE_MICROKIT) != 0
               ? (uint32_t)CR_IMAGE_MICROKIT_IDS
               : (uint32_t)CR_IMAGE_MAX_IDS;
}

static int ends_fit(const cr_image_header *image)
{
    const cr_image_channel_end *ends_of = cr_image_ends(image);
    if (image->ends.count > 2 * CR_IMAGE_MAX_CHANNELS || image->ends.count % 2 != 0) {
        return 0;
    }
    for (uint32_t i = 0; i < image->ends.count; i++) {
        const cr_image_channel_end *end = &ends_of[i];
        const int microkit = end->pd < image->pds.count &&
                             (cr_image_pds(image)[end->pd].flags & CR_IMAGE_MICROKIT) != 0;
        const uint32_t most = microkit ? CR_IMAGE_MAX_ENDS : CR_STARTUP_CHANNELS;
        uint32_t of_pd = 0;
        if (!ends(end->name, CR_NAME_BYTES) || end->pd >= image->pds.count ||
            end->id >= ids_of(image, end->pd) || end->pd == ends_of[i ^ 1].pd ||
            (end->slot != 0 && (end->slot < CR_SLOT_FIRST_FREE ||
                                end->slot >> cr_image_pds(image)[end->pd].cspace_bits != 0)) ||
            (end->calls != 0 &&
             (!microkit || end->calls >> cr_image_pds(image)[end->pd].cspace_bits != 0))) {
            return 0;
        }
        for (uint32_t k = 0; k < i; k++) {
            const int same = ends_of[k].pd == end->pd;
            of_pd += same ? 1u : 0u;
            if (same &&
                (ends_of[k].id == end->id || (end->slot != 0 && ends_of[k].slot == end->slot))) {
                return 0;
            }
        }
        if (of_pd >= most) {
            return 0;
        }
    }
    return 1;
}

static int lines_fit(const cr_image_header *image)
{
    if (image->lines.count > CR_IMAGE_MAX_LINES) {
        return 0;
    }
    for (uint32_t i = 0; i < image->lines.count; i++) {
        const cr_image_line *line = &cr_image_lines(image)[i];
        uint32_t of_pd = 0;
        if (line->kind >= CR_LINE_KIND_COUNT || line->pd >= image->pds.count ||
            line->bit >= ids_of(image, line->pd) || line->slot < CR_SLOT_FIRST_FREE ||
            line->slot >> cr_image_pds(image)[line->pd].cspace_bits != 0) {
            return 0;
        }
        for (uint32_t k = 0; k < i; k++) {
            const cr_image_line *other = &cr_image_lines(image)[k];
            of_pd += other->pd == line->pd;
            if (other->pd == line->pd && other->slot == line->slot) {
                return 0;
            }
        }
        if (of_pd >= CR_STARTUP_LINES) {
            return 0;
        }
    }
    return 1;
}

/* A PD for Microkit has the thread of one for Microkit, which has no other parent. */
static int child_fits(const cr_image_header *image, const cr_image_pd_hold *hold)
{
    const cr_image_pd *rows = cr_image_pds(image);
    const uint32_t slot = CR_MICROKIT_SLOT_CHILDREN + hold->child;
    if ((rows[hold->pd].flags & CR_IMAGE_MICROKIT) == 0) {
        return 1;
    }
    for (const cr_image_pd_hold *other = cr_image_holds(image); other != hold; other++) {
        if (other->target == hold->target ||
            (other->pd == hold->pd && other->child == hold->child)) {
            return 0;
        }
    }
    return (rows[hold->target].flags & CR_IMAGE_MICROKIT) != 0 &&
           hold->child < CR_IMAGE_MICROKIT_IDS && slot >> rows[hold->pd].cspace_bits == 0;
}

int cr_image_rows_valid(const cr_image_header *image)
{
    if (cr_tables_size(&image->tables) != CR_OK || image->pds.count >= cr_most.pds ||
        !pds_fit(image) || !policy_fits(image) || !regions_fit(image) || !ends_fit(image) ||
        !lines_fit(image)) {
        return 0;
    }
    uint32_t pds = image->pds.count;
    for (uint32_t i = 0; i < image->programs.count; i++) {
        if (!ends(cr_image_programs(image)[i].name, CR_NAME_BYTES)) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < image->spaces.count; i++) {
        const cr_image_space *space = &cr_image_spaces(image)[i];
        if (!ends(space->name, CR_NAME_BYTES) || !ends(space->type, CR_TYPE_BYTES) ||
            space->pd >= pds) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < image->requests.count; i++) {
        const cr_image_request *request = &cr_image_requests(image)[i];
        if (request->pd >= pds || request->space >= image->spaces.count) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < image->holds.count; i++) {
        const cr_image_pd_hold *hold = &cr_image_holds(image)[i];
        if (hold->pd >= pds || hold->target >= pds || !child_fits(image, hold)) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < image->spawns.count; i++) {
        if (!has_slots(CR_SPAWNED_CSPACE_BITS) || cr_image_spawns(image)[i].pd >= pds ||
            cr_image_spawns(image)[i].program >= image->programs.count) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < image->links.count; i++) {
        if (cr_image_links(image)[i].a >= pds || cr_image_links(image)[i].b >= pds) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < image->trusts.count; i++) {
        if (cr_image_trusts(image)[i].pd >= pds || cr_image_trusts(image)[i].target >= pds) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < image->crashes.count; i++) {
        const cr_image_crash *crash = &cr_image_crashes(image)[i];
        if (crash->pd >= pds || crash->how >= CR_CRASH_COUNT || crash->checkpoint == 0 ||
            crash->repeat == 0 ||
            (crash->how == CR_CRASH_TERMINATE) != (crash->by != CR_IMAGE_NONE) ||
            (crash->by != CR_IMAGE_NONE && crash->by >= pds)) {
            return 0;
        }
    }
    return saved_fits(image);
}

int cr_image_valid(const cr_image_header *image, size_t bytes)
{
    if (bytes < sizeof(*image) || image->magic != CR_IMAGE_MAGIC ||
        image->version != CR_IMAGE_VERSION || image->bytes < sizeof(*image) ||
        image->bytes > bytes ||
        image->crc !=
            cr_crc32(0, (const uint8_t *)image + sizeof(*image), image->bytes - sizeof(*image)) ||
        !ends(image->system, CR_NAME_BYTES) || !ends(image->kernel, CR_NAME_BYTES) ||
        !ends(image->arch, CR_TYPE_BYTES)) {
        return 0;
    }
    if (
#define CR_IMAGE_TABLE(table, row) !table_fits(image, image->table, sizeof(row)) ||
        CR_IMAGE_TABLES
#undef CR_IMAGE_TABLE
        0) {
        return 0;
    }
    for (uint32_t i = 0; i < image->programs.count; i++) {
        const cr_image_program *program = &cr_image_programs(image)[i];
        if (program->offset % 8 != 0 || program->offset > image->bytes ||
            program->bytes > image->bytes - program->offset) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < image->regions.count; i++) {
        const cr_image_region *region = &cr_image_regions(image)[i];
        if (region->offset > image->bytes || region->bytes > image->bytes - region->offset) {
            return 0;
        }
    }
    return cr_image_rows_valid(image);
}
