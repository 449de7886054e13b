/* SPDX-License-Identifier: BSD-2-Clause */
#include <cellreap/inject.h>
#include <stddef.h>

static const char *const how_names[] = {
#define CR_INJECTION(enumerator, number, word, meaning) [enumerator] = word,
    CR_INJECTIONS
#undef CR_INJECTION
};

const char *cr_injected_name(uint32_t how)
{
    return how < CR_INJECTED_COUNT ? how_names[how] : "?";
}

cr_status cr_injector_init(cr_injector *injector, const cr_image_injection *rows, uint32_t count)
{
    if (count > CR_IMAGE_MAX_INJECTIONS) {
        return CR_ERR_ARG;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].chain >= CR_CHAIN_COUNT || rows[i].how >= CR_INJECTED_COUNT ||
            rows[i].step == 0) {
            return CR_ERR_ARG;
        }
    }
    *injector = (cr_injector){.rows = rows, .count = count};
    return CR_OK;
}

/* A making chain does not attempt a step again, so `always` has each later step fail too. */
static int is_at(const cr_image_injection *row, uint32_t step)
{
    return row->step == step ||
           (row->always == 1 && row->chain == CR_CHAIN_MAKE && row->step < step);
}

static int is_due(const cr_image_injection *row, uint32_t happened)
{
    return row->always == 1 || happened < (row->always > 1 ? row->always : 1);
}

/* Every row that fits has happened: one that another one hides does not happen later. */
static const cr_image_injection *due(cr_injector *injector, cr_chain chain, uint32_t call)
{
    const cr_image_injection *found = NULL;
    for (uint32_t i = 0; i < injector->count; i++) {
        const cr_image_injection *row = &injector->rows[i];
        if (row->chain == (uint32_t)chain && row->call == call &&
            is_at(row, injector->step[chain]) && is_due(row, injector->happened[i])) {
            injector->happened[i] += injector->happened[i] < UINT32_MAX ? 1u : 0u;
            found = found == NULL ? row : found;
        }
    }
    return found;
}

const cr_image_injection *cr_inject_step(cr_injector *injector, cr_chain chain, int again)
{
    if (!again) {
        injector->step[chain] = ++injector->last[chain];
    }
    injector->call[chain] = 0;
    return due(injector, chain, 0);
}

const cr_image_injection *cr_inject_step_left(cr_injector *injector, cr_chain chain,
                                              uint32_t number)
{
    injector->step[chain] = number;
    injector->call[chain] = 0;
    return due(injector, chain, 0);
}

const cr_image_injection *cr_inject_call(cr_injector *injector, cr_chain chain)
{
    injector->call[chain]++;
    return due(injector, chain, injector->call[chain]);
}

const cr_image_injection *cr_inject_end(cr_injector *injector, cr_chain chain)
{
    return due(injector, chain, CR_IMAGE_STEP_END);
}
