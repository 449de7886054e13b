/* SPDX-License-Identifier: BSD-2-Clause */
#include <cellreap/make_steps.h>

static const char *const made_names[] = {
#define CR_MADE(enumerator, number, word, meaning) [enumerator] = word,
    CR_MADES
#undef CR_MADE
};

static const char *const step_names[] = {
#define CR_MAKE_STEP(enumerator, number, name, what, undo) [enumerator] = name,
    CR_MAKE_STEPS
#undef CR_MAKE_STEP
};

const char *cr_made_name(cr_made made)
{
    return (uint32_t)made < CR_MADE_COUNT ? made_names[made] : "?";
}

const char *cr_make_step_name(cr_make_kind kind)
{
    return (uint32_t)kind < CR_MAKE_KIND_COUNT ? step_names[kind] : "?";
}

/* A step that cannot be undone must not keep the others from being undone. */
void cr_make_undo(const cr_make_chain *chain, cr_make_result *result)
{
    result->undone = 0;
    result->residue = CR_OK;
    for (uint32_t at = result->done; at-- > 0;) {
        cr_make_step step;
        cr_status status = CR_ERR_CORRUPT;
        if (chain->step(chain->context, at, &step)) {
            status = chain->undo(chain->context, &step, result);
        }
        if (status == CR_OK) {
            result->undone++;
        } else if (result->residue == CR_OK) {
            result->residue = status;
        }
    }
}

cr_make_result cr_make_run(const cr_make_chain *chain)
{
    cr_make_result result = {CR_OK, {CR_MAKE_ENTRY, 0}, 0, 0, CR_OK};
    cr_make_step step;
    while (result.status == CR_OK && chain->step(chain->context, result.done, &step)) {
        result.status =
            result.done < CR_MAKE_STEPS_MAX ? chain->apply(chain->context, &step) : CR_ERR_ARG;
        if (result.status == CR_OK) {
            result.done++;
        } else {
            result.step = step;
        }
    }
    if (result.status != CR_OK) {
        cr_make_undo(chain, &result);
        return result;
    }
    for (uint32_t at = 0; at < result.done; at++) {
        if (chain->step(chain->context, at, &step)) {
            chain->commit(chain->context, &step);
        }
    }
    return result;
}
