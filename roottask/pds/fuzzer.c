/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sends messages of all kinds to whoever it has a capability to: any operation or none, any length, any words, with
 * any capabilities along, called, sent, or sent if somebody waits. Between two bursts of them it takes part in the
 * rounds, does the work that it was given, and gives back what it was granted, so that the system does not run full.
 *
 * Argument 0: the seed. 1: how many messages; 0: 100,000. 2: what it may do besides, though that would be its end:
 * FUZZ_EXIT and so on. It says at the end what became of them. */
#include "client.h"

enum {
    FUZZ_EXIT = 1,      /* EXIT */
    FUZZ_FAULTS = 2,    /* messages that are faults, over its fault capability */
    FUZZ_CAP_FAULTS = 4, /* calls of capabilities beyond its CSpace: faults of its own */
    FUZZ_LOSE_WORK = 8, /* GET_WORK that nobody takes the answer of: such a notice is never acknowledged */
};

enum {
    MESSAGES = 100000,
    BURSTS = 16,
    HONEST = 64,   /* messages from one honest look at its work to the next */
    KEPT = 64,     /* numbers out of answers that it remembers */
    GRANTED = 8,   /* spaces, resources, and PDs, that it keeps of each */
    FIRST_LABEL_FREE = 0x1000, /* larger than any kernel's label of a fault */
    MOST_LENGTH = 127          /* seven bits: more than a message may have */
};

typedef enum way { CALL, SEND, NBSEND } way;

static uint64_t state;
static uint64_t kept[KEPT];
static uint32_t n_kept;
static uint64_t tokens[KEPT];
static uint32_t n_tokens;
static uint32_t spaces[GRANTED];
static uint32_t n_spaces;
static uint32_t bodies[GRANTED];
static uint32_t n_bodies;
static uint32_t resources;
static uint32_t own_space;
static uint64_t sent;
static uint64_t answered;
static uint64_t refused;

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

static int may(uint32_t flag)
{
    return (cr_info()->args[2] & flag) != 0;
}

static void keep(uint64_t value)
{
    kept[n_kept++ % KEPT] = value;
}

/* -- what it was granted, and owes */

static void take_tokens(const uint64_t *work)
{
    for (uint32_t i = 0; i < work[1] && i < CR_WORK_MAX && n_tokens < KEPT; i++) {
        tokens[n_tokens++] = work[2 + i * CR_WORK_WORDS];
    }
}

/* Finishes all that it was handed out, in that order, and fetches the rest. */
static void do_work(void)
{
    uint64_t work[2 + CR_WORK_MAX * CR_WORK_WORDS];
    do {
        for (uint32_t i = 0; i < n_tokens; i++) {
            uint64_t one[3] = {1, tokens[i], CR_WORK_DONE};
            (void)cr_request(CR_OP_FINISH_WORK, one, 3, 0, 0); /* Refused if a message of chance finished it. */
        }
        n_tokens = 0;
        if (cr_request(CR_OP_GET_WORK, 0, 0, work, 2 + CR_WORK_MAX * CR_WORK_WORDS) != CR_RESULT_OK) {
            return;
        }
        take_tokens(work);
    } while (n_tokens != 0);
}

static void give_back(void)
{
    for (uint32_t i = 0; i < n_spaces; i++) {
        uint64_t argument = spaces[i];
        (void)cr_request(CR_OP_DELETE_SPACE, &argument, 1, 0, 0);
    }
    for (uint32_t i = 0; i < n_bodies; i++) {
        (void)cr_request_with_pd(CR_OP_TERMINATE, bodies[i], 0, 0, 0, 0);
    }
    uint64_t argument = own_space;
    (void)cr_request(CR_OP_DELETE_SPACE, &argument, 1, 0, 0);
    n_spaces = 0;
    n_bodies = 0;
    resources = 0;
    (void)cr_create_space(cr_info()->spaces[0].type, cr_info()->spaces[0].name, &own_space);
    keep(own_space);
}

/* Whoever called it is answered; the badge is worth keeping. */
static void answer_client(uint64_t badge)
{
    keep(badge);
    if (cr_badge_kind_of(badge) == CR_BADGE_REQUEST || cr_badge_kind_of(badge) == CR_BADGE_RESOURCE) {
        seL4_Reply(seL4_MessageInfo_new(CR_REPLY_BASE + 1, 0, 0, 0));
    }
}

static void answer_clients(void)
{
    seL4_Word badge = 1;
    for (uint32_t i = 0; i < 4 && badge != 0; i++) {
        badge = 0;
        (void)seL4_NBRecv(CR_SLOT_ENDPOINT, &badge);
        answer_client(badge);
    }
}

/* -- messages */

static uint64_t some_word(void)
{
    static const uint64_t edges[] = {
        0,          1,           16,          17,          32,           33,                    CR_SAY_MAX,
        0xfffffffe, 0xffffffffu, 0x100000000, 0x100000001, ~(uint64_t)0, 0x8000000000000000u,   CR_PROTOCOL_MAGIC,
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

static void put_text(uint32_t at, uint32_t words, const char *text)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < words; i++) {
        uint64_t word = 0;
        for (uint32_t k = 0; k < 8 && text[n] != '\0'; k++) {
            word |= (uint64_t)(uint8_t)text[n++] << (8 * k);
        }
        seL4_SetMR((int)(at + i), word);
    }
}

static const char *some_name(void)
{
    static const char *const made_up[] = {"one", "two", "three", "nothing", "idler", "~", "disk1", "files"};
    const cr_startup *info = cr_info();
    uint32_t which = below(12);
    if (which < 2 && info->n_requests != 0) {
        return info->requests[below(info->n_requests)];
    }
    return which == 2 ? info->spaces[0].name : made_up[below(sizeof(made_up) / sizeof(made_up[0]))];
}

/* Fills the registers with what an operation might want, or with anything. Returns how many count. */
static uint32_t fill(uint64_t label)
{
    static const uint8_t usual[CR_OP_COUNT] = {1, 2, 2, 2, 7, 2, 2, 3, 6, 2, 4, 3, 2, 3, 4, 5,
                                               5, 1, 4, 5, 1, 3, 5, 3, 2, 2, 3, 2, 3, 1, 6};
    for (uint32_t i = 0; i < seL4_MsgMaxLength; i++) {
        seL4_SetMR((int)i, some_word());
    }
    if (below(16) != 0) {
        seL4_SetMR(0, CR_PROTOCOL_MAGIC);
    }
    if (below(4) != 0) {
        switch (label) {
        case CR_OP_CREATE_SPACE:
            put_text(1, CR_TYPE_WORDS, below(8) != 0 ? "FUZZ" : "PD");
            put_text(1 + CR_TYPE_WORDS, CR_NAME_WORDS, some_name());
            break;
        case CR_OP_SPAWN:
            put_text(1, CR_NAME_WORDS, below(2) == 0 ? "idler" : some_name());
            break;
        case CR_OP_CONNECT:
            put_text(1, CR_NAME_WORDS, some_name());
            break;
        case CR_OP_FINISH_WORK:
            seL4_SetMR(1, 1);
            seL4_SetMR(2, n_tokens != 0 ? tokens[below(n_tokens)] : next());
            seL4_SetMR(3, below(4));
            break;
        default:
            break;
        }
    }
    if (label == CR_OP_DISCONNECT && seL4_GetMR(1) < own_space && below(256) != 0) {
        seL4_SetMR(1, own_space); /* Its rights to make spaces and PDs, once dropped, do not come back. */
    }
    uint32_t length = label < CR_OP_COUNT ? usual[label] + below(2) : below(8);
    return below(4) == 0 ? below(MOST_LENGTH + 1) : length;
}

/* Any operation, but those that would be its end only if it may. */
static uint64_t some_label(way how)
{
    uint32_t kind = below(16);
    uint64_t label = kind == 0 ? next() >> 12 : kind == 1 ? below(64) : 1 + below(CR_OP_COUNT - 1);
    int grants = label == CR_OP_CREATE_SPACE || label == CR_OP_CREATE_RESOURCE || label == CR_OP_SPAWN;
    uint32_t has = label == CR_OP_CREATE_SPACE ? n_spaces : label == CR_OP_SPAWN ? n_bodies : resources;
    int full = has >= GRANTED;
    int waits = label == CR_OP_CHECKPOINT || label == CR_OP_CONNECT || label == CR_OP_TICKET;
    int dear = label == CR_OP_SAY || label == CR_OP_TERMINATE; /* many lines in the trace */
    if ((label == CR_OP_EXIT && !may(FUZZ_EXIT)) || (dear && below(32) != 0) ||
        (label == CR_OP_SPAWN && below(32) != 0) ||
        /* What is granted has to be given back, so the answer is wanted. */
        (grants && (how != CALL || full)) || (label == CR_OP_GET_WORK && how != CALL && !may(FUZZ_LOSE_WORK)) ||
        /* Called, these wait until everybody else does. */
        (waits && how == CALL && below(64) != 0)) {
        return CR_OP_HOLDS;
    }
    return label;
}

static void look_at_answer(uint64_t label, seL4_MessageInfo_t tag)
{
    uint64_t results[2 + CR_WORK_MAX * CR_WORK_WORDS] = {0};
    uint32_t length = (uint32_t)seL4_MessageInfo_get_length(tag);
    if (seL4_MessageInfo_get_label(tag) != CR_RESULT_OK) {
        refused++;
        return;
    }
    answered++;
    for (uint32_t i = 0; i < length && i < 2 + CR_WORK_MAX * CR_WORK_WORDS; i++) {
        results[i] = seL4_GetMR((int)i);
    }
    for (uint32_t i = 0; i < length && i < 4; i++) {
        keep(results[i]);
    }
    switch (label) {
    case CR_OP_CREATE_SPACE:
        spaces[n_spaces++] = (uint32_t)results[0];
        break;
    case CR_OP_CREATE_RESOURCE:
        resources++;
        break;
    case CR_OP_SPAWN:
        bodies[n_bodies++] = (uint32_t)results[0];
        break;
    case CR_OP_GET_WORK:
        take_tokens(results);
        break;
    default:
        break;
    }
}

/* A slot of its CSpace, or with a message that nobody waits with anything. */
static seL4_CPtr some_slot(way how)
{
    uint32_t kind = below(8);
    if (kind == 0 && (how == NBSEND || may(FUZZ_CAP_FAULTS))) {
        return next();
    }
    return kind < 5 && n_bodies != 0  ? bodies[below(n_bodies)]
           : kind < 6                 ? CR_SLOT_FIRST_FREE + below(8)
                                      : below(1u << cr_info()->cspace_bits);
}

static void send_one(void)
{
    uint32_t pick = below(16);
    way how = pick < 12 ? CALL : pick < 14 ? SEND : NBSEND;
    seL4_CPtr to = below(8) != 0 ? CR_SLOT_ROOT : below(4) == 0 ? CR_SLOT_FAULT : some_slot(how);
    if (to == CR_SLOT_FAULT && how == CALL) {
        how = SEND; /* Nobody answers there. */
    }
    uint64_t label = some_label(how);
    if (to == CR_SLOT_FAULT && !may(FUZZ_FAULTS)) {
        label |= FIRST_LABEL_FREE;
    }
    uint32_t extra = label == CR_OP_SEND || label == CR_OP_SHARE_REQUEST || label == CR_OP_TERMINATE ? 1 : 0;
    extra = below(8) == 0 ? below(4) : extra;
    uint32_t length = fill(label);
    for (uint32_t i = 0; i < 3; i++) {
        seL4_SetCap((int)i, some_slot(how));
    }
    seL4_MessageInfo_t tag = seL4_MessageInfo_new(label, below(8), extra, length);
    sent++;
    switch (how) {
    case CALL: {
        seL4_MessageInfo_t answer = seL4_Call(to, tag);
        if (to == CR_SLOT_ROOT) {
            look_at_answer(label, answer);
        }
        break;
    }
    case SEND:
        seL4_Send(to, tag);
        break;
    case NBSEND:
        seL4_NBSend(to, tag);
        break;
    }
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    uint64_t count = info->args[1] != 0 ? info->args[1] : MESSAGES;
    uint32_t slot;
    uint32_t space;
    int rounds = 1;
    cr_line line = {0};
    state = info->args[0];
    if (info->n_spaces != 1 ||
        cr_create_space(info->spaces[0].type, info->spaces[0].name, &own_space) != CR_RESULT_OK) {
        cr_say_text("no space to fuzz with");
        cr_exit(1);
    }
    keep(own_space);
    for (uint32_t i = 0; i < info->n_requests; i++) {
        if (cr_connect(info->requests[i], 1, &slot, &space) == CR_RESULT_OK) {
            keep(space);
            keep(slot);
        }
    }
    for (uint64_t burst = 0; burst < BURSTS; burst++) {
        uint64_t end = count * (burst + 1) / BURSTS;
        while (sent < end) {
            send_one();
            if (sent % HONEST == 0) {
                do_work();
                answer_clients();
            }
        }
        do_work();
        give_back();
        do_work();
        if (rounds) {
            rounds = cr_next_round();
        }
    }
    cr_put_number(cr_put(&line, "sent "), sent);
    cr_put_number(cr_put(&line, ": answered "), answered);
    cr_say(cr_put_number(cr_put(&line, ", refused "), refused));
    for (;;) {
        seL4_Word badge;
        (void)seL4_Recv(CR_SLOT_ENDPOINT, &badge); /* Signals arrive here too. */
        answer_client(badge);
        do_work();
    }
}
