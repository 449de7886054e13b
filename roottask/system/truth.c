/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Asks the kernel for its capabilities. See truth.h.
 *
 * - A snapshot (seL4_DebugSnapshot) has what is in the CSpace and the address space of each thread,
 *   and a dump (seL4_DebugDumpScheduler) has all threads. The kernel prints both, so nothing but
 *   the kernel's own code stands between its objects and the console.
 * - A walk asks for the type of the capability in every slot of every CSpace
 *   (seL4_DebugCapIdentify), with the root task's own CNodes, which a snapshot leaves out.
 * - The free bytes of an untyped are in the kernel's answer to a retype that needs more than any
 *   untyped has.
 * - Which thread has a scheduling context is in the kernel's answer to a call that gives it to each
 *   thread and can never succeed (cr_ask_sc).
 *
 * seL4 stops in an assertion of its own if a snapshot has a thread that has received a call: it
 * takes the reply capability for one to a thread. On aarch64 the same happens for a thread whose
 * address space maps a page, and in EL2 for every address space. Snapshots leave out threads of the
 * name of seL4's first thread. So all threads have that name during a snapshot, but the probes:
 * threads that never run, each of which has the CSpace and, where it can be printed, the address
 * space of a PD. One more has the pool as its CSpace. */
#include "truth.h"
#include "kernel/arch/arch.h"
#include "kernel/asids.h"
#include "kernel/debug.h"
#include "kernel/objects.h"
#include "kernel/untyped.h"
#include "memory.h"
#include "text.h"

/* The name of the threads that a snapshot leaves out. */
#define LEFT_OUT "rootserver"

enum {
    TEXT_MAX = 1700, /* of a list of slots in one line */
};

_Static_assert(TEXT_MAX + 200 < CR_TRACE_LINE_MAX, "a list and what else is in its line");

/* The types of capabilities that are told apart. */
typedef enum cap_class {
    CLASS_EMPTY = 0,
    CLASS_UNTYPED,
    CLASS_ENDPOINT,
    CLASS_NOTIFICATION,
    CLASS_CNODE,
    CLASS_THREAD,
    CLASS_OTHER,
    CLASS_COUNT
} cap_class;

static const char letters[CLASS_COUNT] = {
    [CLASS_EMPTY] = '-', [CLASS_UNTYPED] = 'u', [CLASS_ENDPOINT] = 'e', [CLASS_NOTIFICATION] = 'n',
    [CLASS_CNODE] = 'c', [CLASS_THREAD] = 't',  [CLASS_OTHER] = 'o',
};

static const char *const cnode_names[] = {
#define CR_CNODE(enumerator, number, word, meaning) [enumerator] = word,
    CR_CNODES
#undef CR_CNODE
};

static const char *const own_names[] = {
#define CR_OWN_CNODE(enumerator, number, word, meaning) [enumerator] = word,
    CR_OWN_CNODES
#undef CR_OWN_CNODE
};

/* The kernel's numbers for these types. They differ between kernels, so each is learned from a
 * capability of that type. */
static uint32_t numbers[CLASS_OTHER];

/* Probes, by index of their PD. The root task's has the pool as its CSpace. */
static seL4_CPtr *probes;
/* An address space without a page, for probes that must not have their PD's. A thread cannot have a
 * CSpace alone, so they lose it again before a snapshot. */
static seL4_CPtr nothing_mapped;

static int tells_time; /* the kernel tells who has whose */

/* Of the last snapshot: the number of PDs, and the number that the next PD was to get. */
static uint32_t pds_then;
static uint32_t made_then;

/* The first block is one of boot time. */
static void learn_numbers(seL4_CPtr notification)
{
    const seL4_CPtr samples[CLASS_OTHER] = {
        [CLASS_EMPTY] = cr_cptr(CR_L1_POOL, CR_POOL_SPARE),
        [CLASS_UNTYPED] = cr_untyped_cap(0),
        [CLASS_ENDPOINT] = cr_sys.endpoint,
        [CLASS_NOTIFICATION] = notification,
        [CLASS_CNODE] = cr_l1_cnode(),
        [CLASS_THREAD] = seL4_CapInitThreadTCB,
    };
    for (uint32_t i = 0; i < CLASS_OTHER; i++) {
        numbers[i] = cr_debug_identify(samples[i]);
        for (uint32_t k = 0; k < i; k++) {
            if (numbers[k] == numbers[i]) {
                cr_panic("the kernel does not tell types of capabilities apart", i);
            }
        }
    }
}

static void give_spaces(seL4_CPtr probe, seL4_CPtr cspace, uint32_t bits, seL4_CPtr vspace)
{
    cr_must(seL4_TCB_SetSpace(probe, 0, cspace, cr_cnode_data(seL4_WordBits - bits), vspace, 0),
            "a probe has no space");
}

uint32_t cr_probes_needed(const cr_image_header *image)
{
    if (image->saved_nodes.count != 0 || image->generations_left != 0) {
        return cr_most.pds;
    }
    for (uint32_t i = 0; i < image->pds.count; i++) {
        if ((cr_image_pds(image)[i].flags & CR_IMAGE_MAY_SPAWN) != 0) {
            return cr_most.pds;
        }
    }
    return image->pds.count + 1;
}

static void make_probes(void)
{
    const uint32_t needed = cr_probes_needed(cr_sys.image);
    CR_TABLE_MAKE(probes, cr_most.pds);
    uint32_t block;
    const uint32_t bits = cr_bits_for(needed) + seL4_TCBBits;
    /* its second half is for the address space */
    if (cr_untyped_take(1 + (bits > cr_arch_vspace_bits ? bits : cr_arch_vspace_bits), 0, &block) !=
        CR_OK) {
        cr_panic("no kernel memory for the probes of snapshots", 0);
    }
    seL4_CPtr untyped = cr_untyped_cap(block);
    for (uint32_t i = 0; i < needed; i++) {
        probes[i] = cr_pool_make(untyped, seL4_TCBObject, "no probe");
        cr_debug_name(probes[i], "probe");
    }
    nothing_mapped = cr_pool_cap();
    cr_must(cr_retype_vspace(untyped, CR_L1_POOL, (uint32_t)nothing_mapped),
            "no address space for the probes");
    cr_must(cr_asid_assign(nothing_mapped), "no number for an address space");
    cr_objects_add(block, CR_OBJECT_ASID);
    give_spaces(probes[0], cr_pool_cnode(), cr_bits_for(cr_most.pool), nothing_mapped);
}

static int takes_snapshots(void)
{
    return (cr_sys.image->flags & CR_IMAGE_TRUTH_SNAPSHOT) != 0;
}

static int tells_all(void)
{
    return (cr_sys.image->flags & CR_IMAGE_TRUTH_WHOLE) != 0;
}

void cr_truth_init(seL4_CPtr notification)
{
    if ((cr_sys.image->flags & CR_IMAGE_TRUTH) == 0) {
        return;
    }
    learn_numbers(notification);
    made_then = cr_sys.pds_made;
    if (takes_snapshots()) {
        make_probes();
        tells_time = cr_tells_time();
    }
}

static cap_class class_of(seL4_CPtr cap)
{
    uint32_t number = cr_debug_identify(cap);
    for (uint32_t i = 0; i < CLASS_OTHER; i++) {
        if (numbers[i] == number) {
            return (cap_class)i;
        }
    }
    return CLASS_OTHER;
}

/* -- a list of slots: "e1,n3,e8-11" */

typedef struct list {
    const cr_pd *pd;
    cr_cnode cnode;
    uint32_t slots;
    char text[TEXT_MAX];
    size_t used;
    int printed;
} list;

static void print_list(list *l)
{
    if (l->used == 0 && l->printed) {
        return;
    }
    cr_trace_begin(&cr_sys.trace, CR_EV_CAPS);
    cr_trace_pd(l->pd);
    cr_trace_string(&cr_sys.trace, cnode_names[l->cnode]);
    cr_trace_number(&cr_sys.trace, l->slots);
    if (l->used == 0) {
        cr_trace_string(&cr_sys.trace, "-");
    } else {
        cr_trace_bytes(&cr_sys.trace, l->text, l->used);
    }
    cr_trace_end(&cr_sys.trace);
    l->used = 0;
    l->printed = 1;
}

static void put_number(list *l, uint32_t number)
{
    char text[24];
    size_t count = cr_format_decimal(text, number);
    for (size_t i = 0; i < count; i++) {
        l->text[l->used++] = text[i];
    }
}

/* Adds the slots first..last, which have capabilities of one type. */
static void add_run(list *l, cap_class class, uint32_t first, uint32_t last)
{
    if (class == CLASS_EMPTY) {
        return;
    }
    if (l->used + 48 > TEXT_MAX) {
        print_list(l);
    }
    if (l->used > 0) {
        l->text[l->used++] = ',';
    }
    l->text[l->used++] = letters[class];
    put_number(l, first);
    if (last != first) {
        l->text[l->used++] = '-';
        put_number(l, last);
    }
}

/* Walks the CNode in an L1 slot, which has a PD's capabilities or the root task's to a PD. */
static void walk(const cr_pd *pd, cr_cnode cnode, uint32_t l1, uint32_t slots)
{
    static list l;
    l = (list){.pd = pd, .cnode = cnode, .slots = slots};
    cap_class run = CLASS_EMPTY;
    uint32_t first = 0;
    for (uint32_t i = 0; i < slots; i++) {
        cap_class class = class_of(cr_cptr(l1, i));
        if (class != run) {
            if (i > 0) {
                add_run(&l, run, first, i - 1);
            }
            run = class;
            first = i;
        }
    }
    add_run(&l, run, first, slots - 1);
    print_list(&l);
}

/* A CNode that has no L1 slot is seen through a copy of its capability in a spare L1 slot. */
static void show(seL4_CPtr cnode, uint32_t bits)
{
    cr_must(cr_cnode_show(cr_slot_at(cnode), bits), "a CNode cannot be shown");
}

static void hide(void)
{
    cr_must(cr_cnode_hide(), "a CNode cannot be hidden");
}

static void walk_pd(const cr_pd *pd)
{
    show(cr_body_cap(&pd->body, CR_BODY_CSPACE), pd->body.cspace_bits);
    walk(pd, CR_CNODE_CSPACE, cr_l1_spare(), 1u << pd->body.cspace_bits);
    hide();
    walk(pd, CR_CNODE_BODY, pd->body.l1,
         1u << cr_bits_for(pd->body.parents + (1u << pd->body.cspace_bits)));
}

static void add_slots(uint64_t *counts, uint32_t l1, uint32_t slots)
{
    for (uint32_t i = 0; i < slots; i++) {
        counts[class_of(cr_cptr(l1, i))]++;
    }
}

/* A page of memory is mapped as long as there is the capability with which it was mapped. */
static void add_memory(uint64_t *counts, cr_ref space)
{
    cr_edge_walk members = cr_model_walk(cr_sys.model, space, CR_EDGE_SUBSET, CR_IN);
    while (cr_model_next(&members)) {
        uint32_t bits;
        const seL4_CPtr cnode = cr_cptr(CR_L1_POOL, cr_sys.node_entry[members.other.index]);
        /* A region of a PD that is left may have no CNode any more. */
        if (cr_memory_cnode_bits(members.other, &bits) && class_of(cnode) != CLASS_EMPTY) {
            show(cnode, bits);
            add_slots(counts, cr_l1_spare(), 1u << bits);
            hide();
        }
    }
}

static void print_counts(cr_own_cnode cnode, const uint64_t *counts)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_OWN_CAPS);
    cr_trace_string(&cr_sys.trace, own_names[cnode]);
    for (uint32_t i = CLASS_UNTYPED; i < CLASS_COUNT; i++) {
        cr_trace_number(&cr_sys.trace, counts[i]);
    }
    cr_trace_end(&cr_sys.trace);
}

/* used: the slots that the root task may have used; the others are told of only on demand. */
static void count(cr_own_cnode cnode, uint32_t l1, uint32_t slots, uint32_t used)
{
    uint64_t counts[CLASS_COUNT] = {0};
    add_slots(counts, l1, tells_all() ? slots : used);
    print_counts(cnode, counts);
}

static void count_memory(void)
{
    uint64_t counts[CLASS_COUNT] = {0};
    add_memory(counts, cr_sys.mo_space);
    add_memory(counts, cr_sys.vmr_space);
    print_counts(CR_OWN_MEMORY, counts);
}

static void count_own(void)
{
    show(cr_l1_cnode(), cr_bits_for(cr_most.bodies));
    count(CR_OWN_LEVEL_1, cr_l1_spare(), cr_most.bodies, CR_L1_BODIES + cr_most.pds);
    hide();
    count(CR_OWN_BOOT, CR_L1_BOOT, 1u << cr_boot_bits(), 0);
    count(CR_OWN_POOL, CR_L1_POOL, cr_most.pool, cr_pool_top());
    count(CR_OWN_UNTYPEDS, CR_L1_UNTYPEDS, cr_most.blocks, cr_untyped_top());
    count_memory();
}

/* The kernel keeps the CSpaces and address spaces of the last snapshot in mind, and adds those that
 * are new. Some releases write past the end of their list. */
static int has_room_for_snapshot(void)
{
    return 1 + pds_then + cr_sys.pds_made - made_then <= CR_SEEN_MAX;
}

void cr_truth_leave_out(seL4_CPtr tcb)
{
    if (takes_snapshots()) {
        cr_debug_name(tcb, LEFT_OUT);
    }
}

static void print_snapshot(void)
{
    const int tables = (cr_sys.image->flags & CR_IMAGE_TRUTH_TABLES) != 0;
    pds_then = 0;
    made_then = cr_sys.pds_made;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_body *body = &cr_sys.pds[i].body;
        if (cr_pd_exists(&cr_sys.pds[i])) {
            pds_then++;
            cr_truth_leave_out(cr_body_cap(body, CR_BODY_TCB));
            const seL4_CPtr vspace = cr_body_cap(body, CR_BODY_VSPACE);
            /* That of a thread which is left may have gone with its process. */
            const int has = tables && class_of(vspace) != CLASS_EMPTY;
            give_spaces(probes[i], cr_body_cap(body, CR_BODY_CSPACE), body->cspace_bits,
                        has ? vspace : nothing_mapped);
        }
    }
    if (!tables) {
        const cr_slot at = cr_slot_at(nothing_mapped);
        cr_must(seL4_CNode_Revoke(at.root, at.index, at.depth), "the probes keep an address space");
    }
    cr_debug_threads();
    cr_debug_snapshot();
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        if (cr_pd_is_up(&cr_sys.pds[i])) {
            cr_debug_name(cr_body_cap(&cr_sys.pds[i].body, CR_BODY_TCB), cr_sys.pds[i].name);
        }
    }
}

/* -- whose time is where */

static const cr_pd *who_has_time_of(const cr_pd *pd)
{
    const seL4_CPtr sc = cr_body_cap(&pd->body, CR_BODY_SC);
    if (cr_has_time(sc, probes[0])) {
        return 0; /* The probe would be given it. */
    }
    if (cr_has_time(sc, cr_body_cap(&pd->body, CR_BODY_TCB))) {
        return pd;
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *other = &cr_sys.pds[i];
        if (cr_pd_exists(other) && cr_has_time(sc, cr_body_cap(&other->body, CR_BODY_TCB))) {
            return other;
        }
    }
    return &cr_sys.pds[0];
}

static const cr_pd *called_by(const cr_pd *pd)
{
    uint32_t slot;
    return cr_called_slot(pd, &slot) == CR_OK && slot != 0 ? cr_called_over(pd, slot) : 0;
}

static void tell_times(void)
{
    if (!tells_time) {
        return;
    }
    /* The kernel of a debug build prints a line about each call that it refuses. */
    cr_trace_flush(&cr_sys.trace);
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_exists(pd)) {
            const cr_pd *at = who_has_time_of(pd);
            cr_trace_begin(&cr_sys.trace, CR_EV_TIME);
            cr_trace_pd(pd);
            cr_trace_pd_or_none(at);
            cr_trace_pd_or_none(called_by(pd));
            cr_trace_end(&cr_sys.trace);
        }
    }
}

static void take_snapshot(int wanted)
{
    const int can = wanted && takes_snapshots() && has_room_for_snapshot();
    cr_trace_begin(&cr_sys.trace, CR_EV_TRUTH);
    cr_trace_number(&cr_sys.trace, (uint64_t)can);
    cr_trace_end(&cr_sys.trace);
    if (can) {
        cr_trace_flush(&cr_sys.trace);
        print_snapshot();
    }
}

void cr_truth(cr_truth_when when)
{
    if ((cr_sys.image->flags & CR_IMAGE_TRUTH) == 0) {
        return;
    }
    const int anew = when != CR_TRUTH_BETWEEN || tells_all();
    take_snapshot(anew);
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        if (cr_pd_exists(&cr_sys.pds[i])) {
            walk_pd(&cr_sys.pds[i]);
        }
    }
    tell_times();
    count_own();
    /* So it does about each retype that it refuses. */
    cr_trace_flush(&cr_sys.trace);
    const cr_untyped_sums sums = cr_untyped_ask(anew);
    cr_trace_begin(&cr_sys.trace, CR_EV_UNTYPEDS);
    cr_trace_number(&cr_sys.trace, sums.blocks);
    cr_trace_number(&cr_sys.trace, sums.bytes);
    cr_trace_number(&cr_sys.trace, sums.halves);
    cr_trace_end(&cr_sys.trace);
}
