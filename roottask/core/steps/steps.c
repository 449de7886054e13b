/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal.h"

static const char *const names[] = {
#define CR_STEP(enumerator, number, name, ...) [enumerator] = name,
    CR_STEPS
#undef CR_STEP
};

static const cr_ref nothing = {CR_NONE, 0};

const char *cr_step_name(cr_step_kind kind)
{
    return kind < CR_STEP_KIND_COUNT ? names[kind] : "?";
}

static uint32_t phase_length(uint32_t at, const cr_plan *plan)
{
    switch ((cr_chain_phase)at) {
    case PHASE_SUSPEND_FIRST:
    case PHASE_MARK:
    case PHASE_SUSPEND_REST:
    case PHASE_DESTROY:
        return plan->n_doomed;
    case PHASE_TELL:
        return plan->n_pre_destroy;
    case PHASE_CORE:
        return plan->n_core_freed;
    case PHASE_NOTIFY:
        return plan->n_notices;
    case PHASE_SETTLE:
    case PHASE_COUNT:
        break;
    }
    return 0;
}

/* The number of resources that one step destroys in a doomed space that still has some, if nothing
 * was left. */
static cr_status count_resources(const cr_model *model, cr_ref space, uint32_t *count)
{
    cr_node_info info;
    cr_node_info manager;
    *count = 1;
    cr_status status = cr_model_get(model, space, &info);
    if (status != CR_OK || cr_model_get(model, info.manager, &manager) != CR_OK ||
        manager.state == CR_STATE_ACTIVE ||
        cr_model_subscriptions(model, info.manager, info.manager, CR_HANDLER_DESTRUCTOR) > 0) {
        return status; /* The manager may run. */
    }
    uint32_t member = cr_model_first(model, space, CR_EDGE_SUBSET, CR_IN);
    while (*count < CR_STEP_AT_ONCE &&
           (member = cr_model_next(model, member, space, CR_IN)) != CR_NONE) {
        ++*count;
    }
    return CR_OK;
}

/* The next step for a doomed node that is not yet destroyed. */
static cr_status destroy_step(const cr_model *model, cr_ref node, const cr_node_info *info,
                              int one_by_one, cr_step *out)
{
    cr_edge_info edge = {0};
    if (info->kind == CR_NODE_PD) {
        uint32_t body = cr_model_first(model, node, CR_EDGE_BODY, CR_OUT);
        if (body != CR_NONE) {
            cr_status status = cr_model_edge(model, body, &edge);
            *out = (cr_step){CR_STEP_DESTROY_RESOURCE, edge.to, nothing, 0, 1};
            return status;
        }
        *out = (cr_step){CR_STEP_DESTROY_PD, node, node, 0, 1};
        return CR_OK;
    }
    uint32_t request = cr_model_first(model, node, CR_EDGE_REQUEST, CR_IN);
    if (request != CR_NONE) {
        cr_status status = cr_model_edge(model, request, &edge);
        *out = (cr_step){CR_STEP_CUT_REQUEST, node, edge.from, 0, 1};
        return status;
    }
    uint32_t member = cr_model_first(model, node, CR_EDGE_SUBSET, CR_IN);
    if (member != CR_NONE) {
        cr_status status = cr_model_edge(model, member, &edge);
        *out = (cr_step){CR_STEP_DESTROY_RESOURCE, edge.from, nothing, 0, 1};
        return status != CR_OK || one_by_one ? status
                                             : count_resources(model, node, &out->count);
    }
    *out = (cr_step){CR_STEP_DESTROY_SPACE, node, nothing, 0, 1};
    return CR_OK;
}

uint32_t cr_step_notices(const cr_plan *plan, uint32_t at)
{
    const cr_ref to = plan->notices[at].to;
    uint32_t end = at + 1;
    while (end < plan->n_notices && end - at < CR_STEP_AT_ONCE &&
           is_same(plan->notices[end].to, to)) {
        end++;
    }
    return end - at;
}

static int remains(const cr_model *model, cr_ref node)
{
    cr_node_info info;
    return cr_model_get(model, node, &info) == CR_OK && info.state != CR_STATE_DESTROYED;
}

/* Whether something was left, so that an entry may have to wait, or is passed. */
static int has_left(const cr_journal *journal)
{
    return journal->n_kept != 0 || journal->n_left != 0 || journal->second != 0;
}

/* Whether time has passed since the consequences were planned. */
static int is_later(const cr_journal *journal)
{
    return has_left(journal) || journal->told != 0;
}

static int is_doomed_in(const cr_plan *plan, cr_ref node)
{
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        if (plan->doomed[i].node.index == node.index &&
            plan->doomed[i].node.generation == node.generation) {
            return 1;
        }
    }
    return 0;
}

/* Whether a PD holds the resource that the plan dooms, or one that no cleanup dooms. The root task
 * is not counted. */
static int is_held(const cr_model *model, const cr_plan *plan, cr_ref resource, int doomed)
{
    cr_edge_info edge;
    cr_node_info holder;
    for (uint32_t hold = cr_model_first(model, resource, CR_EDGE_HOLD, CR_IN); hold != CR_NONE;
         hold = cr_model_next(model, hold, resource, CR_IN)) {
        if (cr_model_edge(model, hold, &edge) == CR_OK &&
            cr_model_get(model, edge.from, &holder) == CR_OK &&
            (holder.flags & CR_FLAG_ROOT) == 0 &&
            (doomed ? is_doomed_in(plan, edge.from) : holder.state == CR_STATE_ACTIVE)) {
            return 1;
        }
    }
    return 0;
}

/* The step for the entry at the cursor. *needed: 0 if the entry needs no step. */
static cr_status entry_step(const cr_journal *journal, const cr_plan *plan, const cr_model *model,
                            cr_step *out, int *needed)
{
    cr_node_info info;
    cr_status status;
    *needed = 0;
    switch ((cr_chain_phase)journal->phase) {
    case PHASE_SUSPEND_FIRST:
    case PHASE_SUSPEND_REST: {
        const cr_doomed *doomed = &plan->doomed[journal->index];
        status = cr_model_get(model, doomed->node, &info);
        int first = doomed->pd_depth == 0;
        *needed = status == CR_OK && info.kind == CR_NODE_PD &&
                  first == (journal->phase == PHASE_SUSPEND_FIRST) &&
                  (journal->later != 0 || !doomed->destructor);
        *out = (cr_step){CR_STEP_SUSPEND, nothing, doomed->node, 0, 1};
        return status;
    }
    case PHASE_MARK: {
        cr_ref node = plan->doomed[journal->index].node;
        status = cr_model_get(model, node, &info);
        *needed = status == CR_OK && info.state == CR_STATE_ACTIVE;
        *out = (cr_step){CR_STEP_MARK, node, nothing, 0, 1};
        return status;
    }
    case PHASE_DESTROY: {
        cr_ref node = plan->doomed[journal->index].node;
        status = cr_model_get(model, node, &info);
        if (status != CR_OK || info.state == CR_STATE_DESTROYED) {
            return status;
        }
        *needed = 1;
        return destroy_step(model, node, &info, has_left(journal), out);
    }
    case PHASE_TELL: {
        const cr_pair *entry = &plan->pre_destroy[journal->index];
        cr_node_info subscriber;
        if ((status = cr_model_get(model, entry->node, &info)) != CR_OK ||
            (status = cr_model_get(model, entry->pd, &subscriber)) != CR_OK) {
            return status;
        }
        *needed = info.state != CR_STATE_DESTROYED && subscriber.state != CR_STATE_DESTROYED;
        *out = (cr_step){CR_STEP_TELL, entry->node, entry->pd, 0, 1};
        return CR_OK;
    }
    case PHASE_CORE: {
        cr_ref node = plan->core_freed[journal->index];
        status = cr_model_get(model, node, &info);
        /* A PD may have been given it anew. Then it is not to be freed. */
        *needed = status == CR_OK && info.state != CR_STATE_DESTROYED &&
                  !(is_later(journal) && is_held(model, plan, node, 0));
        *out = (cr_step){CR_STEP_DESTROY_RESOURCE, node, nothing, 0, 1};
        /* If the step is repeated, the tombstone may already be released. */
        return status == CR_ERR_STALE ? CR_OK : status;
    }
    case PHASE_NOTIFY: {
        const cr_notice *notice = &plan->notices[journal->index];
        /* Another cleanup may have destroyed the receiver, and the receiver may have deleted what a
         * destroyed PD had. */
        *needed = remains(model, notice->to) &&
                  (notice->from.index == CR_NONE || remains(model, notice->node));
        *out = (cr_step){CR_STEP_NOTIFY, notice->node, notice->to, notice,
                         is_later(journal) ? 1 : cr_step_notices(plan, journal->index)};
        return CR_OK;
    }
    case PHASE_SETTLE:
    case PHASE_COUNT:
        break;
    }
    return CR_ERR_CORRUPT;
}

/* Moves *at to the next doomed PD with a destructor, which it returns, or to `end`: 0. */
static const cr_doomed *next_before(uint32_t *at, uint32_t end, const cr_plan *plan)
{
    uint32_t i = *at;
    while (i < end && i < plan->n_doomed && !plan->doomed[i].destructor) {
        i++;
    }
    *at = i;
    return i < end && i < plan->n_doomed ? &plan->doomed[i] : 0;
}

/* The turn of the destructors of the group at the cursor: all are told, then awaited, then
 * suspended. Returns 0 if it is over. */
static int turn_step(cr_journal *journal, const cr_plan *plan, cr_step *out)
{
    const uint32_t group = plan->doomed[journal->index].group;
    uint32_t end = journal->index < journal->stopped ? journal->stopped : journal->index;
    if (plan->n_destructors == 0) {
        return 0;
    }
    while (end < plan->n_doomed && plan->doomed[end].group == group) {
        end++;
    }
    const cr_doomed *next;
    if ((next = next_before(&journal->told, end, plan)) != 0) {
        *out = (cr_step){CR_STEP_TELL, next->node, next->node, 0, 1};
    } else if (next_before(&journal->had, end, plan) != 0) {
        *out = (cr_step){CR_STEP_AWAIT, nothing, nothing, 0, 1};
    } else if ((next = next_before(&journal->stopped, end, plan)) != 0) {
        *out = (cr_step){CR_STEP_SUSPEND, nothing, next->node, 0, 1};
    } else {
        return 0;
    }
    return 1;
}

/* Whether the cursor is behind the last entry of a group whose answers were not yet awaited. */
static int group_is_told(const cr_journal *journal, const cr_plan *plan)
{
    const uint32_t at = journal->index;
    return journal->phase == PHASE_TELL && at > journal->awaited &&
           (at >= plan->n_pre_destroy ||
            plan->pre_destroy_groups[at] != plan->pre_destroy_groups[at - 1]);
}

/* The step that has begun. */
static cr_status begun(const cr_journal *journal, const cr_plan *plan, cr_step *out)
{
    const uint32_t kind = journal->kind;
    const int notifies = kind == (uint32_t)CR_STEP_NOTIFY;
    *out = (cr_step){CR_STEP_SETTLE, nothing, nothing, 0, 1};
    if (kind >= CR_STEP_KIND_COUNT || journal->count == 0 || journal->count > CR_STEP_AT_ONCE ||
        (notifies && (journal->index >= plan->n_notices ||
                      journal->count > plan->n_notices - journal->index))) {
        return CR_ERR_CORRUPT;
    }
    *out = (cr_step){(cr_step_kind)kind, journal->node, journal->pd,
                     notifies ? &plan->notices[journal->index] : 0, journal->count};
    return CR_OK;
}

/* Whether the entry at the cursor depends on another one that was left: a node on its suspending
 * and marking, a PD on its spaces, a core resource on its holders, and a notice on the node that it
 * says is gone. */
static int must_wait(const cr_journal *journal, const cr_plan *plan, const cr_model *model)
{
    const uint32_t at = journal->index;
    if (!has_left(journal)) {
        return 0;
    }
    switch ((cr_chain_phase)journal->phase) {
    case PHASE_DESTROY:
        return cr_journal_entry(journal, CR_LEFT_SUSPEND, at) != CR_ENTRY_CLEAR ||
               cr_journal_entry(journal, CR_LEFT_MARK, at) != CR_ENTRY_CLEAR ||
               cr_model_first(model, plan->doomed[at].node, CR_EDGE_MANAGE, CR_OUT) != CR_NONE;
    case PHASE_CORE:
        return is_held(model, plan, plan->core_freed[at], 1);
    case PHASE_NOTIFY: {
        const cr_notice *notice = &plan->notices[at];
        return remains(model, notice->to) &&
               remains(model, notice->from.index != CR_NONE ? notice->from : notice->node);
    }
    case PHASE_SUSPEND_FIRST:
    case PHASE_MARK:
    case PHASE_TELL:
    case PHASE_SUSPEND_REST:
    case PHASE_SETTLE:
    case PHASE_COUNT:
        break;
    }
    return 0;
}

/* Whether a run over what was left passes the entry at the cursor. */
static int is_passed(const cr_journal *journal, const cr_plan *plan)
{
    const cr_left_area area = cr_journal_area(journal->phase);
    const uint32_t at = journal->index;
    if (journal->second == 0) {
        return 0;
    }
    return cr_journal_entry(journal, area, at) != CR_ENTRY_LEFT ||
           (area == CR_LEFT_SUSPEND && (plan->doomed[at].pd_depth == 0) !=
                                           (journal->phase == PHASE_SUSPEND_FIRST));
}

/* Moves the cursor to the next entry that needs a step, and returns the step. */
static cr_status at_cursor(cr_journal *journal, const cr_plan *plan, const cr_model *model,
                           cr_step *out)
{
    while (journal->phase < PHASE_SETTLE) {
        const uint32_t length = phase_length(journal->phase, plan);
        if (journal->index > length || journal->stopped > plan->n_doomed ||
            (journal->phase == PHASE_TELL && journal->awaited > journal->index)) {
            return CR_ERR_CORRUPT;
        }
        if (group_is_told(journal, plan)) {
            *out = (cr_step){CR_STEP_AWAIT, nothing, nothing, 0, 1};
            return CR_OK;
        }
        if (journal->index >= length) {
            cr_journal_next_phase(journal);
            continue;
        }
        if (journal->phase == PHASE_DESTROY && journal->second == 0 &&
            turn_step(journal, plan, out)) {
            return CR_OK;
        }
        if (is_passed(journal, plan)) {
            journal->index++;
            continue;
        }
        if (must_wait(journal, plan, model)) {
            cr_status left = cr_journal_leave(journal);
            if (left != CR_OK) {
                return left;
            }
            continue;
        }
        int needed;
        cr_status status = entry_step(journal, plan, model, out, &needed);
        if (status != CR_OK || needed) {
            return status;
        }
        cr_journal_advance(journal);
    }
    if (journal->phase != PHASE_SETTLE) {
        return CR_ERR_CORRUPT;
    }
    *out = (cr_step){CR_STEP_SETTLE, nothing, nothing, 0, 1};
    return CR_OK;
}

cr_status cr_step_next(cr_journal *journal, const cr_plan *plan, const cr_model *model,
                       cr_step *out)
{
    cr_status status = cr_journal_check(journal);
    if (status != CR_OK) {
        return status;
    }
    if (journal->attempts > 0) {
        return begun(journal, plan, out);
    }
    status = at_cursor(journal, plan, model, out);
    cr_journal_seal(journal);
    return status;
}

cr_status cr_step_take(cr_journal *journal, uint32_t epoch, const cr_plan *plan,
                       const cr_model *model, cr_step *out)
{
    cr_status status = cr_journal_check(journal);
    if (status != CR_OK) {
        return status;
    }
    if (journal->epoch != epoch) {
        return CR_ERR_EPOCH;
    }
    status = journal->attempts > 0 ? begun(journal, plan, out)
                                   : at_cursor(journal, plan, model, out);
    if (status == CR_OK && out->kind != CR_STEP_AWAIT && out->kind != CR_STEP_SETTLE) {
        status = cr_journal_begin(journal, out);
    }
    cr_journal_seal(journal);
    return status;
}
