/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Look-up that several checks of operations share. It must not change anything, because checks use
 * it. */
#include "operations.h"

cr_result cr_find_named_pd(const cr_asked *a, cr_pd **out)
{
    cr_result result = cr_find_badged(a->args.pd, CR_BADGE_BODY, out);
    return result == CR_RESULT_OK && cr_is_doomed(*out) ? CR_RESULT_GONE : result;
}

cr_result cr_find_named_or_self(const cr_asked *a, cr_pd **out)
{
    *out = a->from;
    return a->args.has_pd ? cr_find_named_pd(a, out) : CR_RESULT_OK;
}

cr_result cr_find_own_space(const cr_asked *a, cr_ref *out)
{
    cr_result result = cr_find_space(a->args.space, out);
    if (result == CR_RESULT_OK && cr_manager_of(*out) != a->from) {
        result = CR_RESULT_DENIED;
    }
    return result;
}

cr_result cr_find_own_resource(const cr_asked *a, cr_ref *out)
{
    cr_ref space;
    cr_result result = cr_find_own_space(a, &space);
    return result != CR_RESULT_OK ? result : cr_find_resource(a->args.space, a->args.object, out);
}

cr_result cr_find_own_client(const cr_asked *a, cr_pd **out)
{
    cr_request_entry *entry;
    cr_result result = cr_find_request(a->args.badge, &entry);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (cr_manager_of(entry->space) != a->from) {
        return CR_RESULT_DENIED;
    }
    *out = &cr_sys.pds[entry->pd];
    return cr_is_doomed(*out) ? CR_RESULT_GONE : CR_RESULT_OK;
}

uint32_t cr_number_of(cr_ref node)
{
    cr_node_info info;
    cr_must(cr_model_get(cr_sys.model, node, &info), "a node that was found is not there");
    return info.number;
}
