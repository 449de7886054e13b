/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations on spaces, their resources and the MAP edges between them. See operations.h for the
 * rules of checks. Only the manager may change a space, and MAP edges must never form a circle. */
#include "supervisor.h"
#include "system/charge.h"
#include "system/rows.h"
#include "system/saved.h"
#include "system/text.h"

/* Whether the PD creates a space that the root task made for it, because a saved state has it. */
static int is_saved(const cr_asked *a, cr_ref *space)
{
    return cr_rows_find_named(a->args.name, space) && cr_saved_waits(*space) &&
           cr_manager_of(*space) == a->from;
}

cr_result cr_check_create_space(cr_asked *a)
{
    cr_pd *first = 0;
    cr_ref known;
    if (a->args.has_pd) {
        cr_result result = cr_find_named_pd(a, &first);
        if (result == CR_RESULT_OK && first == a->from) {
            result = CR_RESULT_DENIED; /* A PD cannot be its own client. */
        }
        if (result != CR_RESULT_OK) {
            return result;
        }
    }
    if (cr_model_count(cr_sys.model, CR_EDGE_REQUEST, a->from->node, cr_sys.resspc_space) == 0) {
        return CR_RESULT_DENIED;
    }
    /* A configured name belongs to the PD that the configuration assigns it to. */
    uint32_t configured = cr_find_configured_space(a->args.name);
    if (configured != CR_IMAGE_NONE) {
        const cr_image_space *row = &cr_image_spaces(cr_sys.image)[configured];
        if (row->pd != a->from->config || !cr_text_same(row->type, a->args.type)) {
            return CR_RESULT_DENIED;
        }
    }
    a->found.pd = first;
    if (is_saved(a, &known)) {
        return first != 0 ? cr_can_make_request(a->from, first, known, &a->found.slot)
                          : CR_RESULT_OK;
    }
    if (cr_find_named_space(a->args.name, &known) == CR_RESULT_OK) {
        return CR_RESULT_EXISTS;
    }
    return cr_can_make_space(a->from, a->args.type, a->args.name, first, &a->found.slot);
}

void cr_do_create_space(cr_asked *a)
{
    cr_ref space;
    const int saved = is_saved(a, &space);
    if (saved) {
        a->undone =
            a->found.pd != 0 ? cr_make_request(a->found.pd, space, a->found.slot) : CR_RESULT_OK;
    } else {
        a->undone =
            cr_make_space(a->from, a->args.type, a->args.name, a->found.pd, a->found.slot, &space);
    }
    if (a->undone != CR_RESULT_OK) {
        return;
    }
    if (saved) {
        cr_saved_create(space);
    }
    a->results[0] = cr_number_of(space);
    a->results[1] = a->found.slot;
    a->count = 2;
    cr_connect_wake(a->args.name);
}

cr_result cr_check_delete_space(cr_asked *a)
{
    return cr_find_own_space(a, &a->found.node);
}

void cr_do_delete_space(cr_asked *a)
{
    char about[CR_ID_BYTES];
    cr_node_id(a->found.node, about);
    cr_delete_space(a->from, a->found.node);
    cr_notices_of_losses(a->args.space, 0, about);
}

cr_result cr_check_create_resource(cr_asked *a)
{
    cr_result result = cr_find_own_space(a, &a->found.node);
    return result != CR_RESULT_OK ? result : cr_can_make_resource(a->found.node);
}

void cr_do_create_resource(cr_asked *a)
{
    cr_ref resource;
    a->undone = cr_make_resource(a->found.node, &resource);
    if (a->undone == CR_RESULT_OK) {
        a->results[0] = cr_number_of(resource);
        a->count = 1;
    }
}

cr_result cr_check_delete_resource(cr_asked *a)
{
    return cr_find_own_resource(a, &a->found.node);
}

void cr_do_delete_resource(cr_asked *a)
{
    char about[CR_ID_BYTES];
    cr_node_id(a->found.node, about);
    cr_delete_resource(a->from, a->found.node);
    cr_notices_of_losses(a->args.space, a->args.object, about);
}

static cr_result find_ends(cr_asked *a)
{
    const cr_map_ends ends = {.space = a->args.space,
                              .object = a->args.object,
                              .target_space = a->args.target_space,
                              .target_object = a->args.target_object};
    return cr_find_map_ends(a->from, &ends, &a->found.node, &a->found.target);
}

static int is_mapped(const cr_asked *a)
{
    return cr_model_count(cr_sys.model, CR_EDGE_MAP, a->found.node, a->found.target) > 0;
}

cr_result cr_check_map(cr_asked *a)
{
    cr_result result = find_ends(a);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (cr_is_built_on(a->found.target, a->found.node, 0)) {
        return CR_RESULT_DENIED; /* The edge would close a circle. */
    }
    if (is_mapped(a)) {
        return CR_RESULT_EXISTS;
    }
    return cr_fits(a->from, CR_QUOTA_EDGES, 1, 0);
}

void cr_do_map(cr_asked *a)
{
    a->undone = cr_make_map(a->found.node, a->found.target, 0);
}

cr_result cr_check_unmap(cr_asked *a)
{
    cr_result result = find_ends(a);
    if (result != CR_RESULT_OK) {
        return result;
    }
    return is_mapped(a) ? CR_RESULT_OK : CR_RESULT_NO_SUCH;
}

void cr_do_unmap(cr_asked *a)
{
    cr_must(cr_rows_drop_edge(CR_EDGE_MAP, a->found.node, a->found.target, 0, CR_DROP_ASKED),
            "a map that was found is not there");
}
