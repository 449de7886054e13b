/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Every function of the model, with any arguments, on an arena with any bytes. What one call leaves
 * is again an arena with any bytes, so this covers all sequences of calls. */
#include "any_model.h"

#ifndef OPERATION /* one of the operations below, for a shorter analysis */
#define OPERATION any()
#endif

static uint32_t
    small_arena[(sizeof(struct cr_model) + 2 * sizeof(cr_node) + 3 * sizeof(cr_edge)) / 4 + 4];

static void make(void)
{
    cr_model *model = 0;
    (void)cr_model_bytes(any(), any());
    (void)cr_model_init(small_arena, sizeof(small_arena), 2, 3, &model);
    (void)cr_model_init(small_arena, at_most(sizeof(small_arena)), 2, 3, &model);
}

/* An arena with any bytes, its length told as too small or not. */
static void open(cr_model *model)
{
    cr_model *out = 0;
    (void)cr_model_open(model, at_most(sizeof(arena)), &out);
}

void main(void)
{
    cr_model *model = any_model();
    cr_ref out;
    cr_node_info node;
    cr_edge_info edge;
    cr_edge_taken taken[2];
    uint32_t list;
    uint32_t index;
    switch (OPERATION) {
    case 0:
        (void)cr_model_add_pd(model, any(), any(), &out);
        break;
    case 1:
        (void)cr_model_add_space(model, any(), any(), any(), any_ref(), &out);
        break;
    case 2:
        (void)cr_model_add_resource(model, any_ref(), any(), &out);
        break;
    case 3:
        (void)cr_model_add_edge(model, any(), any_ref(), any_ref());
        break;
    case 4:
        (void)cr_model_drop_edge(model, any(), any_ref(), any_ref());
        break;
    case 5:
        (void)cr_model_cut_edge(model, any(), any_ref(), any_ref());
        break;
    case 6:
        (void)cr_model_find(model, any(), any_ref(), any_ref());
        break;
    case 7:
        (void)cr_model_count(model, any(), any_ref(), any_ref());
        break;
    case 8:
        (void)cr_model_first(model, any_ref(), any(), any());
        break;
    case 27:
        out = cr_model_space(model, any_ref());
        break;
    case 9: {
        cr_edge_walk walk = cr_model_walk(model, any_ref(), any(), any());
        (void)cr_model_next(&walk);
        (void)cr_model_next(&walk);
        break;
    }
    case 10:
        (void)cr_model_edge(model, any(), &edge);
        break;
    case 11:
        (void)cr_model_get(model, any_ref(), &node);
        break;
    case 12:
        (void)cr_model_at(model, any(), &out);
        break;
    case 13:
        (void)cr_model_set_pinned(model, any_ref(), (int)any());
        break;
    case 14:
        (void)cr_model_doom(model, any_ref());
        break;
    case 15:
        (void)cr_model_spare(model, any_ref());
        break;
    case 16:
        (void)cr_model_destroy(model, any_ref());
        break;
    case 28:
        index = 0;
        list = any();
        (void)cr_model_take_edges(model, any_ref(), &list, taken, at_most(2), &index);
        break;
    case 17:
        (void)cr_model_release(model, any_ref());
        break;
    case 18:
        (void)cr_model_age(model, any());
        break;
    case 19:
        (void)cr_model_get_stats(model);
        break;
    case 20:
        cr_model_touch(model, any(), any());
        break;
    case 21:
        cr_model_reset_touched(model);
        break;
    case 22:
        open(model);
        break;
    case 23:
        (void)cr_model_subscribe(model, any_ref(), any_ref(), any());
        break;
    case 24:
        (void)cr_model_unsubscribe(model, any_ref(), any_ref(), any());
        break;
    case 25:
        (void)cr_model_subscriptions(model, any_ref(), any_ref(), any());
        break;
    case 26:
        (void)cr_model_handlers(model, any_ref(), any_ref());
        break;
    default:
        make();
        break;
    }
}
