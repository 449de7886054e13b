/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that does at random what such a PD can do, good and bad. Its name is the seed,
 * begins with c if it is a child, and goes on with q if it does nothing bad. What it finds must be
 * right whatever others do: if it is not, it faults at an address that says which line found that.
 */
#include <microkit.h>

#include "now.h"

enum {
    NONE = 62, /* of channels and children */
    REGIONS = 4,
    CHANNELS = 12,
    CHILDREN = 3,
    WORDS = 12,
    FUEL = 48, /* steps of an instance: so no two PDs go on for ever */
    DIED = 2,
    HARMFUL = 3, /* the labels of what no program should send: so many from here on */
    KINDS = 17,
    ANSWERED = 77, /* callers of the policy */
    HONEST = 100,  /* the labels of calls */
    LABELS = 1000,
    EPOCHS = 1000,
    OTHERS = 3, /* words of a region that no PD chooses */
    PAGE = 4096,
    WRONG = 0xbad0000,
    INPUT = 1,
    FAULTS = 2,
    REPLY = 4,
    CHILD_SLOTS = 202,
    UNTOUCHED = 0x5a,
};

/* The description sets those that are there. A region is there once, to read or to write. */
unsigned long reads0, reads1, reads2, reads3, writes0, writes1, writes2, writes3;
unsigned long size0, size1, size2, size3;
unsigned long paddr0, paddr1, paddr2, paddr3;
unsigned long bytes0, bytes1, bytes2, bytes3; /* of the file that fills it */
unsigned long channel0 = NONE, channel1 = NONE, channel2 = NONE, channel3 = NONE;
unsigned long channel4 = NONE, channel5 = NONE, channel6 = NONE, channel7 = NONE;
unsigned long channel8 = NONE, channel9 = NONE, channel10 = NONE, channel11 = NONE;
unsigned long child0 = NONE, child1 = NONE, child2 = NONE;
unsigned long clock_vaddr;

static unsigned long *const readable[REGIONS] = {&reads0, &reads1, &reads2, &reads3};
static unsigned long *const writable[REGIONS] = {&writes0, &writes1, &writes2, &writes3};
static unsigned long *const sizes[REGIONS] = {&size0, &size1, &size2, &size3};
static const unsigned long *const paddrs[REGIONS] = {&paddr0, &paddr1, &paddr2, &paddr3};
static const unsigned long *const bytes[REGIONS] = {&bytes0, &bytes1, &bytes2, &bytes3};
static unsigned long *const channels[CHANNELS] = {&channel0, &channel1, &channel2,  &channel3,
                                                  &channel4, &channel5, &channel6,  &channel7,
                                                  &channel8, &channel9, &channel10, &channel11};
static unsigned long *const children[CHILDREN] = {&child0, &child1, &child2};

static unsigned long random_state, danger, epochs[REGIONS];
static unsigned fuel;
static int forgot; /* whom it was to answer: it received another message since */
static volatile unsigned starts;
static volatile unsigned char zeros[5000];
static volatile unsigned long filled[600] = {[0 ... 599] = UNTOUCHED};

void _start(void);

static void wrong(unsigned line)
{
    microkit_dbg_puts(microkit_name);
    microkit_dbg_puts(": WRONG ");
    microkit_dbg_put32(line);
    microkit_dbg_puts("\n");
    *(volatile unsigned *)(unsigned long)(WRONG + 4 * line) = 0;
}

#define MUST(what) ((what) ? (void)0 : wrong(__LINE__))

static unsigned long any(unsigned long limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % limit;
}

/* One of the bits of a set that is not empty. */
static unsigned one_of(seL4_Word set)
{
    unsigned at = (unsigned)any(64);
    while ((set >> at & 1) == 0) {
        at = (at + 1) % 64;
    }
    return at;
}

/* The number in the system of one of its channels. */
static unsigned number_of(microkit_channel channel)
{
    unsigned number = 0;
    while (number < CHANNELS && *channels[number] != channel) {
        number++;
    }
    return number;
}

/* A word of a region says where it is. The first ones are the epoch, how many words were filled and
 * are never 0 again, and the physical address, if somebody was told it. */
static void touch(unsigned region)
{
    const unsigned long at = OTHERS + any(*sizes[region] / 8 - OTHERS);
    const unsigned long mark = (unsigned long)(region + 1) << 24 | at;
    const unsigned long start = *writable[region] + *readable[region];
    volatile unsigned long *const words = (volatile unsigned long *)start;
    if (start == 0) {
        return;
    }
    MUST(words[at] == 0 || words[at] >> 32 == mark);
    MUST(words[0] >= epochs[region] && words[0] < EPOCHS);
    epochs[region] = words[0];
    const unsigned long filled_words = words[1];
    MUST(at >= filled_words || words[at] != 0);
    MUST(filled_words == 0 || *bytes[region] == 0 || filled_words * 8 == *bytes[region]);
    const unsigned long paddr = words[2];
    MUST(paddr % PAGE == 0 && (paddr == 0 || *paddrs[region] == 0 || paddr == *paddrs[region]));
    if (*writable[region] != 0) {
        words[at] = mark << 32 | any(1UL << 32);
        words[2] = *paddrs[region] != 0 ? *paddrs[region] : paddr;
    }
}

static void call(microkit_channel channel)
{
    const unsigned long label = HONEST + any(LABELS), count = any(WORDS + 1);
    unsigned long sent[WORDS + 1];
    for (unsigned i = 0; i < count; i++) {
        sent[i] = i == 0 ? number_of(channel) : any(~0UL);
        microkit_mr_set((seL4_Uint8)i, sent[i]);
    }
    const microkit_msginfo answer =
        microkit_ppcall(channel, microkit_msginfo_new(label, (seL4_Uint16)count));
    const unsigned long with = microkit_msginfo_get_label(answer);
    if (with == DIED || with == ANSWERED || (with >= HARMFUL && with < HARMFUL + KINDS)) {
        MUST(with != ANSWERED || microkit_msginfo_get_count(answer) == 0);
        return;
    }
    MUST(with == label + 1);
    MUST(microkit_msginfo_get_count(answer) == count);
    for (unsigned i = 0; i < count; i++) {
        MUST(microkit_mr_get((seL4_Uint8)i) == ~sent[i]);
    }
}

static int is_quiet(void)
{
    return microkit_name[1] == 'q';
}

static void of_child(microkit_child child)
{
    if (child == NONE || is_quiet()) {
        return;
    }
    if (any(2) == 0) {
        microkit_pd_stop(child);
    } else {
        microkit_pd_restart(child, (seL4_Word)_start);
    }
}

/* The clock interrupts at once. */
static void arm_clock(void)
{
#ifdef __riscv
    enum { DATA = 0, HIGH = 1, MATCH = 2, MATCH_HIGH = 3, MASK = 4, CLEAR = 7 };
#else
    enum { DATA = 0, MATCH = 1, MASK = 4, CLEAR = 7 };
#endif
    volatile unsigned *const clock = (volatile unsigned *)clock_vaddr;
    if (clock == 0) {
        return;
    }
    clock[MASK] = 1;
    const unsigned time = clock[DATA];
    clock[CLEAR] = 1;
#ifdef __riscv
    clock[MATCH_HIGH] = clock[HIGH];
#endif
    clock[MATCH] = time;
}

/* What no program should do. It harms nobody but those that are connected with this one. */
static void harm(void)
{
    seL4_Word badge;
    const unsigned long place = 1UL << 37 | (any(1UL << 36) & ~7UL); /* no region is there */
    volatile unsigned long *const memory = (volatile unsigned long *)place;
    const seL4_CPtr slot = any(CHILD_SLOTS);
    const seL4_MessageInfo_t message =
        seL4_MessageInfo_new(HARMFUL + any(KINDS), 0, any(2), any(20));
    switch (any(16)) {
    case 0:
        (void)*memory;
        return;
    case 1:
        *memory = place;
        return;
    case 2:
        *(volatile unsigned long *)(unsigned long)_start = 0;
        return;
    case 3:
        ((void (*)(void))place)();
        return;
    case 4:
        ((void (*)(void))filled)();
        return;
    case 5:
#ifdef __riscv
        __asm__ volatile("unimp");
#else
        __asm__ volatile("udf #0");
#endif
        return;
    case 6:
        while (any(~0UL) != 0) {
        }
        return;
    case 7:
        forgot = 1;
        (void)seL4_Recv(INPUT, &badge, REPLY);
        return;
    case 8:
        forgot = 1;
        (void)seL4_NBRecv(INPUT, &badge, REPLY);
        return;
    case 9:
        (void)seL4_Call(FAULTS, message);
        return;
    case 10:
        seL4_Send(slot, message);
        return;
    case 11:
        seL4_NBSend(slot, message);
        return;
    case 12:
        (void)seL4_Call(slot, message);
        return;
    case 13:
        forgot = 1;
        (void)seL4_Recv(slot, &badge, any(2) == 0 ? REPLY : slot);
        return;
    case 14:
        (void)seL4_TCB_SetPriority(CHILD_SLOTS + child0, CHILD_SLOTS + child0, any(256));
        (void)seL4_TCB_UnbindNotification(CHILD_SLOTS + child0);
        return;
    default:
        for (unsigned i = 0; i < REGIONS; i++) {
            *(volatile unsigned long *)*readable[i] = 0;
        }
    }
}

static void step(void)
{
    const seL4_Word may_signal = microkit_notifications;
    if (fuel == 0) {
        return;
    }
    fuel--;
    switch (any(12)) {
    case 0:
    case 1:
        if (may_signal != 0) {
            microkit_notify(one_of(may_signal));
        }
        return;
    case 2:
        if (may_signal != 0) {
            microkit_deferred_notify(one_of(may_signal));
        }
        return;
    case 3:
    case 4:
    case 5:
        if (microkit_pps != 0) {
            call(one_of(microkit_pps));
        }
        return;
    case 6:
    case 7:
        touch((unsigned)any(REGIONS));
        return;
    case 8:
        for (unsigned long i = any(20000); i > 0; i--) {
            __asm__ volatile("" ::: "memory");
        }
        return;
    case 9:
        of_child((microkit_child)*children[any(CHILDREN)]);
        return;
    case 10:
        if (microkit_irqs != 0) {
            arm_clock();
            if (any(2) == 0) {
                microkit_irq_ack(one_of(microkit_irqs));
            } else {
                microkit_deferred_irq_ack(one_of(microkit_irqs));
            }
        }
        return;
    default:
        if (any(100) < danger) {
            harm();
        }
    }
}

static void steps(unsigned long most)
{
    for (unsigned long i = any(most + 1); i > 0; i--) {
        step();
    }
}

/* Only a child can be restarted with the memory that it had. */
static void look_at_memory(void)
{
    const int fresh = starts++ == 0;
    MUST(fresh || microkit_name[0] == 'c');
    for (unsigned i = 0; i < sizeof(zeros); i++) {
        MUST(fresh ? zeros[i] == 0 : zeros[i] == 0 || zeros[i] == UNTOUCHED);
        zeros[i] = UNTOUCHED;
    }
    for (unsigned i = 0; i < sizeof(filled) / sizeof(filled[0]); i++) {
        MUST(filled[i] == UNTOUCHED || (!fresh && filled[i] == 0));
        filled[i] = 0;
    }
}

void init(void)
{
    random_state = 0xcbf29ce484222325;
    for (const char *at = microkit_name; *at != '\0'; at++) {
        random_state = (random_state ^ (unsigned char)*at) * 0x100000001b3;
    }
    danger = is_quiet() || any(3) == 0 ? 0 : any(2) == 0 ? 5 : 60;
    if (any(2) == 0) {
        random_state ^= now() + 1; /* each instance does something else */
    }
    look_at_memory();
    fuel = starts < 4 ? FUEL : 0;
    steps(8);
}

void notified(microkit_channel channel)
{
    if ((microkit_irqs >> channel & 1) != 0) {
        steps(2);
        if (any(4) != 0) {
            microkit_deferred_irq_ack(channel);
        }
        return;
    }
    MUST(number_of(channel) < CHANNELS);
    steps(3);
}

microkit_msginfo protected(microkit_channel channel, microkit_msginfo message)
{
    const unsigned long label = microkit_msginfo_get_label(message);
    const unsigned long count = microkit_msginfo_get_count(message);
    unsigned long got[WORDS + 1];
    if (label < HARMFUL + KINDS) {
        return microkit_msginfo_new(0, 0);
    }
    MUST(count <= WORDS && label >= HONEST && label < HONEST + LABELS);
    for (unsigned i = 0; i < count; i++) {
        got[i] = microkit_mr_get((seL4_Uint8)i);
    }
    MUST(number_of(channel) < CHANNELS && (count == 0 || got[0] == number_of(channel)));
    forgot = 0;
    steps(4);
    if (forgot) {
        return microkit_msginfo_new(HARMFUL, 0);
    }
    for (unsigned i = 0; i < count; i++) {
        microkit_mr_set((seL4_Uint8)i, ~got[i]);
    }
    return microkit_msginfo_new(label + 1, (seL4_Uint16)count);
}

seL4_Bool fault(microkit_child child, microkit_msginfo message, microkit_msginfo *answer)
{
    MUST(child == child0 || child == child1 || child == child2);
    (void)message;
    *answer = microkit_msginfo_new(0, 0);
    forgot = 0;
    steps(2);
    if (any(3) == 0) {
        return !forgot;
    }
    of_child(child);
    return seL4_False;
}
