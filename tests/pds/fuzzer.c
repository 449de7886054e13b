/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that sends random messages over all its capabilities: any operation or none, any length,
 * any words, with any capabilities along; called, sent, or sent without blocking. It uses what
 * it learns from answers in later messages, so that each operation also succeeds at times.
 * Between two bursts of messages it takes part in the rounds, handles its notices, and gives
 * back what it was granted, so that the system does not run full. It answers its clients with
 * random messages. At the end it prints counts of its messages
 * and their results.
 *
 * Argument 0: the seed.
 * Argument 1: the number of messages; 0 means 100,000.
 * Argument 2: what else it does now and then: bits FUZZ_EXIT and so on. Most of them destroy it.
 * Argument 3: a PD number. From this number on it ignores argument 2, so that a fuzzer that is
 * respawned again and again survives at last; 0 means never. */
#include "storage.h"

CR_ASKS_WITHOUT_LIBRARY

enum {
    FUZZ_EXIT = 1,   /* the operation EXIT */
    FUZZ_FAULTS = 2, /* messages in the form of faults, over its fault capability */
    /* calls to, or messages with, capabilities beyond its CSpace: faults of its own */
    FUZZ_CAP_FAULTS = 4,
    /* GET_WORK without receiving the answer: that notice is never acknowledged */
    FUZZ_LOSE_WORK = 8,
    FUZZ_CALL_FAULT = 16, /* calls to its fault capability, which are refused */
    FUZZ_TERMINATES = 32, /* more TERMINATE than otherwise */
    /* those that send a message of their own */
    FUZZ_COMPOSED = FUZZ_EXIT | FUZZ_FAULTS | FUZZ_CAP_FAULTS | FUZZ_CALL_FAULT
};

enum {
    MESSAGES = 100000,
    BURSTS = 16,
    HONEST = 64,  /* messages between two honest looks at its notices */
    ENDS = 300,   /* average number of messages between two that may destroy it */
    KEPT = 64,    /* numbers out of answers that it remembers */
    OWED = 64,    /* notices that it has fetched */
    GRANTED = 8,  /* how many spaces, resources and PDs it keeps, of each */
    ALLOWED = 16, /* edges that it allows each of its servers to make for it */
    UNSEEN = 4,   /* most PDs that it makes by messages whose answer it does not receive */
    FIRST_LABEL_FREE = 0x1000, /* larger than the label of any kernel fault */
    SHORTEST_FAULT = 2,        /* message registers of the shortest fault message */
    MOST_LENGTH = 127,         /* seven bits: more than a message may have */
    USUAL = 16,                /* message registers that no usual operation exceeds */
    MOST_CAPS = 3,
    PD_SPACE = 2,            /* the number of the second core space */
    PROGRAM_BEGIN = 0x400000 /* of each PD, as pd.ld has it */
};

typedef enum way { CALL, SEND, NBSEND, WAYS } way;

static const char *const way_names[WAYS] = {"called", "sent", "sent if awaited"};

/* Kinds of capability that a PD can have. FOREIGN: an empty slot, or no slot of its CSpace. */
typedef enum cap_kind {
    CAP_FOREIGN,
    CAP_ROOT,
    CAP_ENDPOINT,
    CAP_NOTIFICATION,
    CAP_FAULT,
    CAP_REQUEST,
    CAP_RESOURCE,
    CAP_PD,
    CAP_KINDS
} cap_kind;

static const char *const cap_names[CAP_KINDS] = {"foreign", "root",    "endpoint", "notification",
                                                 "fault",   "request", "resource", "pd"};

/* A space of its own (object 0), a resource, a request (object 0), or a PD (space PD_SPACE).
 * Slot 0: it has no capability. */
typedef struct thing {
    uint32_t space;
    uint32_t object;
    uint32_t slot;
} thing;

typedef struct list {
    uint32_t count;
    thing of[GRANTED];
} list;

typedef struct message {
    way how;
    seL4_CPtr to;
    uint64_t label;
    uint32_t length;
    uint32_t extra;
    seL4_CPtr caps[MOST_CAPS];
} message;

enum { WORDS = 8 };

static uint64_t state;
static uint64_t kept[KEPT];
static uint32_t n_kept;
static cr_work_entry owed[OWED];
static uint32_t n_owed;
static list spaces;
static list objects;
static list bodies;
static list blocks;   /* resources that servers gave to it */
static list memories; /* memory objects, and regions */
static thing requests[CR_STARTUP_REQUESTS];
static uint32_t own_space; /* 0: must be created again */
/* number of the request that the message connects to, or CR_STARTUP_REQUESTS */
static uint32_t wanted;
static uint32_t failed; /* space of the notice that failed last, or 0 */
static uint64_t client; /* badge; 0: none received yet */
static uint64_t mapped[4];
static uint32_t unseen;
static int leaving; /* a server may be about to be destroyed, and then answers no message */
static int last_burst;

static uint64_t words[WORDS]; /* of the last message */
static uint64_t sent;
static uint64_t answered;
static uint64_t refused;
static uint64_t accepted[CR_OP_COUNT];
static uint64_t results[CR_RESULT_COUNT];
static uint64_t to_root[WAYS];
static uint64_t to_fault[WAYS];
static uint64_t short_faults;
static uint64_t replies[2]; /* without capabilities, and with */
static uint64_t transit[WAYS][CAP_KINDS];

/* splitmix64 */
static uint64_t next(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)(next() % n);
}

/* Whether the operation destroys PDs. Their end may wait for this PD. */
static int terminates(uint64_t label)
{
    return label == CR_OP_TERMINATE || label == CR_OP_TERMINATE_TREE || label == CR_OP_COLLECT;
}

static int does(uint32_t flags)
{
    const cr_startup *info = cr_info();
    return (info->args[2] & flags) != 0 && (info->args[3] == 0 || info->pd < info->args[3]);
}

static void keep(uint64_t value)
{
    kept[n_kept++ % KEPT] = value;
}

/* -- what the fuzzer has */

static void add(list *to, uint64_t space, uint64_t object, uint64_t slot)
{
    if (to->count < GRANTED) {
        to->of[to->count++] = (thing){(uint32_t)space, (uint32_t)object, (uint32_t)slot};
    }
}

/* object 0: all entries of that space */
static void forget(list *from, uint64_t space, uint64_t object)
{
    for (uint32_t i = from->count; i > 0; i--) {
        if (from->of[i - 1].space == space && (object == 0 || from->of[i - 1].object == object)) {
            from->of[i - 1] = from->of[--from->count];
        }
    }
}

static void forget_space(uint64_t space)
{
    forget(&spaces, space, 0);
    forget(&objects, space, 0);
    forget(&blocks, space, 0);
    own_space = own_space == space ? 0 : own_space;
    for (uint32_t i = 0; i < cr_info()->n_requests; i++) {
        requests[i].slot = requests[i].space == space ? 0 : requests[i].slot;
    }
}

static cap_kind kind_of(seL4_CPtr slot)
{
    const cr_startup *info = cr_info();
    if (slot >= CR_SLOT_ROOT && slot <= CR_SLOT_FAULT) {
        return CAP_ROOT + (cap_kind)(slot - CR_SLOT_ROOT);
    }
    for (uint32_t i = 0; i < info->n_pds; i++) {
        if (slot == info->pds[i].slot) {
            return CAP_PD;
        }
    }
    for (uint32_t i = 0; i < GRANTED; i++) {
        if (i < bodies.count && slot == bodies.of[i].slot) {
            return CAP_PD;
        }
        if (i < blocks.count && slot == blocks.of[i].slot) {
            return CAP_RESOURCE;
        }
    }
    for (uint32_t i = 0; i < info->n_requests; i++) {
        if (slot != 0 && slot == requests[i].slot) {
            return CAP_REQUEST;
        }
    }
    return CAP_FOREIGN;
}

_Static_assert(CAP_FAULT - CAP_ROOT == CR_SLOT_FAULT - CR_SLOT_ROOT,
               "the first four kinds as their slots");

static void connect(void)
{
    for (uint32_t i = 0; i < cr_info()->n_requests; i++) {
        if (requests[i].slot == 0 && cr_connect(cr_info()->requests[i], 0, &requests[i].slot,
                                                &requests[i].space) == CR_RESULT_OK) {
            keep(requests[i].space);
            (void)cr_allow(requests[i].space, ALLOWED);
        }
    }
}

static void make_own_space(void)
{
    if (own_space == 0 && cr_create_space(cr_info()->spaces[0].type, cr_info()->spaces[0].name,
                                          &own_space) != CR_RESULT_OK) {
        own_space = 0;
    }
    keep(own_space);
}

/* -- notices to acknowledge */

static void take_work(const uint64_t *work)
{
    for (uint32_t i = 0; i < work[1] && i < CR_WORK_MAX && n_owed < OWED; i++) {
        const uint64_t *at = &work[2 + i * CR_WORK_WORDS];
        owed[n_owed++] = (cr_work_entry){
            (cr_notice_kind)work[0], at[0], (uint32_t)at[1], (uint32_t)at[2], (uint32_t)at[3],
            (uint32_t)at[4],         0};
        if (work[0] == CR_NOTICE_LOST || (work[0] == CR_NOTICE_DESTROY && at[2] == 0)) {
            forget_space(at[1]);
        }
        keep(at[0]);
    }
}

/* Finishes all notices that it fetched, in that order, some as failed, and fetches the ready
 * ones. Random messages may name these until the next look. Returns whether there were any. */
static int look_at_work(void)
{
    uint64_t work[2 + CR_WORK_MAX * CR_WORK_WORDS];
    for (uint32_t i = 0; i < n_owed; i++) {
        int fails = owed[i].kind != CR_NOTICE_EXTRACT && owed[i].kind != CR_NOTICE_PRE_DESTROY &&
                    below(4) == 0;
        uint64_t one[3] = {1, owed[i].token, fails ? CR_WORK_FAILED : CR_WORK_DONE};
        /* This is refused if a random message has finished it already. */
        if (cr_call_root(CR_OP_FINISH_WORK, one, 3, 0, 0) == CR_RESULT_OK && fails) {
            failed = owed[i].space;
        }
    }
    n_owed = 0;
    if (does(FUZZ_LOSE_WORK) && below(2) == 0) {
        seL4_SetMR(0, CR_PROTOCOL_MAGIC);
        seL4_Send(CR_SLOT_ROOT, seL4_MessageInfo_new(CR_OP_GET_WORK, 0, 0, 1));
    }
    if (cr_call_root(CR_OP_GET_WORK, 0, 0, work, 2 + CR_WORK_MAX * CR_WORK_WORDS) == CR_RESULT_OK) {
        take_work(work);
    }
    leaving &= n_owed != 0; /* no cleanup waits for this PD any more */
    return n_owed != 0;
}

static void do_work(void)
{
    while (look_at_work()) {
    }
}

/* Makes the root task hand out failed notices again, for all spaces that the fuzzer knows. */
static void resume(void)
{
    (void)cr_resume_work(own_space);
    for (uint32_t i = 0; i < spaces.count; i++) {
        (void)cr_resume_work(spaces.of[i].space);
    }
    for (uint32_t i = 0; i < cr_info()->n_requests; i++) {
        (void)cr_resume_work(requests[i].space);
    }
    (void)cr_resume_work(failed);
    failed = 0;
}

static void give_back(void)
{
    for (uint32_t i = 0; i < bodies.count; i++) {
        (void)cr_call_root_with_pd(CR_OP_TERMINATE, bodies.of[i].slot, 0, 0, 0, 0);
        do_work(); /* If the fuzzer subscribed to that PD, the cleanup waits for it. */
    }
    for (uint32_t i = 0; i < spaces.count; i++) {
        uint64_t argument = spaces.of[i].space;
        (void)cr_call_root(CR_OP_DELETE_SPACE, &argument, 1, 0, 0);
    }
    for (uint32_t i = 0; i < blocks.count; i++) {
        uint64_t arguments[2] = {blocks.of[i].space, blocks.of[i].object};
        (void)cr_call_root(CR_OP_RELEASE, arguments, 2, 0, 0);
    }
    for (uint32_t i = 0; i < memories.count; i++) {
        uint64_t arguments[2] = {memories.of[i].space, memories.of[i].object};
        (void)cr_call_root(CR_OP_RELEASE, arguments, 2, 0, 0);
    }
    uint64_t argument = own_space;
    (void)cr_call_root(CR_OP_DELETE_SPACE, &argument, 1, 0, 0);
    spaces.count = 0;
    objects.count = 0;
    bodies.count = 0;
    blocks.count = 0;
    memories.count = 0;
    own_space = 0;
    make_own_space();
}

/* -- messages */

static uint64_t some_word(void)
{
    static const uint64_t edges[] = {
        0,
        1,
        16,
        17,
        32,
        33,
        CR_SAY_MAX,
        0xfffffffe,
        0xffffffffu,
        0x100000000,
        0x100000001,
        ~(uint64_t)0,
        0x8000000000000000u,
        CR_PROTOCOL_MAGIC,
    };
    switch (below(8)) {
    case 0:
        return next();
    case 1:
        return edges[below(sizeof(edges) / sizeof(edges[0]))];
    case 2:
    case 3:
        return kept[below(KEPT)];
    case 4:
        return cr_badge((cr_badge_kind)below(CR_BADGE_KIND_COUNT), below(16), below(3));
    case 5:
        return own_space;
    default:
        return below(8);
    }
}

static void put_text(uint32_t at, uint32_t count, const char *text)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t word = 0;
        for (uint32_t k = 0; k < 8 && text[n] != '\0'; k++) {
            word |= (uint64_t)(uint8_t)text[n++] << (8 * k);
        }
        seL4_SetMR((int)(at + i), word);
    }
}

static const char *some_name(void)
{
    static const char *const made_up[] = {"one",   "two", "three", "nothing",
                                          "idler", "~",   "disk1", "files"};
    const cr_startup *info = cr_info();
    uint32_t which = below(12);
    if (which < 2 && info->n_requests != 0) {
        return info->requests[below(info->n_requests)];
    }
    return which == 2 ? info->spaces[0].name : made_up[below(sizeof(made_up) / sizeof(made_up[0]))];
}

static uint32_t some_request(void)
{
    return cr_info()->n_requests != 0 ? below(cr_info()->n_requests) : 0;
}

/* A PD that it created, or one whose capability it got at its start. */
static seL4_CPtr some_body(void)
{
    const cr_startup *info = cr_info();
    if (bodies.count != 0 && (info->n_pds == 0 || below(2) == 0)) {
        return bodies.of[below(bodies.count)].slot;
    }
    return info->n_pds != 0 ? info->pds[below(info->n_pds)].slot : CR_SLOT_FIRST_FREE;
}

/* A slot of its CSpace; with a non-blocking send, any value. */
static seL4_CPtr some_slot(way how)
{
    switch (below(8)) {
    case 0:
        return how == NBSEND ? next() : below(1u << cr_info()->cspace_bits);
    case 1:
        return CR_SLOT_ROOT + below(CR_SLOT_FAULT);
    case 2:
        return requests[some_request()].slot;
    case 3:
        return blocks.count != 0 ? blocks.of[below(blocks.count)].slot
                                 : requests[some_request()].slot;
    default:
        return some_body();
    }
}

static thing some_own(void)
{
    return objects.count != 0 ? objects.of[below(objects.count)]
                              : (thing){own_space, 1 + below(4), 0};
}

/* A target that one of its own spaces or resources may be mapped to. */
static thing some_target(int is_space)
{
    if (is_space) {
        return (thing){below(2) == 0 && spaces.count != 0 ? spaces.of[below(spaces.count)].space
                                                          : requests[some_request()].space,
                       0, 0};
    }
    return blocks.count != 0 && below(2) == 0 ? blocks.of[below(blocks.count)] : some_own();
}

static thing some_memory(void)
{
    return memories.count != 0 ? memories.of[below(memories.count)] : some_own();
}

static void put_thing(int at, thing it)
{
    seL4_SetMR(at, it.space);
    seL4_SetMR(at + 1, it.object);
}

static const cr_work_entry *some_owed(cr_notice_kind kind)
{
    for (uint32_t i = 0; i < n_owed; i++) {
        if (owed[i].kind == kind) {
            return &owed[i];
        }
    }
    return 0;
}

static void fill_pieces(uint32_t count)
{
    const cr_work_entry *question = some_owed(CR_NOTICE_EXTRACT);
    seL4_SetMR(1, question != 0 ? question->token : next());
    seL4_SetMR(2, count);
    for (uint32_t i = 0; i < count; i++) {
        thing from = some_own();
        int is_space = (question != 0 && question->space != from.space) || below(4) == 0;
        seL4_SetMR((int)(3 + i * CR_SUBGRAPH_WORDS), is_space ? 0 : from.object);
        put_thing((int)(4 + i * CR_SUBGRAPH_WORDS), some_target(is_space));
    }
}

/* Fills the registers with values that the operation is likely to accept. */
static void fill_well(message *m)
{
    const cr_work_entry *fault = some_owed(CR_NOTICE_FAULT);
    const cr_work_entry *lost = some_owed(CR_NOTICE_LOST);
    const cr_work_entry *ending = some_owed(CR_NOTICE_PRE_DESTROY);
    uint32_t parts = 1 + below(2);
    switch (m->label) {
    case CR_OP_CREATE_SPACE:
        put_text(1, CR_TYPE_WORDS, below(8) != 0 ? "FUZZ" : "PD");
        put_text(1 + CR_TYPE_WORDS, CR_NAME_WORDS, m->how == CALL ? some_name() : "unseen");
        break;
    case CR_OP_DELETE_SPACE:
        seL4_SetMR(1, spaces.count != 0 ? spaces.of[below(spaces.count)].space : next());
        break;
    case CR_OP_CREATE_RESOURCE:
        seL4_SetMR(1, below(4) != 0 || spaces.count == 0 ? own_space
                                                         : spaces.of[below(spaces.count)].space);
        break;
    case CR_OP_GIVE:
    case CR_OP_TAKE_BACK:
        seL4_SetMR(3, client);
        put_thing(1, some_own());
        break;
    case CR_OP_DELETE_RESOURCE:
    case CR_OP_SEND:
    case CR_OP_HOLDS:
        put_thing(1, some_own());
        break;
    case CR_OP_RELEASE:
        put_thing(1, some_target(0));
        break;
    case CR_OP_SHARE_REQUEST:
        seL4_SetMR(1, below(2) == 0 ? own_space : requests[some_request()].space);
        break;
    case CR_OP_MAP: {
        int is_space = below(2) == 0;
        thing from = some_own();
        from.object = is_space ? 0 : from.object;
        put_thing(1, from);
        put_thing(3, some_target(is_space));
        break;
    }
    case CR_OP_UNMAP:
        for (uint32_t i = 0; i < 4; i++) {
            seL4_SetMR((int)i + 1, mapped[i]);
        }
        break;
    case CR_OP_SPAWN:
        put_text(1, CR_NAME_WORDS, below(2) == 0 ? "idler" : some_name());
        break;
    case CR_OP_CONNECT:
        wanted = some_request();
        put_text(1, CR_NAME_WORDS, cr_info()->requests[wanted]);
        break;
    case CR_OP_DISCONNECT:
        seL4_SetMR(1, requests[some_request()].space);
        break;
    case CR_OP_FINISH_WORK:
        seL4_SetMR(1, parts);
        for (uint32_t i = 0; i < parts; i++) {
            seL4_SetMR((int)(2 + 2 * i), n_owed != 0 ? owed[below(n_owed)].token : next());
            seL4_SetMR((int)(3 + 2 * i), below(8) != 0 ? below(CR_WORK_RESULT_COUNT) : next());
        }
        m->length = 2 + 2 * parts;
        break;
    case CR_OP_RESUME_WORK:
        seL4_SetMR(1, failed);
        break;
    case CR_OP_FAULT_INFO:
        seL4_SetMR(1, fault != 0 ? fault->token : next());
        break;
    case CR_OP_SUBGRAPH:
        fill_pieces(parts);
        m->length = 3 + CR_SUBGRAPH_WORDS * parts;
        break;
    case CR_OP_ALLOW:
        seL4_SetMR(1, below(2) == 0 ? 0 : requests[some_request()].space);
        seL4_SetMR(2, seL4_GetMR(1) == 0 ? below(16) : 0);
        seL4_SetMR(3, below(ALLOWED));
        break;
    case CR_OP_SUBSCRIBE:
    case CR_OP_UNSUBSCRIBE:
        seL4_SetMR(1, below(2) == 0   ? 0
                      : below(2) == 0 ? own_space
                                      : requests[some_request()].space);
        break;
    case CR_OP_PROGRESS: /* the cleanup that began last */
        seL4_SetMR(1, 0);
        break;
    case CR_OP_POST_MORTEM:
        seL4_SetMR(1, lost != 0 ? lost->space : 0);
        seL4_SetMR(2, lost != 0 ? lost->pd : next());
        break;
    case CR_OP_PIN:
        seL4_SetMR(1, below(2));
        break;
    case CR_OP_DUMP:
    case CR_OP_SAVE:
        seL4_SetMR(1, ending != 0 ? ending->pd : next());
        seL4_SetMR(2, PROGRAM_BEGIN);
        break;
    case CR_OP_ALLOCATE:
        seL4_SetMR(1, 1 + below(2));
        seL4_SetMR(2, 0);
        break;
    case CR_OP_ATTACH:
        put_thing(1, some_memory());
        seL4_SetMR(3, CR_ATTACHED_BEGIN + ((uint64_t)below(GRANTED) << CR_LARGE_PAGE_BITS));
        seL4_SetMR(4, below(2));
        break;
    case CR_OP_BACK:
        put_thing(1, some_own());
        put_thing(3, some_memory());
        seL4_SetMR(5, below(2));
        break;
    default:
        break;
    }
}

static void fill_words(uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end && i < seL4_MsgMaxLength; i++) {
        seL4_SetMR((int)i, some_word());
    }
}

/* Number of registers of an operation's usual message, computed from the forms of CR_OPERATIONS.
 * Where a message has rows, one row counts. */
#define NUMBER(member) +1
#define WORD(member) +1
#define FLAG(member) +1
#define FLAG_OR_NOT(member)
#define HANDLER_OR_NOT(member)
#define DEPTH(member) +1
#define COUNT(member) +1
#define WORK_RESULT(member) +1
#define TYPE(member) +CR_TYPE_WORDS
#define NEW_NAME(member) +CR_NAME_WORDS
#define NAME(member) +CR_NAME_WORDS
#define TEXT(member) +1
#define ROWS(member) +1 + (ROW_OF_##member)
#define PD(member)
#define PD_OR_NOT(member)
#define NO_ARGUMENTS

#define CR_ROW_FORM(member, type, most, forms) ROW_OF_##member = 0 forms,
enum { CR_ROW_FORMS };
#undef CR_ROW_FORM

#define CR_OPERATION(enumerator, number, word, topic, arguments, ...) [enumerator] = 1 arguments,
static const uint8_t usual[CR_OP_COUNT] = {1, CR_OPERATIONS};
#undef CR_OPERATION

/* Fills the registers with likely or with random values. */
static void fill(message *m)
{
    fill_words(0, USUAL);
    if (below(16) != 0) {
        seL4_SetMR(0, CR_PROTOCOL_MAGIC);
    }
    m->length = m->label < CR_OP_COUNT ? usual[m->label] + below(2) : below(8);
    wanted = CR_STARTUP_REQUESTS;
    if (below(4) != 0) {
        fill_well(m);
    }
    if (below(6) == 0) {
        m->length = below(MOST_LENGTH + 1);
        fill_words(USUAL, m->length);
    }
}

/* An operation, or a label that is none. Operations that are possible only at times, and so are
 * rare, are made likely. */
static uint64_t some_label(void)
{
    uint32_t kind = below(32);
    if (kind == 0 && some_owed(CR_NOTICE_FAULT) != 0) {
        return CR_OP_FAULT_INFO;
    }
    if (kind == 1 && failed != 0) {
        return CR_OP_RESUME_WORK;
    }
    if (kind == 2 && n_owed != 0) {
        return CR_OP_FINISH_WORK;
    }
    if (kind < 9 && some_owed(CR_NOTICE_EXTRACT) != 0) {
        return CR_OP_SUBGRAPH;
    }
    return kind < 6 ? next() >> 12 : kind < 9 ? below(64) : 1 + below(CR_OP_COUNT - 1);
}

/* Whether to skip an operation because it is expensive: it waits for all other PDs, or prints
 * many lines on the console, which take most of the time of a run. */
static int is_dear(const message *m)
{
    switch (m->label) {
    case CR_OP_CHECKPOINT:
        return below(m->how == CALL ? 64 : 8) != 0;
    case CR_OP_DELETE_RESOURCE: /* What others hold may outlive them. */
        return below(8) != 0;
    case CR_OP_CREATE_RESOURCE:
    case CR_OP_SEND:
        return below(2) != 0;
    case CR_OP_CONNECT:
    case CR_OP_CREATE_SPACE:
    case CR_OP_DISCONNECT:
    case CR_OP_TICKET:
    case CR_OP_LISTEN:
    case CR_OP_SUBSCRIBE: /* Subscriptions are counted, and each is a row of the state. */
        return below(4) != 0;
    case CR_OP_SAY:
        return below(32) != 0;
    case CR_OP_TERMINATE:
    case CR_OP_TERMINATE_TREE:
    case CR_OP_COLLECT:
        return below(does(FUZZ_TERMINATES) ? 8 : 64) != 0;
    case CR_OP_SPAWN:
    case CR_OP_EXTRACT:
        return below(64) != 0;
    default:
        return 0;
    }
}

/* Makes a message invalid, so that the root task refuses it. */
static void spoil(message *m)
{
    seL4_SetMR(0, CR_PROTOCOL_MAGIC ^ ((uint64_t)1 << below(64)));
    m->length = below(2) == 0 ? m->length : 0;
}

/* Changes messages that would destroy the fuzzer, or fill the system for good. */
static void restrain(message *m)
{
    int full = 0;
    switch (m->label) {
    case CR_OP_EXIT:
        spoil(m);
        break;
    case CR_OP_GET_WORK:
        if (m->how != CALL) {
            spoil(m);
        }
        full = n_owed + CR_WORK_MAX > OWED;
        break;
    case CR_OP_CREATE_SPACE:
        full = m->how == CALL && spaces.count == GRANTED;
        break;
    case CR_OP_DELETE_SPACE:
        /* Its own space is mostly kept: without it, few operations could succeed. */
        if (seL4_GetMR(1) == own_space && below(8) != 0) {
            seL4_SetMR(1, next());
        }
        break;
    case CR_OP_CREATE_RESOURCE:
        full = objects.count == GRANTED;
        break;
    case CR_OP_SPAWN:
        full = m->how == CALL ? bodies.count == GRANTED : unseen++ >= UNSEEN;
        break;
    case CR_OP_ALLOCATE:
    case CR_OP_ATTACH:
        full = m->how == CALL ? memories.count == GRANTED : unseen++ >= UNSEEN;
        break;
    case CR_OP_RELEASE:
        /* Capabilities to PDs that it had at its start, once released, are not given again. */
        if (seL4_GetMR(1) == PD_SPACE && !last_burst) {
            seL4_SetMR(2, bodies.count != 0 ? bodies.of[0].object : next());
        }
        break;
    case CR_OP_DISCONNECT:
        /* Its rights to create spaces and PDs, once dropped, are not given again. */
        if (seL4_GetMR(1) <= PD_SPACE && !last_burst) {
            seL4_SetMR(1, own_space);
        }
        break;
    default:
        break;
    }
    if (full) {
        spoil(m);
    }
    /* A wait for something that waits for this PD is refused only once, so the fuzzer does not
     * wait. */
    int late = m->label == CR_OP_CHECKPOINT || m->label == CR_OP_CONNECT ||
               m->label == CR_OP_TICKET || terminates(m->label);
    m->how = leaving && late ? NBSEND : m->how;
}

static void compose_for_root(message *m)
{
    m->label = some_label();
    if (is_dear(m)) {
        m->label = CR_OP_HOLDS;
    }
    fill(m);
    int shows = m->label == CR_OP_SEND || m->label == CR_OP_SHARE_REQUEST ||
                m->label == CR_OP_PIN || m->label == CR_OP_TERMINATE ||
                m->label == CR_OP_TERMINATE_TREE || (m->label == CR_OP_SUBSCRIBE && below(2) == 0);
    m->extra = below(8) == 0 ? below(MOST_CAPS + 1) : (uint32_t)shows;
    if (shows && below(8) != 0) {
        /* Only those that it created allow it to send them anything. */
        m->caps[0] = m->label == CR_OP_SEND && bodies.count != 0
                         ? bodies.of[below(bodies.count)].slot
                         : some_body();
    }
    restrain(m);
}

/* If the label is that of a fault, makes the message too short for one. */
static void compose_for_fault(message *m)
{
    m->label = below(2) == 0 ? below(16) : next() >> 12;
    m->how = m->how == CALL ? SEND : m->how; /* No thread answers a call there. */
    fill(m);
    if (m->label < FIRST_LABEL_FREE) {
        m->length = below(SHORTEST_FAULT);
        short_faults++;
    }
    m->extra = below(MOST_CAPS + 1);
}

static void compose_for_other(message *m)
{
    /* The server may wait, by way of the root task, for an acknowledgement of this PD: do not
     * block on it. */
    m->how = leaving ? NBSEND : m->how;
    m->label = below(4) != 0 ? next() >> 12 : ST_READ;
    if (m->how == CALL && blocks.count < GRANTED && below(32) == 0) {
        m->label = ST_ALLOCATE;
    }
    fill(m);
    m->extra = below(MOST_CAPS + 1);
}

/* A message that destroys the fuzzer or may do so, of the kind that argument 2 selects. */
static void compose_end(message *m)
{
    m->label = below(2) == 0 ? below(16) : next() >> 12;
    m->extra = 0;
    if (does(FUZZ_EXIT)) {
        m->to = CR_SLOT_ROOT;
        m->label = CR_OP_EXIT;
        fill(m);
    } else if (does(FUZZ_FAULTS)) {
        m->to = CR_SLOT_FAULT;
        m->how = below(2) == 0 ? SEND : NBSEND;
        m->label = below(8);
        fill(m);
        m->length = below(2) == 0 ? MOST_LENGTH : m->length;
    } else if (does(FUZZ_CAP_FAULTS) && below(2) == 0) {
        m->to = next();
    } else if (does(FUZZ_CAP_FAULTS)) {
        m->to = CR_SLOT_ROOT;
        m->caps[0] = next();
        m->extra = 1;
    } else if (does(FUZZ_CALL_FAULT)) {
        m->to = CR_SLOT_FAULT;
        m->how = CALL;
        m->length = below(SHORTEST_FAULT);
    }
}

/* -- answers */

static void look_at_finished(void)
{
    for (uint64_t i = 0; i < words[1] && 3 + 2 * i < WORDS; i++) {
        for (uint32_t k = n_owed; k > 0; k--) {
            const cr_work_entry *it = &owed[k - 1];
            if (it->token != words[2 + 2 * i]) {
                continue;
            }
            if (words[3 + 2 * i] == CR_WORK_FAILED && it->kind != CR_NOTICE_EXTRACT &&
                it->kind != CR_NOTICE_PRE_DESTROY) {
                failed = it->space;
            }
            for (uint32_t later = k; later < n_owed; later++) {
                owed[later - 1] = owed[later];
            }
            n_owed--;
        }
    }
}

static void look_at_answer(const message *m, seL4_MessageInfo_t tag)
{
    uint64_t got[2 + CR_WORK_MAX * CR_WORK_WORDS] = {0};
    uint32_t length = (uint32_t)seL4_MessageInfo_get_length(tag);
    uint64_t result = seL4_MessageInfo_get_label(tag);
    results[result < CR_RESULT_COUNT ? result : CR_RESULT_FAILED]++;
    if (result != CR_RESULT_OK) {
        refused++;
        return;
    }
    answered++;
    accepted[m->label < CR_OP_COUNT ? m->label : 0]++;
    for (uint32_t i = 0; i < length && i < 2 + CR_WORK_MAX * CR_WORK_WORDS; i++) {
        got[i] = seL4_GetMR((int)i);
    }
    for (uint32_t i = 0; i < length && i < 4; i++) {
        keep(got[i]);
    }
    switch (m->label) {
    case CR_OP_CREATE_SPACE:
        add(&spaces, got[0], 0, 0);
        break;
    case CR_OP_DELETE_SPACE:
        forget_space(words[1]);
        break;
    case CR_OP_CREATE_RESOURCE:
        add(&objects, words[1], got[0], 0);
        break;
    case CR_OP_DELETE_RESOURCE:
        forget(&objects, words[1], words[2]);
        break;
    case CR_OP_RELEASE:
        if (got[0] == 0) {
            forget(words[1] == PD_SPACE ? &bodies : &blocks, words[1], words[2]);
            forget(&memories, words[1], words[2]);
        }
        break;
    case CR_OP_CONNECT:
        if (wanted < CR_STARTUP_REQUESTS) {
            requests[wanted] = (thing){(uint32_t)got[1], 0, (uint32_t)got[0]};
        }
        break;
    case CR_OP_DISCONNECT:
        for (uint32_t i = 0; i < cr_info()->n_requests; i++) {
            requests[i].slot = requests[i].space == words[1] ? 0 : requests[i].slot;
        }
        break;
    case CR_OP_MAP:
        for (uint32_t i = 0; i < 4; i++) {
            mapped[i] = words[1 + i];
        }
        break;
    case CR_OP_SPAWN:
        add(&bodies, PD_SPACE, got[1], got[0]);
        break;
    case CR_OP_ALLOCATE:
    case CR_OP_ATTACH:
        add(&memories, got[0], got[1], 0);
        break;
    case CR_OP_TERMINATE:
    case CR_OP_TERMINATE_TREE:
        for (uint32_t i = 0; i < bodies.count; i++) {
            if (bodies.of[i].slot == m->caps[0]) {
                forget(&bodies, PD_SPACE, bodies.of[i].object);
            }
        }
        break;
    case CR_OP_GET_WORK:
        take_work(got);
        break;
    case CR_OP_FINISH_WORK:
        look_at_finished();
        break;
    case CR_OP_RESUME_WORK:
        failed = 0;
        break;
    default:
        break;
    }
}

static void look_at_block(seL4_MessageInfo_t tag)
{
    if (seL4_MessageInfo_get_label(tag) == ST_OK && seL4_MessageInfo_get_length(tag) == 3) {
        add(&blocks, seL4_GetMR(0), seL4_GetMR(1), seL4_GetMR(2));
        keep(seL4_GetMR(0));
    }
}

static void count_message(const message *m)
{
    sent++;
    to_root[m->how] += m->to == CR_SLOT_ROOT;
    to_fault[m->how] += m->to == CR_SLOT_FAULT;
    if (m->to == CR_SLOT_ROOT && terminates(m->label) &&
        (m->label == CR_OP_COLLECT || (m->extra != 0 && kind_of(m->caps[0]) == CAP_PD))) {
        leaving = 1;
    }
    if (m->to == CR_SLOT_ROOT && m->extra != 0) {
        transit[m->how][kind_of(m->caps[0])]++;
    }
}

static void send_one(void)
{
    uint32_t pick = below(16);
    message m = {.how = pick < 12 ? CALL : pick < 14 ? SEND : NBSEND};
    m.to = below(12) != 0 ? CR_SLOT_ROOT : below(3) == 0 ? CR_SLOT_FAULT : some_slot(m.how);
    for (uint32_t i = 0; i < MOST_CAPS; i++) {
        m.caps[i] = some_slot(m.how);
    }
    if (does(FUZZ_COMPOSED) && below(ENDS) == 0) {
        compose_end(&m);
    } else if (m.to == CR_SLOT_ROOT) {
        compose_for_root(&m);
    } else if (m.to == CR_SLOT_FAULT) {
        compose_for_fault(&m);
    } else {
        compose_for_other(&m);
    }
    for (uint32_t i = 0; i < MOST_CAPS; i++) {
        seL4_SetCap((int)i, m.caps[i]);
    }
    for (uint32_t i = 0; i < WORDS; i++) {
        words[i] = seL4_GetMR((int)i);
    }
    seL4_MessageInfo_t tag = seL4_MessageInfo_new(m.label, below(8), m.extra, m.length);
    count_message(&m);
    switch (m.how) {
    case CALL:
        tag = seL4_Call(m.to, tag);
        if (m.to == CR_SLOT_ROOT) {
            look_at_answer(&m, tag);
        } else if (m.label == ST_ALLOCATE) {
            look_at_block(tag);
        }
        break;
    case SEND:
        seL4_Send(m.to, tag);
        break;
    case NBSEND:
        seL4_NBSend(m.to, tag);
        break;
    case WAYS:
        break;
    }
}

/* -- the clients of the fuzzer */

static void reply_anything(uint64_t label)
{
    uint32_t extra = below(MOST_CAPS + 1);
    uint32_t length = below(2) == 0 ? below(8) : below(MOST_LENGTH + 1);
    fill_words(0, length);
    for (uint32_t i = 0; i < extra; i++) {
        /* With MCS, an answer is a send: a slot that the CSpace does not have is a fault. */
        seL4_SetCap((int)i, some_slot(CR_MCS ? SEND : NBSEND));
    }
    replies[extra != 0]++;
    cr_reply(CR_SLOT_REPLY, seL4_MessageInfo_new(label, below(8), extra, length));
}

/* Answers a message with that badge, and keeps the badge for later messages. */
static void answer(uint64_t badge)
{
    keep(badge);
    switch (cr_badge_kind_of(badge)) {
    case CR_BADGE_REQUEST:
        client = badge;
        reply_anything(below(4) != 0 ? CR_REPLY_BASE + below(4) : next() >> 12);
        break;
    case CR_BADGE_RESOURCE:
        reply_anything(CR_REPLY_BASE + below(4));
        break;
    default:
        break;
    }
}

static void answer_all(void)
{
    seL4_Word badge = 1;
    for (uint32_t i = 0; i < 4 && badge != 0; i++) {
        badge = 0;
        (void)cr_nb_recv(CR_SLOT_ENDPOINT, &badge, CR_SLOT_REPLY);
        answer(badge);
    }
}

static void say_numbers(const char *what, const uint64_t *values, uint32_t first, uint32_t n,
                        const char *const *names)
{
    cr_line line = {0};
    cr_put(cr_put(&line, what), ":");
    for (uint32_t i = first; i < n; i++) {
        cr_put(&line, i > first ? ", " : " ");
        if (names != 0) {
            cr_put(&line, names[i]);
        } else {
            cr_put_number(&line, i);
        }
        cr_put_number(cr_put(&line, " "), values[i]);
    }
    cr_say(&line);
}

static void say_all(void)
{
    static const char *const reply_names[] = {"without", "with"};
    cr_line line = {0};
    cr_put_number(cr_put(&line, "sent "), sent);
    cr_put_number(cr_put(&line, ": answered "), answered);
    cr_say(cr_put_number(cr_put(&line, ", refused "), refused));
    say_numbers("accepted", accepted, 1, CR_OP_COUNT, 0);
    say_numbers("results", results, 0, CR_RESULT_COUNT, 0);
    say_numbers("to root", to_root, 0, WAYS, way_names);
    say_numbers("to fault", to_fault, 0, WAYS, way_names);
    cr_say(cr_put_number(cr_put(&line, "short faults: all "), short_faults));
    for (uint32_t i = 0; i < WAYS; i++) {
        cr_put(cr_put(&line, "in transit, "), way_names[i]);
        line.text[line.used] = '\0';
        say_numbers(line.text, transit[i], 0, CAP_KINDS, cap_names);
        line.used = 0;
    }
    say_numbers("replies", replies, 0, 2, reply_names);
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    uint64_t messages = info->args[1] != 0 ? info->args[1] : MESSAGES;
    int rounds = 1;
    /* a different state for each respawned fuzzer */
    state = info->args[0] + ((uint64_t)info->pd << 32);
    make_own_space();
    if (info->n_spaces != 1 || own_space == 0) {
        cr_say_text("no space to fuzz with");
        cr_exit(1);
    }
    for (uint32_t i = 0; i < info->n_requests; i++) {
        (void)cr_connect(info->requests[i], 1, &requests[i].slot, &requests[i].space);
        (void)cr_allow(requests[i].space, ALLOWED);
        keep(requests[i].space);
    }
    for (uint64_t burst = 0; burst < BURSTS; burst++) {
        uint64_t end = messages * (burst + 1) / BURSTS;
        last_burst = burst + 1 == BURSTS;
        while (sent < end) {
            send_one();
            if (sent % HONEST == 0) {
                (void)look_at_work();
                answer_all();
                make_own_space();
            }
        }
        do_work();
        resume();
        do_work();
        if (!last_burst) {
            give_back();
            connect();
            do_work();
        }
        if (rounds) {
            rounds = cr_next_round();
        }
    }
    say_all();
    for (;;) {
        seL4_Word badge;
        (void)cr_recv(CR_SLOT_ENDPOINT, &badge, CR_SLOT_REPLY); /* Signals arrive here too. */
        answer(badge);
        do_work();
    }
}
