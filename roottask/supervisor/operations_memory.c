/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations on memory objects. See operations.h for the rules of checks. RELEASE gives memory and
 * regions back, and SEND gives memory to others (operations_holds.c). */
#include "supervisor.h"
#include "system/charge.h"
#include "system/memory.h"
#include <cellreap/numbers.h>

/* Whether there is room for a resource in a core space, and so many edges for the account. */
static cr_result has_room(const cr_pd *pd, cr_ref space, uint32_t edges)
{
    if (cr_nodes_left() == 0 ||
        !cr_number_left(cr_space_entry_of(space)->next_object, CR_LAST_OBJECT)) {
        return CR_RESULT_FULL;
    }
    const cr_result result = cr_fits(pd, CR_QUOTA_NODES, 1, 0);
    return result == CR_RESULT_OK ? cr_fits(pd, CR_QUOTA_EDGES, edges, 0) : result;
}

static void answer(cr_asked *a, cr_ref space, cr_ref resource)
{
    if (a->undone == CR_RESULT_OK) {
        a->results[0] = cr_number_of(space);
        a->results[1] = cr_number_of(resource);
        a->count = 2;
    }
}

static cr_pages asked_pages(const cr_asked *a)
{
    return (cr_pages){a->args.pages, a->args.large != 0 ? CR_LARGE_PAGE_BITS : CR_PAGE_BITS};
}

cr_result cr_check_allocate(cr_asked *a)
{
    if (cr_model_count(cr_sys.model, CR_EDGE_REQUEST, a->from->node, cr_sys.mo_space) == 0) {
        return CR_RESULT_DENIED;
    }
    if (a->args.pages == 0 || a->args.pages > CR_MEMORY_PAGES_MAX) {
        return CR_RESULT_FAILED;
    }
    const cr_result result = cr_fits(a->from, CR_QUOTA_PAGES,
                                     (uint32_t)(cr_bytes_of(asked_pages(a)) >> CR_PAGE_BITS), 0);
    return result == CR_RESULT_OK ? has_room(a->from, cr_sys.mo_space, 2) : result;
}

void cr_do_allocate(cr_asked *a)
{
    cr_ref object;
    a->undone = cr_make_memory(a->from, asked_pages(a), &object);
    answer(a, cr_sys.mo_space, object);
}

/* Whether the caller holds the memory object with the right that it asks for. */
static int has_right(const cr_asked *a, cr_ref object)
{
    const uint32_t hold = cr_model_find(cr_sys.model, CR_EDGE_HOLD, a->from->node, object);
    return hold != CR_NONE &&
           (a->args.writable == 0 || (cr_sys.edge_entry[hold] & CR_REGION_WRITABLE) != 0);
}

/* Whether the caller may map what it names: a memory object that it holds, or the one that backs a
 * resource of which it has a capability. Finds that memory object, and the slot of the latter. */
static int may_attach(cr_asked *a)
{
    const uint32_t hold = cr_model_find(cr_sys.model, CR_EDGE_HOLD, a->from->node, a->found.node);
    int writable = 0;
    a->found.slot = 0;
    if (hold == CR_NONE || cr_is_region(a->found.node)) {
        return 0;
    }
    if (cr_is_memory(a->found.node)) {
        return has_right(a, a->found.node);
    }
    a->found.slot = cr_sys.edge_entry[hold];
    return a->found.slot != 0 && cr_backing_of(a->found.node, &a->found.node, &writable) &&
           (writable || a->args.writable == 0);
}

cr_result cr_check_attach(cr_asked *a)
{
    const uint64_t vaddr = a->args.address;
    const cr_result result = cr_find_resource(a->args.space, a->args.object, &a->found.node);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (!may_attach(a)) {
        return CR_RESULT_DENIED;
    }
    const cr_pages pages = cr_memory_pages(a->found.node);
    const uint64_t page = 1ull << pages.bits;
    const uint64_t span = vaddr >> CR_REGION_SPAN_BITS;
    const uint64_t last = vaddr + cr_bytes_of(pages) - 1;
    if (vaddr % page != 0 || vaddr < CR_ATTACHED_BEGIN || last >> CR_REGION_SPAN_BITS != span ||
        vaddr >> CR_REGIONS_END_BITS != 0) {
        return CR_RESULT_FAILED;
    }
    if (cr_has_region(a->from, vaddr, last)) {
        return CR_RESULT_EXISTS;
    }
    return has_room(a->from, cr_sys.vmr_space, 3);
}

void cr_do_attach(cr_asked *a)
{
    cr_ref region;
    a->undone = cr_make_region(a->from, a->found.node, a->args.address, a->args.writable != 0,
                               a->found.slot, &region);
    answer(a, cr_sys.vmr_space, region);
}

cr_result cr_check_back(cr_asked *a)
{
    int writable;
    cr_ref known;
    cr_result result = cr_find_own_resource(a, &a->found.node);
    if (result == CR_RESULT_OK) {
        result = cr_find_resource(a->args.target_space, a->args.target_object, &a->found.target);
    }
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (!cr_is_memory(a->found.target) || cr_is_region(a->found.target) ||
        !has_right(a, a->found.target)) {
        return CR_RESULT_DENIED;
    }
    return cr_backing_of(a->found.node, &known, &writable) ? CR_RESULT_EXISTS
                                                           : cr_fits(a->from, CR_QUOTA_EDGES, 1, 0);
}

void cr_do_back(cr_asked *a)
{
    a->undone =
        cr_make_map(a->found.node, a->found.target, a->args.writable != 0 ? CR_REGION_WRITABLE : 0);
}
