/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The planner, on a model with any bytes, which changes in any way between two plans. The planner's
 * own memory is what its functions made of it, from cr_planner_init on. */
#include "any_model.h"
#include "planner.h"

enum { ITEMS = 16 };

static uint64_t memory[8192];
static cr_doomed kept_doomed[ITEMS];
static cr_pair kept_pre_destroy[ITEMS];
static uint32_t kept_groups[ITEMS];

void main(void)
{
    cr_model *model = any_model();
    cr_planner *planner = 0;
    cr_plan plan;
    if (cr_planner_init(memory, sizeof(memory), NODES, ITEMS, &planner) != CR_OK) {
        return;
    }
    if (planner == 0) {
        return;
    }
    if (cr_plan_crash(planner, model, any_ref(), any(), any(), &plan) == CR_OK) {
        (void)cr_plan_dooms(planner, &plan, any_ref());
        model = any_model();
        if (cr_plan_again(planner, model, &plan) == CR_OK) {
            (void)cr_plan_dooms(planner, &plan, any_ref());
        }
    }
}
