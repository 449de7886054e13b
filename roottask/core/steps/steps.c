/* SPDX-License-Identifier: BSD-2-Clause */
#include <cellreap/steps.h>

/* The phases of a chain. */
typedef enum cr_chain_phase {
    PHASE_SUSPEND_FIRST = 0, /* over doomed */
    PHASE_MARK,              /* over doomed */
    PHASE_TELL,              /* over pre_destroy, by group */
    PHASE_SUSPEND_REST,      /* over doomed */
    PHASE_DESTROY,           /* over doomed, by group */
    PHASE_CORE,              /* over core_freed */
    PHASE_NOTIFY,            /* over notices */
    PHASE_SETTLE,
    PHASE_COUNT
} cr_chain_phase;

/* Sets of kinds of steps. */
enum {
    /* in PHASE_DESTROY: the turn of a group's destructors */
    TURN = 1 << CR_STEP_TELL | 1 << CR_STEP_AWAIT | 1 << CR_STEP_SUSPEND,
    /* each completes the row at the cursor. Other steps may be followed by more steps for the same
     * row, which the model determines. */
    SWEEPS = 1 << CR_STEP_SUSPEND | 1 << CR_STEP_MARK | 1 << CR_STEP_DESTROY_SPACE |
             1 << CR_STEP_DESTROY_PD | 1 << CR_STEP_NOTIFY | 1 << CR_STEP_TELL,
};

static const uint16_t kinds_of[PHASE_COUNT] = {
    [PHASE_SUSPEND_FIRST] = 1 << CR_STEP_SUSPEND,
    [PHASE_MARK] = 1 << CR_STEP_MARK,
    [PHASE_TELL] = 1 << CR_STEP_TELL | 1 << CR_STEP_AWAIT,
    [PHASE_SUSPEND_REST] = 1 << CR_STEP_SUSPEND,
    [PHASE_DESTROY] = 1 << CR_STEP_CUT_REQUEST | 1 << CR_STEP_DESTROY_RESOURCE |
                      1 << CR_STEP_DESTROY_SPACE | 1 << CR_STEP_DESTROY_PD | TURN,
    [PHASE_CORE] = 1 << CR_STEP_DESTROY_RESOURCE,
    [PHASE_NOTIFY] = 1 << CR_STEP_NOTIFY,
};

_Static_assert((int)CR_STEP_KIND_COUNT <= 16, "a bit for each kind");

static const char *const names[] = {
#define CR_STEP(enumerator, number, name, ...) [enumerator] = name,
    CR_STEPS
#undef CR_STEP
};

static const cr_ref nothing = {CR_NONE, 0};

static int is_same(cr_ref a, cr_ref b)
{
    return a.index == b.index && a.generation == b.generation;
}

static int is_in(uint32_t kind, uint32_t kinds)
{
    return kind < CR_STEP_KIND_COUNT && (kinds >> kind & 1) != 0;
}

const char *cr_step_name(cr_step_kind kind)
{
    return kind < CR_STEP_KIND_COUNT ? names[kind] : "?";
}

void cr_journal_start(cr_journal *journal, uint32_t epoch)
{
    *journal = (cr_journal){.version = CR_JOURNAL_VERSION, .epoch = epoch, .part = nothing};
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

/* Whether the step that the journal names is of the turn of a group's destructors, and not of the
 * destruction of the row at the cursor. */
static int is_turn(const cr_journal *journal)
{
    return journal->phase == PHASE_DESTROY && is_in(journal->kind, TURN);
}

/* The place of its row. */
static uint32_t place_of(const cr_journal *journal)
{
    if (!is_turn(journal)) {
        return journal->index;
    }
    return journal->kind == (uint32_t)CR_STEP_TELL ? journal->told : journal->stopped;
}

/* The step that the journal names, of the row at the cursor. CR_ERR_CORRUPT: there is no such row,
 * or the phase has no such step. */
static cr_status named_step(const cr_journal *journal, const cr_plan *plan, cr_step *out)
{
    const int turns = is_turn(journal);
    const uint32_t length = phase_length(journal->phase, plan);
    const uint32_t at = place_of(journal);
    *out = (cr_step){CR_STEP_SETTLE, nothing, nothing, 0, 1};
    if (journal->phase >= PHASE_SETTLE || !is_in(journal->kind, kinds_of[journal->phase])) {
        return CR_ERR_CORRUPT;
    }
    out->kind = (cr_step_kind)journal->kind;
    if (out->kind == CR_STEP_AWAIT) {
        return CR_OK;
    }
    out->count = journal->count;
    if (at >= length || out->count == 0 || out->count > CR_STEP_AT_ONCE ||
        (out->kind == CR_STEP_NOTIFY &&
         (plan->notices[at].to.index == CR_NONE || out->count > cr_step_notices(plan, at)))) {
        return CR_ERR_CORRUPT;
    }
    switch (out->kind) {
    case CR_STEP_SUSPEND:
        out->pd = plan->doomed[at].node;
        break;
    case CR_STEP_MARK:
    case CR_STEP_DESTROY_SPACE:
        out->node = plan->doomed[at].node;
        break;
    case CR_STEP_CUT_REQUEST:
        out->node = plan->doomed[at].node;
        out->pd = journal->part;
        break;
    case CR_STEP_DESTROY_RESOURCE:
        out->node = journal->phase == PHASE_CORE ? plan->core_freed[at] : journal->part;
        break;
    case CR_STEP_DESTROY_PD:
        out->node = plan->doomed[at].node;
        out->pd = out->node;
        break;
    case CR_STEP_NOTIFY:
        out->notice = &plan->notices[at];
        out->node = out->notice->node;
        out->pd = out->notice->to;
        break;
    case CR_STEP_TELL:
        out->node = turns ? plan->doomed[at].node : plan->pre_destroy[at].node;
        out->pd = turns ? out->node : plan->pre_destroy[at].pd;
        break;
    case CR_STEP_AWAIT:
    case CR_STEP_SETTLE:
    case CR_STEP_KIND_COUNT:
        break;
    }
    return CR_OK;
}

/* -- the next step */

static void name(cr_journal *journal, cr_step_kind kind, cr_ref part, uint32_t count)
{
    journal->kind = (uint32_t)kind;
    journal->part = part;
    journal->count = count;
}

static int remains(const cr_model *model, cr_ref node)
{
    cr_node_info info;
    return cr_model_get(model, node, &info) == CR_OK && info.state != CR_STATE_DESTROYED;
}

/* Whether something was left, so that a row may have to wait. */
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
        if (is_same(plan->doomed[i].node, node)) {
            return 1;
        }
    }
    return 0;
}

/* Whether a PD holds the resource that the plan dooms, or one that no cleanup dooms. The root task
 * is not counted. */
static int is_held(const cr_model *model, const cr_plan *plan, cr_ref resource, int doomed)
{
    cr_edge_walk holders = cr_model_walk(model, resource, CR_EDGE_HOLD, CR_IN);
    while (cr_model_next(&holders)) {
        cr_node_info holder;
        if (cr_model_get(model, holders.other, &holder) == CR_OK &&
            (holder.flags & CR_FLAG_ROOT) == 0 &&
            (doomed ? is_doomed_in(plan, holders.other) : holder.state == CR_STATE_ACTIVE)) {
            return 1;
        }
    }
    return 0;
}

/* Whether a core resource that the plan frees is there. A PD may have been given it anew. Then it
 * is not to be freed. */
static int is_to_free(const cr_journal *journal, const cr_plan *plan, const cr_model *model,
                      cr_ref resource)
{
    return remains(model, resource) && !(is_later(journal) && is_held(model, plan, resource, 0));
}

static int is_region(const cr_model *model, cr_ref resource)
{
    cr_node_info space;
    return cr_model_get(model, cr_model_space(model, resource), &space) == CR_OK &&
           (space.flags & CR_FLAG_REGIONS) != 0;
}

/* A region of a doomed PD's address space, if the plan frees it. */
static cr_ref find_region(const cr_journal *journal, const cr_plan *plan, const cr_model *model,
                          cr_ref pd)
{
    cr_edge_walk holds = cr_model_walk(model, pd, CR_EDGE_HOLD, CR_OUT);
    while (cr_model_next(&holds)) {
        const uint32_t rows = is_region(model, holds.other) ? plan->n_core_freed : 0;
        for (uint32_t i = 0; i < rows; i++) {
            if (is_same(plan->core_freed[i], holds.other) &&
                is_to_free(journal, plan, model, holds.other)) {
                return holds.other;
            }
        }
    }
    return nothing;
}

/* The next step for a doomed node that is not yet destroyed. */
static cr_status name_destroying(cr_journal *journal, const cr_plan *plan, const cr_model *model,
                                 cr_ref node, const cr_node_info *info)
{
    cr_edge_info edge = {.from = nothing, .to = nothing};
    cr_status status = CR_OK;
    uint32_t found;
    if (info->kind == CR_NODE_PD) {
        if ((found = cr_model_first(model, node, CR_EDGE_BODY, CR_OUT)) != CR_NONE) {
            status = cr_model_edge(model, found, &edge);
            name(journal, CR_STEP_DESTROY_RESOURCE, edge.to, 1);
        } else {
            const cr_ref region = find_region(journal, plan, model, node);
            const int is_last = region.index == CR_NONE;
            name(journal, is_last ? CR_STEP_DESTROY_PD : CR_STEP_DESTROY_RESOURCE, region, 1);
        }
    } else if ((found = cr_model_first(model, node, CR_EDGE_REQUEST, CR_IN)) != CR_NONE) {
        status = cr_model_edge(model, found, &edge);
        name(journal, CR_STEP_CUT_REQUEST, edge.from, 1);
    } else if ((found = cr_model_first(model, node, CR_EDGE_SUBSET, CR_IN)) != CR_NONE) {
        status = cr_model_edge(model, found, &edge);
        const uint32_t most = has_left(journal) ? 1 : CR_STEP_AT_ONCE;
        name(journal, CR_STEP_DESTROY_RESOURCE, edge.from,
             info->members < most ? info->members : most);
    } else {
        name(journal, CR_STEP_DESTROY_SPACE, nothing, 1);
    }
    return status;
}

/* Names the step for the row at the cursor. *needed: 0 if the row needs no step. */
static cr_status name_step(cr_journal *journal, const cr_plan *plan, const cr_model *model,
                           int *needed)
{
    const uint32_t at = journal->index;
    cr_node_info info;
    cr_status status;
    *needed = 0;
    switch ((cr_chain_phase)journal->phase) {
    case PHASE_SUSPEND_FIRST:
    case PHASE_SUSPEND_REST: {
        const cr_doomed *doomed = &plan->doomed[at];
        status = cr_model_get(model, doomed->node, &info);
        *needed = status == CR_OK && info.kind == CR_NODE_PD && !doomed->stopped &&
                  (doomed->pd_depth == 0) == (journal->phase == PHASE_SUSPEND_FIRST) &&
                  (journal->later != 0 || !doomed->destructor);
        name(journal, CR_STEP_SUSPEND, nothing, 1);
        return status;
    }
    case PHASE_MARK:
        status = cr_model_get(model, plan->doomed[at].node, &info);
        *needed = status == CR_OK && info.state == CR_STATE_ACTIVE;
        name(journal, CR_STEP_MARK, nothing, 1);
        return status;
    case PHASE_DESTROY: {
        const cr_ref node = plan->doomed[at].node;
        status = cr_model_get(model, node, &info);
        if (status != CR_OK || info.state == CR_STATE_DESTROYED) {
            return status;
        }
        *needed = 1;
        return name_destroying(journal, plan, model, node, &info);
    }
    case PHASE_TELL:
        if ((status = cr_model_get(model, plan->pre_destroy[at].node, &info)) == CR_OK) {
            *needed = info.state != CR_STATE_DESTROYED;
            status = cr_model_get(model, plan->pre_destroy[at].pd, &info);
            *needed = *needed && info.state != CR_STATE_DESTROYED;
        }
        name(journal, CR_STEP_TELL, nothing, 1);
        return status;
    case PHASE_CORE: {
        const cr_ref node = plan->core_freed[at];
        *needed = is_to_free(journal, plan, model, node);
        name(journal, CR_STEP_DESTROY_RESOURCE, node, 1);
        return CR_OK;
    }
    case PHASE_NOTIFY: {
        const cr_notice *notice = &plan->notices[at];
        /* Another cleanup may have destroyed the receiver, and the receiver may have deleted what a
         * destroyed PD had. */
        *needed = remains(model, notice->to) &&
                  (notice->from.index == CR_NONE || remains(model, notice->node));
        name(journal, CR_STEP_NOTIFY, nothing, is_later(journal) ? 1 : cr_step_notices(plan, at));
        return CR_OK;
    }
    case PHASE_SETTLE:
    case PHASE_COUNT:
        break;
    }
    return CR_ERR_CORRUPT;
}

/* Moves *at to the next doomed PD with a destructor, or to `end`. Returns whether there is one. */
static int next_before(uint32_t *at, uint32_t end, const cr_plan *plan)
{
    while (*at < end && *at < plan->n_doomed && !plan->doomed[*at].destructor) {
        ++*at;
    }
    return *at < end && *at < plan->n_doomed;
}

/* The turn of the destructors of the group at the cursor: all are told, then awaited, then
 * suspended. Returns 0 if it is over. */
static int name_turn(cr_journal *journal, const cr_plan *plan)
{
    const uint32_t group = plan->doomed[journal->index].group;
    uint32_t end = journal->index < journal->stopped ? journal->stopped : journal->index;
    if (plan->n_destructors == 0) {
        return 0;
    }
    while (end < plan->n_doomed && plan->doomed[end].group == group) {
        end++;
    }
    if (next_before(&journal->told, end, plan)) {
        name(journal, CR_STEP_TELL, nothing, 1);
    } else if (next_before(&journal->had, end, plan)) {
        name(journal, CR_STEP_AWAIT, nothing, 1);
    } else if (next_before(&journal->stopped, end, plan)) {
        name(journal, CR_STEP_SUSPEND, nothing, 1);
    } else {
        return 0;
    }
    return 1;
}

static void pass_turn(cr_journal *journal)
{
    if (journal->kind == (uint32_t)CR_STEP_TELL) {
        journal->told++;
    } else if (journal->kind == (uint32_t)CR_STEP_AWAIT) {
        journal->had = journal->told;
    } else {
        journal->stopped++;
    }
}

/* Whether the cursor is behind the last row of a group whose answers were not yet awaited. */
static int group_is_told(const cr_journal *journal, const cr_plan *plan)
{
    const uint32_t at = journal->index;
    return journal->phase == PHASE_TELL && at > journal->awaited &&
           (at >= plan->n_pre_destroy ||
            plan->pre_destroy_groups[at] != plan->pre_destroy_groups[at - 1]);
}

/* Whether something maps to a core resource that the plan dooms, or that a PD holds which it dooms.
 * What else maps to it is freed beside it. */
static int is_mapped(const cr_model *model, const cr_plan *plan, cr_ref resource)
{
    cr_edge_walk uppers = cr_model_walk(model, resource, CR_EDGE_MAP, CR_IN);
    while (cr_model_next(&uppers)) {
        if (is_doomed_in(plan, cr_model_space(model, uppers.other)) ||
            is_held(model, plan, uppers.other, 1)) {
            return 1;
        }
    }
    return 0;
}

/* Whether the row at the cursor depends on another one that was left: a node on its suspending and
 * marking, a PD on its spaces, which another cleanup may have left, a core resource on its holders
 * and on what maps to it, and a notice on the node that it says is gone. */
static int must_wait(const cr_journal *journal, const cr_plan *plan, const cr_model *model)
{
    const uint32_t at = journal->index;
    if (journal->phase == PHASE_DESTROY &&
        cr_model_first(model, plan->doomed[at].node, CR_EDGE_MANAGE, CR_OUT) != CR_NONE) {
        return 1;
    }
    if (!has_left(journal)) {
        return 0;
    }
    if (journal->phase == PHASE_DESTROY) {
        const cr_doomed *doomed = &plan->doomed[at];
        cr_node_info info;
        return cr_model_get(model, doomed->node, &info) == CR_OK &&
               (info.state == CR_STATE_ACTIVE || (info.kind == CR_NODE_PD && !doomed->stopped));
    }
    if (journal->phase == PHASE_CORE) {
        return is_held(model, plan, plan->core_freed[at], 1) ||
               is_mapped(model, plan, plan->core_freed[at]);
    }
    if (journal->phase == PHASE_NOTIFY) {
        const cr_notice *notice = &plan->notices[at];
        return remains(model, notice->to) &&
               remains(model, notice->from.index != CR_NONE ? notice->from : notice->node);
    }
    return 0;
}

/* Nothing of the row at the cursor is left to do, as far as the phase goes. */
static void pass_row(cr_journal *journal, cr_plan *plan)
{
    const uint32_t at = journal->index++;
    if (journal->phase == PHASE_CORE && at < plan->n_core_freed) {
        plan->core_freed[at] = nothing;
    } else if (journal->phase == PHASE_NOTIFY && at < plan->n_notices) {
        plan->notices[at].to = nothing;
    }
}

static void leave_row(cr_journal *journal)
{
    journal->n_kept += journal->second != 0 ? 1u : 0u;
    journal->n_left += journal->second != 0 ? 0u : 1u;
    journal->index++;
}

static void next_phase(cr_journal *journal)
{
    journal->index = 0;
    if (journal->second == 0 && journal->n_left > 0) {
        journal->second = 1;
        return;
    }
    journal->phase++;
    journal->n_left = 0;
    journal->second = journal->later;
}

/* Whether a row is not done. */
static int is_any_left(const cr_plan *plan, const cr_model *model)
{
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        if (remains(model, plan->doomed[i].node)) {
            return 1;
        }
    }
    for (uint32_t i = 0; i < plan->n_core_freed; i++) {
        if (plan->core_freed[i].index != CR_NONE) {
            return 1;
        }
    }
    for (uint32_t i = 0; i < plan->n_notices; i++) {
        if (plan->notices[i].to.index != CR_NONE) {
            return 1;
        }
    }
    return 0;
}

/* Moves the cursor to the next row that needs a step, and returns the step. */
static cr_status at_cursor(cr_journal *journal, cr_plan *plan, const cr_model *model, cr_step *out)
{
    while (journal->phase < PHASE_SETTLE) {
        const uint32_t length = phase_length(journal->phase, plan);
        if (journal->index > length || journal->stopped > plan->n_doomed ||
            (journal->phase == PHASE_TELL && journal->awaited > journal->index)) {
            return CR_ERR_CORRUPT;
        }
        if (group_is_told(journal, plan)) {
            name(journal, CR_STEP_AWAIT, nothing, 1);
            return named_step(journal, plan, out);
        }
        if (journal->index >= length) {
            next_phase(journal);
            continue;
        }
        if (journal->phase == PHASE_DESTROY && journal->second == 0 && name_turn(journal, plan)) {
            return named_step(journal, plan, out);
        }
        if (must_wait(journal, plan, model)) {
            leave_row(journal);
            continue;
        }
        int needed;
        const cr_status status = name_step(journal, plan, model, &needed);
        if (status != CR_OK) {
            return status;
        }
        if (needed) {
            return named_step(journal, plan, out);
        }
        pass_row(journal, plan);
    }
    *out = (cr_step){CR_STEP_SETTLE, nothing, nothing, 0, 1};
    return journal->phase == PHASE_SETTLE && (journal->n_kept != 0 || !is_any_left(plan, model))
               ? CR_OK
               : CR_ERR_CORRUPT;
}

/* Whether a resource is in the doomed space at the cursor, or is the body of the PD there or a
 * region of it. One that is gone is nobody's. */
static int is_of_row(const cr_journal *journal, const cr_plan *plan, const cr_model *model,
                     cr_ref resource)
{
    const uint32_t at = journal->index;
    cr_node_info info;
    cr_edge_info body;
    if (cr_model_get(model, resource, &info) != CR_OK || info.state == CR_STATE_DESTROYED) {
        return 1;
    }
    if (info.kind != CR_NODE_RESOURCE || at >= plan->n_doomed) {
        return 0;
    }
    const cr_ref node = plan->doomed[at].node;
    return is_same(info.space, node) ||
           (is_region(model, resource) &&
            cr_model_count(model, CR_EDGE_HOLD, node, resource) > 0) ||
           (cr_model_edge(model, cr_model_first(model, node, CR_EDGE_BODY, CR_OUT), &body) ==
                CR_OK &&
            is_same(body.to, resource));
}

/* The step that has begun. */
static cr_status begun(const cr_journal *journal, const cr_plan *plan, const cr_model *model,
                       cr_step *out)
{
    const cr_status status = named_step(journal, plan, out);
    return status == CR_OK && out->kind == CR_STEP_DESTROY_RESOURCE &&
                   journal->phase == PHASE_DESTROY && !is_of_row(journal, plan, model, out->node)
               ? CR_ERR_CORRUPT
               : status;
}

cr_status cr_step_next(cr_journal *journal, cr_plan *plan, const cr_model *model, cr_step *out)
{
    return journal->attempts > 0 ? begun(journal, plan, model, out)
                                 : at_cursor(journal, plan, model, out);
}

cr_status cr_step_take(cr_journal *journal, uint32_t epoch, cr_plan *plan, const cr_model *model,
                       cr_step *out)
{
    if (journal->epoch != epoch) {
        return CR_ERR_EPOCH;
    }
    const cr_status status = cr_step_next(journal, plan, model, out);
    if (status == CR_OK && out->kind != CR_STEP_AWAIT && out->kind != CR_STEP_SETTLE) {
        journal->half = journal->attempts == 0 ? 0 : journal->half;
        journal->attempts++;
    }
    return status;
}

/* -- writing */

cr_status cr_step_begin(cr_journal *journal, uint32_t epoch, const cr_step *step)
{
    const cr_ref part = step->kind == CR_STEP_CUT_REQUEST        ? step->pd
                        : step->kind == CR_STEP_DESTROY_RESOURCE ? step->node
                                                                 : nothing;
    if (journal->epoch != epoch) {
        return CR_ERR_EPOCH;
    }
    if (step->kind >= CR_STEP_KIND_COUNT || step->count == 0) {
        return CR_ERR_CORRUPT;
    }
    if (journal->attempts == 0) {
        name(journal, step->kind, part, step->count);
        journal->half = 0;
    } else if (journal->kind != (uint32_t)step->kind || !is_same(journal->part, part) ||
               journal->count != step->count) {
        return CR_ERR_BUSY;
    }
    journal->attempts++;
    return CR_OK;
}

/* Whether this epoch may write about the step that has begun. */
static cr_status may_write(const cr_journal *journal, uint32_t epoch)
{
    return journal->epoch != epoch ? CR_ERR_EPOCH : journal->attempts == 0 ? CR_ERR_ABSENT : CR_OK;
}

cr_status cr_step_note(cr_journal *journal, uint32_t epoch, uint32_t half)
{
    const cr_status status = may_write(journal, epoch);
    journal->half = status == CR_OK ? half : journal->half;
    return status;
}

cr_status cr_step_shorten(cr_journal *journal, uint32_t epoch, uint32_t count)
{
    const cr_status status = may_write(journal, epoch);
    if (status == CR_OK && (count == 0 || count > journal->count)) {
        return CR_ERR_ARG;
    }
    journal->count = status == CR_OK ? count : journal->count;
    return status;
}

cr_status cr_step_done(cr_journal *journal, uint32_t epoch, cr_plan *plan)
{
    cr_step step;
    cr_status status = may_write(journal, epoch);
    if (status != CR_OK || (status = named_step(journal, plan, &step)) != CR_OK) {
        return status;
    }
    const uint32_t at = place_of(journal);
    if (step.kind == CR_STEP_SUSPEND && at < plan->n_doomed) {
        plan->doomed[at].stopped = 1;
    }
    if (is_turn(journal)) {
        pass_turn(journal);
    } else if (step.kind == CR_STEP_AWAIT) {
        journal->awaited = journal->index;
    } else if (is_in(journal->kind, SWEEPS)) {
        for (uint32_t i = 0; i < step.count; i++) {
            pass_row(journal, plan);
        }
    }
    journal->done++;
    journal->attempts = 0;
    return CR_OK;
}

cr_status cr_step_leave(cr_journal *journal, uint32_t epoch)
{
    const cr_status status = may_write(journal, epoch);
    if (status != CR_OK) {
        return status;
    }
    if (journal->kind == (uint32_t)CR_STEP_AWAIT) {
        return CR_ERR_STATE;
    }
    if (is_turn(journal)) {
        /* Who is not suspended is not destroyed either: a later run does both. */
        journal->n_kept += journal->kind == (uint32_t)CR_STEP_SUSPEND ? 1u : 0u;
        pass_turn(journal);
    } else if (journal->kind == (uint32_t)CR_STEP_TELL) {
        journal->index++;
    } else {
        leave_row(journal);
    }
    journal->attempts = 0;
    return CR_OK;
}

cr_status cr_journal_take_over(cr_journal *journal, uint32_t epoch)
{
    if (journal->version != CR_JOURNAL_VERSION) {
        return CR_ERR_VERSION;
    }
    if (epoch <= journal->epoch) {
        return CR_ERR_EPOCH;
    }
    journal->epoch = epoch;
    return CR_OK;
}

cr_status cr_journal_told(cr_journal *journal, uint32_t epoch)
{
    if (journal->epoch != epoch) {
        return CR_ERR_EPOCH;
    }
    if (journal->phase != PHASE_TELL || journal->attempts != 0 || journal->second != 0 ||
        journal->n_left != 0 || journal->n_kept != 0 || journal->awaited != journal->index) {
        return CR_ERR_STATE;
    }
    next_phase(journal);
    return CR_OK;
}

cr_status cr_journal_run_again(cr_journal *journal, uint32_t epoch)
{
    if (journal->attempts != 0) {
        return CR_ERR_STATE;
    }
    if (epoch < journal->epoch) {
        return CR_ERR_EPOCH;
    }
    journal->epoch = epoch;
    journal->phase = 0;
    journal->index = 0;
    journal->awaited = 0;
    journal->later = 1;
    journal->second = 1;
    journal->n_left = 0;
    journal->n_kept = 0;
    return CR_OK;
}
