/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The planner's memory, and the making of a plan from its three parts: traversal.c, consequences.c,
 * order.c. */
#include "planner.h"

enum { LIMIT = 0x3fffffff };

/* Divides one block of memory into pieces aligned to 8 bytes. Without memory it only measures. */
typedef struct carver {
    unsigned char *memory;
    uint64_t used;
} carver;

static void *carve(carver *c, uint32_t count, size_t size)
{
    void *piece = c->memory != NULL ? c->memory + c->used : NULL;
    c->used += ((uint64_t)count * size + 7) / 8 * 8;
    return piece;
}

/* The only list of the arrays and their lengths. */
static void lay_out(cr_planner *planner, carver *c)
{
    const uint32_t nodes = planner->room[CR_ROOM_NODES];
    const uint32_t losses = planner->room[CR_ROOM_LOSSES];
    const uint32_t order = planner->room[CR_ROOM_ORDER];
    planner->scratch = carve(c, planner->max_nodes, sizeof(cr_scratch));
    planner->found = carve(c, nodes, sizeof(cr_doomed));
    planner->doomed = carve(c, nodes, sizeof(cr_doomed));
    planner->queue = carve(c, nodes, sizeof(uint32_t));
    planner->order = carve(c, nodes + 1, sizeof(cr_order_node));
    planner->core = carve(c, losses, sizeof(uint32_t));
    planner->core_freed = carve(c, losses, sizeof(cr_ref));
    planner->removed_requests = carve(c, losses, sizeof(cr_pair));
    planner->revoked = carve(c, losses, sizeof(cr_pair));
    planner->revoked_spaces = carve(c, losses, sizeof(cr_pair));
    planner->revoked_bodies = carve(c, losses, sizeof(cr_pair));
    planner->broken = carve(c, losses, sizeof(cr_broken));
    planner->pre_destroy = carve(c, losses, sizeof(cr_pair));
    planner->pre_destroy_groups = carve(c, losses, sizeof(uint32_t));
    planner->notices = carve(c, planner->room[CR_ROOM_NOTICES], sizeof(cr_notice));
    planner->before = carve(c, order, sizeof(cr_before));
    planner->succ = carve(c, order, sizeof(uint32_t));
}

static int set_room(cr_planner *planner, uint32_t max_nodes, const cr_plan_room *room)
{
    const uint32_t lengths[CR_ROOM_COUNT] = {
        [CR_ROOM_NODES] = room->nodes < max_nodes ? room->nodes : max_nodes, /* no plan has more */
        [CR_ROOM_ORDER] = room->order,
        [CR_ROOM_LOSSES] = room->losses,
        [CR_ROOM_NOTICES] = room->notices,
    };
    int fits = max_nodes != 0 && max_nodes <= LIMIT;
    for (uint32_t i = 0; i < CR_ROOM_COUNT; i++) {
        fits = fits && lengths[i] != 0 && lengths[i] <= LIMIT;
        planner->room[i] = lengths[i];
    }
    planner->max_nodes = max_nodes;
    return fits;
}

size_t cr_planner_bytes_for(uint32_t max_nodes, const cr_plan_room *room)
{
    cr_planner measured = {.max_nodes = 0};
    carver c = {.memory = NULL, .used = 0};
    if (!set_room(&measured, max_nodes, room)) {
        return 0;
    }
    (void)carve(&c, 1, sizeof(cr_planner));
    lay_out(&measured, &c);
    return c.used <= SIZE_MAX ? (size_t)c.used : 0;
}

size_t cr_planner_bytes(uint32_t max_nodes, uint32_t max_items)
{
    const cr_plan_room room = {max_items, max_items, max_items, max_items};
    return cr_planner_bytes_for(max_nodes, &room);
}

static void clear_scratch(cr_planner *planner)
{
    for (uint32_t i = 0; i < planner->max_nodes; i++) {
        const cr_scratch empty = {.epoch = 0, .local = CR_NONE, .mark = 0, .slot = 0};
        planner->scratch[i] = empty;
    }
}

cr_status cr_planner_init(void *memory, size_t bytes, uint32_t max_nodes, uint32_t max_items,
                          cr_planner **out)
{
    const cr_plan_room room = {max_items, max_items, max_items, max_items};
    return cr_planner_init_for(memory, bytes, max_nodes, &room, out);
}

cr_status cr_planner_init_for(void *memory, size_t bytes, uint32_t max_nodes,
                              const cr_plan_room *room, cr_planner **out)
{
    const size_t needed = cr_planner_bytes_for(max_nodes, room);
    if (memory == NULL || out == NULL || needed == 0) {
        return CR_ERR_ARG;
    }
    if (bytes < needed || (uintptr_t)memory % 8 != 0) {
        return CR_ERR_MEMORY;
    }
    carver c = {.memory = memory, .used = 0};
    cr_planner *planner = carve(&c, 1, sizeof(cr_planner));
    planner->epoch = 0;
    planner->mark = 0;
    (void)set_room(planner, max_nodes, room); /* it was checked above */
    planner->full = CR_ROOM_NODES;
    planner->status = CR_OK;
    planner->model = NULL;
    planner->n_found = 0;
    planner->n_pds = 0;
    planner->n_core = 0;
    planner->n_before = 0;
    planner->n_managed = 0;
    planner->n_subscribed = 0;
    planner->n_stack = 0;
    planner->plan = NULL;
    planner->kind = CR_PLAN_CRASH;
    planner->trigger.index = CR_NONE;
    planner->trigger.generation = 0;
    planner->ordering = 0;
    planner->pd_depth = 0;
    planner->rs_depth = 0;
    planner->close = NULL;
    lay_out(planner, &c);
    clear_scratch(planner);
    *out = planner;
    return CR_OK;
}

cr_plan_room cr_planner_wanted(const cr_planner *planner)
{
    uint32_t lengths[CR_ROOM_COUNT] = {0};
    for (uint32_t i = 0; i < CR_ROOM_COUNT; i++) {
        lengths[i] = planner->room[i];
        if (planner->status == CR_ERR_FULL_PLAN && i == (uint32_t)planner->full) {
            lengths[i] = lengths[i] > LIMIT / 2 ? LIMIT : 2 * lengths[i];
        }
    }
    const cr_plan_room room = {.nodes = lengths[CR_ROOM_NODES],
                               .order = lengths[CR_ROOM_ORDER],
                               .losses = lengths[CR_ROOM_LOSSES],
                               .notices = lengths[CR_ROOM_NOTICES]};
    return room;
}

/* Empties every record. They are cleared only when the numbers are used up, once in four thousand
 * million plans. */
static void next_epoch(cr_planner *planner)
{
    planner->epoch++;
    planner->mark = 0;
    if (planner->epoch == 0) {
        clear_scratch(planner);
        planner->epoch = 1;
    }
}

static cr_status check_trigger(const cr_model *model, cr_ref trigger)
{
    cr_node_info info;
    const cr_status status = cr_model_get(model, trigger, &info);
    if (status != CR_OK) {
        return status;
    }
    if (info.kind != CR_NODE_PD) {
        return CR_ERR_KIND;
    }
    if ((info.flags & CR_FLAG_ROOT) != 0) {
        return CR_ERR_ROOT;
    }
    return info.state == CR_STATE_ACTIVE ? CR_OK : CR_ERR_STATE;
}

/* The arrays of a plan are the planner's. */
static void use_arrays(const cr_planner *planner, cr_plan *plan)
{
    plan->doomed = planner->doomed;
    plan->removed_requests = planner->removed_requests;
    plan->revoked = planner->revoked;
    plan->revoked_spaces = planner->revoked_spaces;
    plan->notices = planner->notices;
    plan->pre_destroy = planner->pre_destroy;
    plan->pre_destroy_groups = planner->pre_destroy_groups;
    plan->core_freed = planner->core_freed;
    plan->revoked_bodies = planner->revoked_bodies;
    plan->broken = planner->broken;
}

/* Begins a plan. It is `plan` until complete() is called. */
static void begin(cr_planner *planner, cr_model *model, cr_plan *plan)
{
    use_arrays(planner, plan);
    next_epoch(planner);
    planner->status = CR_OK;
    planner->model = model;
    planner->plan = plan;
    planner->kind = plan->kind;
    planner->trigger = plan->trigger;
    planner->pd_depth = plan->pd_depth;
    planner->rs_depth = plan->rs_depth;
    planner->ordering = 1;
    planner->n_core = 0;
    planner->n_before = 0;
    planner->n_managed = 0;
    planner->n_subscribed = 0;
    planner->close = NULL;
}

/* Makes the rest of the plan, when the doomed nodes are found. */
static cr_status complete(cr_planner *planner, cr_plan *out)
{
    if (planner->status == CR_OK) {
        cr_find_consequences(planner);
    }
    if (planner->status == CR_OK) {
        cr_find_order(planner);
    }
    if (planner->status == CR_OK) {
        cr_find_subscribers(planner);
    }
    cr_plan plan = *planner->plan;
    planner->plan = NULL;
    planner->close = NULL;
    planner->model = NULL;
    if (planner->status != CR_OK) {
        planner->n_found = 0; /* an incomplete plan dooms nothing */
        return planner->status;
    }
    plan.n_doomed = planner->n_found;
    *out = plan;
    return CR_OK;
}

static int fits(const cr_planner *planner, const cr_model *model)
{
    return cr_model_get_stats(model).max_nodes <= planner->max_nodes;
}

/* close: the policy, or NULL if depth alone decides. */
static cr_status plan_triggers(cr_planner *planner, cr_model *model, const cr_closeness *close,
                               cr_plan *plan, cr_plan *out)
{
    if (!fits(planner, model)) {
        return CR_ERR_ARG;
    }
    const int by_metric = close != NULL && close->policy != CR_POLICY_DEPTH;
    cr_status status = by_metric ? cr_check_closeness(close) : CR_OK;
    if (status == CR_OK) {
        status = check_trigger(model, plan->trigger);
    }
    if (status != CR_OK) {
        return status;
    }
    begin(planner, model, plan);
    planner->n_found = 0;
    planner->n_pds = 0;
    planner->close = by_metric ? close : NULL;
    if (by_metric) {
        cr_begin_closeness(planner, plan->trigger);
    }
    cr_find_doomed(planner, plan->trigger.index, plan->kind == CR_PLAN_SUBTREE, plan->pd_depth,
                   plan->rs_depth);
    return complete(planner, out);
}

cr_status cr_plan_crash(cr_planner *planner, cr_model *model, cr_ref trigger, uint32_t pd_depth,
                        uint32_t rs_depth, cr_plan *out)
{
    return cr_plan_close(planner, model, trigger, pd_depth, rs_depth, NULL, out);
}

cr_status cr_plan_close(cr_planner *planner, cr_model *model, cr_ref trigger, uint32_t pd_depth,
                        uint32_t rs_depth, const cr_closeness *close, cr_plan *out)
{
    cr_plan plan = {
        .kind = CR_PLAN_CRASH, .trigger = trigger, .pd_depth = pd_depth, .rs_depth = rs_depth};
    return plan_triggers(planner, model, close, &plan, out);
}

cr_status cr_plan_subtree(cr_planner *planner, cr_model *model, cr_ref top, uint32_t pd_depth,
                          uint32_t rs_depth, cr_plan *out)
{
    cr_plan plan = {
        .kind = CR_PLAN_SUBTREE, .trigger = top, .pd_depth = pd_depth, .rs_depth = rs_depth};
    return plan_triggers(planner, model, NULL, &plan, out);
}

cr_status cr_plan_collect(cr_planner *planner, cr_model *model, const cr_ref *roots, uint32_t count,
                          cr_plan *out)
{
    cr_plan plan = {.kind = CR_PLAN_COLLECT, .trigger = {CR_NONE, 0}};
    if (!fits(planner, model)) {
        return CR_ERR_ARG;
    }
    begin(planner, model, &plan);
    planner->n_found = 0;
    planner->n_pds = 0;
    cr_find_unreached(planner, roots, count);
    return complete(planner, out);
}

static int is_last_plan(const cr_planner *planner, const cr_plan *plan)
{
    return plan->doomed == planner->doomed && plan->n_doomed == planner->n_found &&
           planner->n_found > 0 && plan->kind == planner->kind &&
           plan->pd_depth == planner->pd_depth && plan->rs_depth == planner->rs_depth &&
           plan->trigger.index == planner->trigger.index &&
           plan->trigger.generation == planner->trigger.generation &&
           (plan->trigger.index == CR_NONE ||
            (plan->trigger.index == planner->found[0].node.index &&
             plan->trigger.generation == planner->found[0].node.generation));
}

cr_status cr_plan_spare(cr_planner *planner, cr_model *model, const cr_ref *roots, uint32_t count,
                        cr_plan *plan)
{
    cr_plan again = {.kind = CR_PLAN_COLLECT, .trigger = {CR_NONE, 0}};
    if (!fits(planner, model) || !is_last_plan(planner, plan) || plan->kind != CR_PLAN_COLLECT) {
        return CR_ERR_ARG;
    }
    begin(planner, model, &again);
    cr_keep_unreached(planner, roots, count);
    return complete(planner, plan);
}

static cr_status check_unnamed(const cr_model *model, cr_ref node)
{
    cr_node_info info;
    const cr_status status = cr_model_get(model, node, &info);
    if (status != CR_OK) {
        return status;
    }
    if (info.kind == CR_NODE_RESOURCE || (info.flags & CR_FLAG_CORE) != 0) {
        return CR_ERR_KIND;
    }
    if ((info.flags & CR_FLAG_ROOT) != 0) {
        return CR_ERR_ROOT;
    }
    return info.state == CR_STATE_ACTIVE ? CR_OK : CR_ERR_STATE;
}

cr_status cr_plan_reconcile(cr_planner *planner, cr_model *model, const cr_ref *unnamed,
                            uint32_t count, cr_plan *out)
{
    cr_plan plan = {.kind = CR_PLAN_RECONCILE, .trigger = {CR_NONE, 0}};
    if (!fits(planner, model)) {
        return CR_ERR_ARG;
    }
    for (uint32_t i = 0; i < count; i++) {
        const cr_status status = check_unnamed(model, unnamed[i]);
        if (status != CR_OK) {
            return status;
        }
    }
    begin(planner, model, &plan);
    planner->n_found = 0;
    planner->n_pds = 0;
    cr_find_unnamed(planner, unnamed, count);
    return complete(planner, out);
}

cr_status cr_plan_again(cr_planner *planner, cr_model *model, cr_plan *plan)
{
    if (cr_model_get_stats(model).max_nodes > planner->max_nodes || !is_last_plan(planner, plan)) {
        return CR_ERR_ARG;
    }
    cr_plan again = *plan;
    again.n_removed_requests = 0;
    again.n_revoked = 0;
    again.n_revoked_spaces = 0;
    again.n_notices = 0;
    again.n_core_freed = 0;
    again.n_revoked_bodies = 0;
    again.n_broken = 0;
    planner->status = CR_OK;
    planner->model = model;
    planner->plan = &again;
    planner->n_core = 0;
    planner->ordering = 0;
    /* The counts about resources are void. A new number empties every record, so the places of the
     * doomed nodes are written again. */
    next_epoch(planner);
    for (uint32_t i = 0; i < planner->n_found; i++) {
        const cr_ref node = planner->found[i].node;
        const cr_node *info = cr_look(planner, node.index);
        if (info->state == CR_STATE_DESTROYED || info->generation != node.generation) {
            cr_fail(planner, CR_ERR_CORRUPT);
        }
        cr_scratch_of(planner, node.index)->local = i;
    }
    cr_find_consequences(planner);
    planner->plan = NULL;
    planner->model = NULL;
    if (planner->status != CR_OK) {
        planner->n_found = 0;
        return planner->status;
    }
    *plan = again;
    return CR_OK;
}

/* Brings the nodes of a kept plan into the order of `found`, by counting. A PD's depth is less than
 * their number, but in a plan without a trigger, where all depths are 1. */
static cr_status find_again(cr_planner *planner, const cr_model *model, const cr_plan *plan,
                            const cr_doomed *doomed)
{
    const uint32_t count = plan->n_doomed;
    planner->n_found = count;
    planner->n_pds = 0;
    for (uint32_t turn = 0; turn <= count; turn++) {
        cr_order_at(planner, turn)->cursor = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        cr_node_info info = {.kind = CR_NODE_FREE};
        if (cr_model_get(model, doomed[i].node, &info) != CR_OK) {
            return CR_ERR_CORRUPT;
        }
        const int is_pd = info.kind == CR_NODE_PD;
        const uint32_t depth = doomed[i].pd_depth < count ? doomed[i].pd_depth : count - 1;
        planner->n_pds += (uint32_t)is_pd;
        planner->queue[i] = is_pd ? depth : count;
        cr_order_at(planner, planner->queue[i])->cursor += doomed[i].why != CR_WHY_TRIGGER;
    }
    uint32_t next = plan->trigger.index != CR_NONE; /* the trigger is the first */
    for (uint32_t turn = 0; turn <= count; turn++) {
        cr_order_node *at = cr_order_at(planner, turn);
        const uint32_t here = at->cursor;
        at->cursor = next;
        next += here;
    }
    for (uint32_t i = 0; i < count && next == count; i++) {
        const int first = doomed[i].why == CR_WHY_TRIGGER;
        *cr_found_at(planner, first ? 0 : cr_order_at(planner, planner->queue[i])->cursor++) =
            doomed[i];
    }
    return next == count ? CR_OK : CR_ERR_CORRUPT;
}

cr_status cr_plan_restore(cr_planner *planner, const cr_model *model, cr_plan *plan,
                          const cr_doomed *doomed, const cr_pair *pre_destroy,
                          const uint32_t *pre_destroy_groups)
{
    if (cr_model_get_stats(model).max_nodes > planner->max_nodes || plan->n_doomed == 0 ||
        plan->n_doomed > planner->room[CR_ROOM_NODES] ||
        plan->n_pre_destroy > planner->room[CR_ROOM_LOSSES]) {
        return CR_ERR_ARG;
    }
    planner->status = CR_OK;
    if (find_again(planner, model, plan, doomed) != CR_OK) {
        planner->n_found = 0;
        return CR_ERR_CORRUPT;
    }
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        planner->doomed[i] = doomed[i];
    }
    for (uint32_t i = 0; i < plan->n_pre_destroy; i++) {
        planner->pre_destroy[i] = pre_destroy[i];
        planner->pre_destroy_groups[i] = pre_destroy_groups[i];
    }
    planner->kind = plan->kind;
    planner->trigger = plan->trigger;
    planner->pd_depth = plan->pd_depth;
    planner->rs_depth = plan->rs_depth;
    use_arrays(planner, plan);
    plan->n_removed_requests = 0;
    plan->n_revoked = 0;
    plan->n_revoked_spaces = 0;
    plan->n_notices = 0;
    plan->n_core_freed = 0;
    plan->n_revoked_bodies = 0;
    plan->n_broken = 0;
    return is_last_plan(planner, plan) ? CR_OK : CR_ERR_CORRUPT;
}

int cr_plan_dooms(const cr_planner *planner, const cr_plan *plan, cr_ref node)
{
    if (node.index >= planner->max_nodes || plan->doomed != planner->doomed) {
        return 0;
    }
    const cr_scratch *scratch = &planner->scratch[node.index];
    return scratch->epoch == planner->epoch && scratch->local < planner->n_found &&
           cr_found_at(planner, scratch->local)->node.generation == node.generation;
}
