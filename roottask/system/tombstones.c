/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Keeps what is known of destroyed nodes. See tombstones.h. What a function costs depends on what
 * the PD refers to, and not on how many tombstones there are. The exceptions look at all entries:
 * the release, when there is something to release, and the loss of a PD capability. */
#include "system.h"
#include "text.h"

_Static_assert((int)CR_REGISTER_COUNT <= (int)CR_MORTEM_REGISTERS_MAX, "all are told");

static cr_tombstones *const all = &cr_sys.tombstones;

void cr_end_note(const cr_pd *pd, cr_ending how)
{
    all->ends[cr_receiver(pd)].how = how;
}

cr_ending cr_end_how(const cr_pd *pd)
{
    return all->ends[cr_receiver(pd)].how;
}

void cr_end_note_exit(const cr_pd *pd, uint64_t code)
{
    all->ends[cr_receiver(pd)].code = code;
}

void cr_end_note_fault(const cr_pd *pd, cr_fault_kind kind, uint64_t address, uint64_t ip,
                       const seL4_UserContext *registers)
{
    cr_end_of *end = &all->ends[cr_receiver(pd)];
    end->faulted = 1;
    end->kind = kind;
    end->address = address;
    end->ip = ip;
    end->registers = *registers;
}

/* -- entries */

static cr_tombstone *find(cr_ref node)
{
    const uint32_t entry = all->of_node[node.index];
    cr_tombstone *found = entry != 0 ? &all->at[entry - 1] : 0;
    return found != 0 && cr_same(found->node, node) ? found : 0;
}

static uint32_t entry_of(const cr_tombstone *tombstone)
{
    return (uint32_t)(tombstone - all->at) + 1;
}

static cr_tombstone *take_entry(void)
{
    for (uint32_t i = 0; i < cr_tombstone_entries(); i++) {
        if (!all->at[i].used) {
            all->used = i < all->used ? all->used : i + 1;
            return &all->at[i];
        }
    }
    return 0; /* Many cleanups left something. Nothing will be known of this node. */
}

static void free_entry(cr_tombstone *tombstone)
{
    all->of_node[tombstone->node.index] = 0;
    *tombstone = (cr_tombstone){0};
}

void cr_tombstone_make(cr_ref node, const cr_pd *pd)
{
    cr_node_info info;
    cr_tombstone *made = find(node) == 0 ? take_entry() : 0;
    if (made == 0 || cr_model_get(cr_sys.model, node, &info) != CR_OK) {
        return;
    }
    *made = (cr_tombstone){.used = 1, .node = node, .is_pd = pd != 0, .number = info.number};
    if (pd != 0) {
        made->end = all->ends[cr_receiver(pd)];
        all->ends[cr_receiver(pd)] = (cr_end_of){0};
        cr_tombstone_forget(pd);
        cr_text_copy(made->name, pd->name, CR_NAME_BYTES);
        cr_text_copy(made->type, "PD", CR_TYPE_BYTES);
    } else {
        cr_text_copy(made->name, cr_space_entry_of(node)->name, CR_NAME_BYTES);
        cr_text_copy(made->type, cr_type_name(info.type), CR_TYPE_BYTES);
    }
    all->of_node[node.index] = (uint16_t)entry_of(made);
}

/* -- who refers to them */

/* Takes one reference of a PD away. The later ones move up. */
static void drop(uint32_t pd, uint32_t place)
{
    cr_tombstone_ref *refs = all->refs[pd];
    cr_tombstone *tombstone = &all->at[refs[place].entry - 1];
    for (uint32_t i = place; i + 1 < CR_TOMBSTONES_EACH; i++) {
        refs[i] = refs[i + 1];
    }
    refs[CR_TOMBSTONES_EACH - 1] = (cr_tombstone_ref){0};
    tombstone->refs--;
    all->due += tombstone->refs == 0 && tombstone->settled;
}

static void owed(const cr_pd *to, cr_tombstone *tombstone)
{
    const uint32_t pd = cr_receiver(to);
    uint32_t i = 0;
    for (; i < CR_TOMBSTONES_EACH && all->refs[pd][i].entry != 0; i++) {
        if (all->refs[pd][i].entry == entry_of(tombstone)) {
            all->refs[pd][i].notices++;
            return;
        }
    }
    /* One that nobody refers to any more is gone, although its entry is still to be freed. */
    if (tombstone->settled && tombstone->refs == 0) {
        return;
    }
    if (i == CR_TOMBSTONES_EACH) {
        drop(pd, 0);
        i--;
    }
    all->refs[pd][i] =
        (cr_tombstone_ref){.entry = entry_of(tombstone), .notices = 1, .since = to->last_token};
    tombstone->refs++;
}

void cr_tombstone_owed(const cr_pd *to, cr_ref node)
{
    cr_tombstone *tombstone = node.index != CR_NONE ? find(node) : 0;
    if (tombstone != 0) {
        owed(to, tombstone);
    }
}

void cr_tombstone_owed_pd(const cr_pd *to, uint32_t number)
{
    for (uint32_t i = 0; i < all->used; i++) {
        if (all->at[i].used && all->at[i].is_pd && all->at[i].number == number) {
            owed(to, &all->at[i]);
            return;
        }
    }
}

/* The place among the PD's references of the one to this space, or with space 0 to this PD.
 * CR_TOMBSTONES_EACH: it has none. */
static uint32_t place_of(uint32_t by, uint32_t space, uint32_t pd)
{
    for (uint32_t i = 0; i < CR_TOMBSTONES_EACH && all->refs[by][i].entry != 0; i++) {
        const cr_tombstone *tombstone = &all->at[all->refs[by][i].entry - 1];
        if (tombstone->is_pd == (space == 0) && tombstone->number == (space != 0 ? space : pd)) {
            return i;
        }
    }
    return CR_TOMBSTONES_EACH;
}

void cr_tombstone_told(const cr_pd *pd, const cr_work_notice *notice)
{
    uint32_t space = notice->space;
    switch (notice->kind) {
    case CR_NOTICE_FREE:
    case CR_NOTICE_DISCONNECT:
        space = 0; /* It tells of the PD that is gone. The space is not. */
        break;
    case CR_NOTICE_DESTROY:
    case CR_NOTICE_LOST:
        break;
    default:
        return;
    }
    const uint32_t place = place_of(cr_receiver(pd), space, notice->pd);
    cr_tombstone_ref *ref = &all->refs[cr_receiver(pd)][place % CR_TOMBSTONES_EACH];
    /* A notice from before was about what the PD did while it lived. */
    if (place < CR_TOMBSTONES_EACH && notice->token >= ref->since && --ref->notices == 0) {
        drop(cr_receiver(pd), place);
    }
}

void cr_tombstone_forget(const cr_pd *pd)
{
    for (uint32_t i = 0; i < CR_TOMBSTONES_EACH && all->refs[cr_receiver(pd)][0].entry != 0; i++) {
        drop(cr_receiver(pd), 0);
    }
}

const cr_tombstone *cr_tombstone_of(const cr_pd *by, uint32_t space, uint32_t pd)
{
    const uint32_t place = place_of(cr_receiver(by), space, pd);
    return place < CR_TOMBSTONES_EACH ? &all->at[all->refs[cr_receiver(by)][place].entry - 1] : 0;
}

/* -- their end */

cr_status cr_tombstone_settle(cr_ref node)
{
    cr_tombstone *tombstone = find(node);
    if (tombstone != 0 && tombstone->refs != 0) {
        tombstone->settled = 1;
        return CR_OK;
    }
    if (tombstone != 0) {
        free_entry(tombstone);
    }
    return cr_model_release(cr_sys.model, node);
}

void cr_tombstones_release(void)
{
    for (uint32_t i = 0; all->due > 0 && i < all->used; i++) {
        cr_tombstone *tombstone = &all->at[i];
        if (!tombstone->used || !tombstone->settled || tombstone->refs != 0) {
            continue;
        }
        if (cr_model_release(cr_sys.model, tombstone->node) != CR_OK) {
            cr_panic("a tombstone cannot be released", tombstone->node.index);
        }
        free_entry(tombstone);
        all->due--;
    }
}
