/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Interrupt lines and I/O ports. See lines.h. */
#include "lines.h"
#include "kernel/lines.h"
#include "making.h"
#include "text.h"

static const cr_image_line *line_at(uint32_t line)
{
    return &cr_image_lines(cr_sys.image)[line];
}

void cr_lines_add(const cr_pd *pd, uint32_t config)
{
    for (uint32_t i = 0; i < cr_sys.image->lines.count; i++) {
        if (line_at(i)->pd == config) {
            cr_making_add_line(
                pd, i, line_at(i)->kind == CR_LINE_IRQ ? cr_sys.irq_space : cr_sys.port_space,
                line_at(i)->slot);
        }
    }
}

cr_status cr_line_take(uint32_t line, cr_slot parent)
{
    const cr_image_line *row = line_at(line);
    const seL4_Error error =
        row->kind == CR_LINE_PORT
            ? cr_arch_take_ports(row->first, row->last, parent)
            : cr_arch_take_interrupt(row->first, row->edge != 0, 1 + line, parent);
    return error ? CR_ERR_KERNEL : CR_OK;
}

cr_status cr_line_give(const cr_pd *pd, uint32_t line, cr_slot slot, cr_slot parent)
{
    const cr_image_line *row = line_at(line);
    const seL4_CPtr handler = cr_cptr(CR_L1_POOL, (uint32_t)parent.index);
    const seL4_Word badge = cr_pd_is_of_microkit(pd) ? 0 : cr_badge(CR_BADGE_SIGNAL, 0, 0);
    if (row->kind != CR_LINE_PORT &&
        (cr_bind_interrupt(handler, cr_body_cap(&pd->body, CR_BODY_NOTIFICATION),
                           badge | 1ull << row->bit) ||
         (row->acknowledge != 0 && cr_acknowledge_interrupt(handler)))) {
        return CR_ERR_KERNEL;
    }
    return cr_copy(slot, parent, seL4_AllRights) ? CR_ERR_KERNEL : CR_OK;
}

void cr_lines_fill(cr_pd *pd, cr_startup *out)
{
    for (uint32_t i = 0; i < cr_sys.image->lines.count && out->n_lines < CR_STARTUP_LINES; i++) {
        const cr_image_line *row = line_at(i);
        if (row->pd == pd->config) {
            out->lines[out->n_lines].kind = row->kind;
            out->lines[out->n_lines].slot = row->slot;
            out->lines[out->n_lines].first = row->first;
            out->lines[out->n_lines++].bit = row->bit;
            pd->slots[row->slot] = CR_SLOT_USED;
        }
    }
}
