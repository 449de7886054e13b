/* SPDX-License-Identifier: BSD-2-Clause */
#include "local.h"
#include "statements.h"
#include <cellreap/lanes.h>

/* The kernel answers with an error as the label, which is below this. */
enum { KERNEL_ERRORS = 16, COUNTING_WORD = 3 };

/* An ELF note, by which `cellreap build` knows for which version of the protocol a program was
 * built. */
static const struct {
    uint32_t name_bytes;
    uint32_t bytes;
    uint32_t type;
    char name[12]; /* "cellreap" with its NUL, and up to the next word */
    uint32_t version;
} protocol_note __attribute__((used, aligned(4), section(".note.cellreap"))) = {
    9, sizeof(uint32_t), 1, "cellreap", CR_PROTOCOL_VERSION};

void cr_pd_begin(void);
void cr_illegal_instruction(void);

static const char *last_part(const char *path)
{
    const char *part = path;
    for (; *path != '\0'; path++) {
        if (*path == '/') {
            part = path + 1;
        }
    }
    return part;
}

/* Called when an assertion inside libsel4 fails: it becomes a fault of this PD. Most of libsel4 is
 * inlined, so the caller's address is in the function that used it wrongly. */
void __assert_fail(const char *expression, const char *file, int line, const char *function)
{
    cr_line text = {0};
    cr_put(cr_put(&text, "libsel4: assertion failed: "), expression);
    cr_put(cr_put(cr_put(cr_put(&text, ", in "), function), " at "), last_part(file));
    cr_put_number(cr_put(&text, ":"), (uint64_t)line);
    cr_put_hex(cr_put(&text, ", called from 0x"), (uint64_t)__builtin_return_address(0));
    cr_say(&text);
    cr_illegal_instruction();
}

void cr_pd_begin(void)
{
    cr_state_begin();
    cr_main();
    cr_exit(0);
}

cr_result cr_call_root_with_pd(cr_op op, uint32_t pd_slot, const uint64_t *arguments,
                               uint32_t count, uint64_t *results, uint32_t max_results)
{
    cr_state_asks(op, arguments, count);
    seL4_MessageInfo_t tag = seL4_MessageInfo_new((seL4_Word)op, 0, pd_slot != 0, count + 1);
    seL4_SetMR(0, CR_PROTOCOL_MAGIC);
    for (uint32_t i = 0; i < count; i++) {
        seL4_SetMR((int)i + 1, arguments[i]);
    }
    if (pd_slot != 0) {
        seL4_SetCap(0, pd_slot);
    }
    tag = seL4_Call(CR_SLOT_ROOT, tag);
    uint32_t length = (uint32_t)seL4_MessageInfo_get_length(tag);
    for (uint32_t i = 0; i < max_results; i++) {
        results[i] = i < length ? seL4_GetMR((int)i) : 0;
    }
    uint64_t label = seL4_MessageInfo_get_label(tag);
    cr_state_answered(op, label, length);
    return label < CR_RESULT_COUNT ? (cr_result)label : CR_RESULT_FAILED;
}

cr_result cr_call_root(cr_op op, const uint64_t *arguments, uint32_t count, uint64_t *results,
                       uint32_t max_results)
{
    return cr_call_root_with_pd(op, 0, arguments, count, results, max_results);
}

static void put_words(uint64_t *words, uint32_t count, const char *text)
{
    for (uint32_t i = 0; i < count; i++) {
        words[i] = 0;
    }
    for (uint32_t i = 0; i + 1 < count * 8 && text[i] != '\0'; i++) {
        words[i / 8] |= (uint64_t)(uint8_t)text[i] << (8 * (i % 8));
    }
}

_Noreturn void cr_exit(uint64_t code)
{
    for (;;) {
        (void)cr_call_root(CR_OP_EXIT, &code, 1, 0, 0);
    }
}

cr_result cr_create_space_for(const char *type, const char *name, uint32_t pd_slot, uint32_t *space,
                              uint32_t *slot)
{
    uint64_t arguments[CR_TYPE_WORDS + CR_NAME_WORDS];
    uint64_t results[2];
    put_words(arguments, CR_TYPE_WORDS, type);
    put_words(arguments + CR_TYPE_WORDS, CR_NAME_WORDS, name);
    cr_result result = cr_call_root_with_pd(CR_OP_CREATE_SPACE, pd_slot, arguments,
                                            CR_TYPE_WORDS + CR_NAME_WORDS, results, 2);
    *space = (uint32_t)results[0];
    *slot = (uint32_t)results[1];
    return result;
}

cr_result cr_create_space(const char *type, const char *name, uint32_t *space)
{
    uint32_t slot;
    return cr_create_space_for(type, name, 0, space, &slot);
}

uint32_t cr_own_space(void)
{
    uint32_t space;
    const cr_startup *info = cr_info();
    if (info->n_spaces != 1 ||
        cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK) {
        cr_say_text("no space to serve");
        cr_exit(1);
    }
    return space;
}

/* -- the operations that are passed on as they are: cr_give and others, declared in client.h. A
 * form of protocol.h becomes (parameter, what it is used for). */

/* Asks, and takes two numbers out of the answer. first, second: null if they are not wanted. */
static __attribute__((noinline)) cr_result pass_on(cr_op op, uint32_t pd_slot,
                                                   const uint64_t *words, uint32_t count,
                                                   uint32_t *first, uint32_t *second)
{
    uint64_t results[2];
    const cr_result result = cr_call_root_with_pd(op, pd_slot, words, count, results, 2);
    if (first != 0) {
        *first = (uint32_t)results[0];
    }
    if (second != 0) {
        *second = (uint32_t)results[1];
    }
    return result;
}

#define NUMBER(m) , (uint32_t m, words[count++] = m)
#define WORD(m) , (uint64_t m, words[count++] = m)
#define NAME(m)                                                                                    \
    , (const char *m, put_words(&words[count], CR_NAME_WORDS, m); count += CR_NAME_WORDS)
#define FLAG(m) , (int m, words[count++] = m != 0)
#define FLAG_OR_NOT(m) FLAG(m)
#define DEPTH(m) , (uint32_t m, words[count++] = m)
#define COUNT(m) DEPTH(m)
#define PD(m) , (uint32_t m, pd_slot = m)
#define PD_OR_NOT(m) PD(m)
#define RESULT(m) , (uint32_t * m, results[taken++] = m)
#define NO_RESULTS
#define PARAMETER(pair) PARAMETER_ pair
#define PARAMETER_(parameter, use) parameter
#define USE(pair) USE_ pair
#define USE_(parameter, use) use;
/* EACH_3(f, comma, a, b, c): f(a) comma f(b) comma f(c). */
#define EACH_1(f, comma, a) f(a)
#define EACH_2(f, comma, a, ...) f(a) comma() EACH_1(f, comma, __VA_ARGS__)
#define EACH_3(f, comma, a, ...) f(a) comma() EACH_2(f, comma, __VA_ARGS__)
#define EACH_4(f, comma, a, ...) f(a) comma() EACH_3(f, comma, __VA_ARGS__)
#define EACH_5(f, comma, a, ...) f(a) comma() EACH_4(f, comma, __VA_ARGS__)
#define EACH_6(f, comma, a, ...) f(a) comma() EACH_5(f, comma, __VA_ARGS__)
#define EACH(f, comma, ...)                                                                        \
    EACH_OF(__VA_ARGS__, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, EACH_1)(f, comma, __VA_ARGS__)
#define EACH_OF(a, b, c, d, e, f, each, ...) each
#define COMMA() ,
#define NOTHING()
#define FUNCTION(op, word, first, ...)                                                             \
    cr_result cr_##word(EACH(PARAMETER, COMMA, __VA_ARGS__))                                       \
    {                                                                                              \
        uint64_t words[CR_NAME_WORDS + 4];                                                         \
        uint32_t *results[2] = {0, 0};                                                             \
        uint32_t count = 0, taken = 0, pd_slot = 0;                                                \
        words[0] = 0; /* the compiler does not see that nothing is read if there is no argument */ \
        EACH(USE, NOTHING, __VA_ARGS__)                                                            \
        (void)taken;                                                                               \
        return pass_on(op, pd_slot, words, count, results[0], results[1]);                         \
    }
#define PLAIN(...) FUNCTION(__VA_ARGS__)
#define BY_HAND(...)
#define CR_OPERATION(enumerator, number, word, topic, arguments, results, called, ...)             \
    called(enumerator, word, ~arguments results)
CR_OPERATIONS
#undef CR_OPERATION

cr_result cr_connect(const char *name, int wait, uint32_t *slot, uint32_t *space)
{
    uint64_t arguments[CR_NAME_WORDS + 1];
    uint64_t results[2];
    put_words(arguments, CR_NAME_WORDS, name);
    arguments[CR_NAME_WORDS] = !wait;
    cr_result result = cr_call_root(CR_OP_CONNECT, arguments, CR_NAME_WORDS + 1, results, 2);
    *slot = (uint32_t)results[0];
    *space = (uint32_t)results[1];
    return result;
}

cr_result cr_allow(uint32_t space, uint32_t count)
{
    uint64_t arguments[] = {space, 0, count};
    return cr_call_root(CR_OP_ALLOW, arguments, 3, 0, 0);
}

cr_result cr_allow_pd(uint32_t pd_number, uint32_t count)
{
    uint64_t arguments[] = {0, pd_number, count};
    return cr_call_root(CR_OP_ALLOW, arguments, 3, 0, 0);
}

/* Returns how many words may be sent: `count`. More than CR_MAX_WORDS is an error of the program:
 * it becomes a fault of this PD, and nothing is sent if a fault handler lets it go on. */
static uint32_t words_of(const char *what, uint32_t count)
{
    if (count <= CR_MAX_WORDS) {
        return count;
    }
    cr_line text = {0};
    cr_put_number(cr_put(cr_put(&text, what), " is "), count);
    cr_say(cr_put_number(cr_put(&text, ", the maximum is "), CR_MAX_WORDS));
    cr_illegal_instruction();
    return 0;
}

uint32_t cr_call(uint32_t slot, uint32_t label, const uint64_t *words, uint32_t count,
                 uint64_t *reply, uint32_t max, uint32_t *received)
{
    /* A register that has no word of the message counts the calls, so that the root task can tell
     * two calls from one that lasts (call_ms). The kernel does not transfer it. */
    count = words_of("cr_call: count", count);
    seL4_SetMR(COUNTING_WORD, ++cr_here()->calls);
    for (uint32_t i = 0; i < count; i++) {
        seL4_SetMR((int)i, words[i]);
    }
    seL4_MessageInfo_t tag = seL4_Call(slot, seL4_MessageInfo_new(label, 0, 0, count));
    uint64_t answer = seL4_MessageInfo_get_label(tag);
    if (answer < KERNEL_ERRORS) {
        *received = 0;
        return CR_CALL_LOST;
    }
    uint32_t length = (uint32_t)seL4_MessageInfo_get_length(tag);
    *received = length < max ? length : max;
    for (uint32_t i = 0; i < *received; i++) {
        reply[i] = seL4_GetMR((int)i);
    }
    return (uint32_t)answer;
}

/* Performs an operation on a space, or on a PD if `space` is 0. */
static cr_result about(cr_op op, uint32_t space, uint32_t second, uint32_t count, uint32_t pd_slot,
                       uint64_t *state)
{
    uint64_t arguments[] = {space, second};
    return cr_call_root_with_pd(op, space == 0 ? pd_slot : 0, arguments, count, state, state != 0);
}

cr_result cr_subscribe(uint32_t space, uint32_t pd_slot)
{
    return about(CR_OP_SUBSCRIBE, space, 0, 1, pd_slot, 0);
}

cr_result cr_unsubscribe(uint32_t space, uint32_t pd_slot)
{
    return about(CR_OP_UNSUBSCRIBE, space, 0, 1, pd_slot, 0);
}

static cr_result about_handler(cr_op op, uint32_t space, uint32_t pd_slot, uint32_t handler)
{
    return about(op, space, handler, 2, pd_slot, 0);
}

cr_result cr_subscribe_as(uint32_t space, uint32_t pd_slot, uint32_t handler)
{
    return about_handler(CR_OP_SUBSCRIBE, space, pd_slot, handler);
}

cr_result cr_unsubscribe_as(uint32_t space, uint32_t pd_slot, uint32_t handler)
{
    return about_handler(CR_OP_UNSUBSCRIBE, space, pd_slot, handler);
}

cr_result cr_look(uint32_t space, uint32_t object, uint32_t pd_slot, cr_look_state *state)
{
    uint64_t answer = 0;
    cr_result result = about(CR_OP_LOOK, space, object, 2, pd_slot, &answer);
    *state = (cr_look_state)answer;
    return result;
}

static void take_text(char *out, const uint64_t *words, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        out[i] = (char)(words[i / 8] >> (8 * (i % 8)));
    }
    out[bytes - 1] = '\0';
}

cr_result cr_post_mortem(uint32_t space, uint32_t pd, cr_mortem *out)
{
    uint64_t arguments[2] = {space, pd};
    uint64_t words[CR_MORTEM_REGISTERS + CR_MORTEM_REGISTERS_MAX];
    cr_result result = cr_call_root(CR_OP_POST_MORTEM, arguments, 2, words,
                                    CR_MORTEM_REGISTERS + CR_MORTEM_REGISTERS_MAX);
    *out = (cr_mortem){0};
    if (result == CR_RESULT_OK) {
        out->how = (cr_ending)words[CR_MORTEM_HOW];
        out->code = words[CR_MORTEM_CODE];
        out->faulted = words[CR_MORTEM_FAULTED] != 0;
        out->fault = (cr_fault_kind)words[CR_MORTEM_FAULT];
        out->address = words[CR_MORTEM_ADDRESS];
        out->ip = words[CR_MORTEM_IP];
        take_text(out->type, &words[CR_MORTEM_TYPE], sizeof(out->type));
        take_text(out->name, &words[CR_MORTEM_NAME], sizeof(out->name));
        for (uint32_t i = 0; i < CR_MORTEM_REGISTERS_MAX; i++) {
            out->registers[i] = words[CR_MORTEM_REGISTERS + i];
        }
    }
    return result;
}

cr_result cr_dump(uint32_t pd, uint64_t address, uint64_t *words, uint32_t max)
{
    uint64_t arguments[2] = {pd, address};
    return cr_call_root(CR_OP_DUMP, arguments, 2, words, max);
}

static cr_result take_ticket(cr_result result, uint32_t ticket,
                             const uint64_t words[CR_TICKET_WORDS], cr_ticket_info *info)
{
    *info = (cr_ticket_info){0};
    if (result == CR_RESULT_OK) {
        *info = (cr_ticket_info){ticket,
                                 (cr_ticket_state)words[0],
                                 (uint32_t)words[1],
                                 (uint32_t)words[2],
                                 (uint32_t)words[3],
                                 (uint32_t)words[4],
                                 (uint32_t)words[5]};
    }
    return result;
}

static cr_result terminate(cr_op op, uint32_t pd_slot, uint64_t later, uint32_t count,
                           cr_ticket_info *info)
{
    uint64_t results[1 + CR_TICKET_WORDS];
    cr_result result =
        cr_call_root_with_pd(op, pd_slot, &later, count, results, 1 + CR_TICKET_WORDS);
    return take_ticket(result, (uint32_t)results[0], results + 1, info);
}

cr_result cr_terminate(uint32_t pd_slot, cr_ticket_info *info)
{
    return terminate(CR_OP_TERMINATE, pd_slot, 0, 1, info);
}

cr_result cr_terminate_later(uint32_t pd_slot, cr_ticket_info *info)
{
    return terminate(CR_OP_TERMINATE, pd_slot, 1, 1, info);
}

cr_result cr_terminate_tree(uint32_t pd_slot, cr_ticket_info *info)
{
    return terminate(CR_OP_TERMINATE_TREE, pd_slot, 0, 0, info);
}

cr_result cr_collect(cr_ticket_info *info)
{
    uint64_t results[1 + CR_TICKET_WORDS];
    cr_result result = cr_call_root(CR_OP_COLLECT, 0, 0, results, 1 + CR_TICKET_WORDS);
    return take_ticket(result, (uint32_t)results[0], results + 1, info);
}

cr_result cr_ticket(uint32_t ticket, int wait, cr_ticket_info *info)
{
    uint64_t arguments[] = {ticket, wait != 0};
    uint64_t results[CR_TICKET_WORDS];
    cr_result result = cr_call_root(CR_OP_TICKET, arguments, 2, results, CR_TICKET_WORDS);
    return take_ticket(result, ticket, results, info);
}

cr_result cr_listen(uint64_t seen, cr_report_info *report)
{
    uint64_t words[CR_REPORT_WORDS];
    cr_result result = cr_call_root(CR_OP_LISTEN, &seen, 1, words, CR_REPORT_WORDS);
    *report = (cr_report_info){.number = words[CR_REPORT_NUMBER],
                               .kind = (cr_report_kind)words[CR_REPORT_KIND],
                               .cleanup = (uint32_t)words[CR_REPORT_CLEANUP],
                               .pd = (uint32_t)words[CR_REPORT_PD],
                               .step = (uint32_t)words[CR_REPORT_STEP],
                               .steps = (uint32_t)words[CR_REPORT_STEPS],
                               .step_kind = (uint32_t)words[CR_REPORT_STEP_KIND],
                               .space = (uint32_t)words[CR_REPORT_SPACE],
                               .object = (uint32_t)words[CR_REPORT_OBJECT],
                               .attempts = (uint32_t)words[CR_REPORT_ATTEMPTS],
                               .result = (cr_result)words[CR_REPORT_RESULT]};
    return result;
}

cr_result cr_cleanup_progress(uint64_t cleanup, uint64_t *number, uint32_t *done, uint32_t *steps)
{
    uint64_t words[CR_PROGRESS_WORDS];
    cr_result result = cr_call_root(CR_OP_PROGRESS, &cleanup, 1, words, CR_PROGRESS_WORDS);
    *number = words[0];
    *done = (uint32_t)words[1];
    *steps = (uint32_t)words[2];
    return result;
}

cr_result cr_subgraph(uint64_t token, uint32_t count, const cr_piece *pieces)
{
    uint64_t arguments[2 + CR_SUBGRAPH_MAX * CR_SUBGRAPH_WORDS] = {token, count};
    uint32_t sent = count < CR_SUBGRAPH_MAX ? count : CR_SUBGRAPH_MAX;
    for (uint32_t i = 0; i < sent; i++) {
        uint64_t *at = &arguments[2 + i * CR_SUBGRAPH_WORDS];
        at[0] = pieces[i].object;
        at[1] = pieces[i].target_space;
        at[2] = pieces[i].target_object;
    }
    return cr_call_root(CR_OP_SUBGRAPH, arguments, 2 + sent * CR_SUBGRAPH_WORDS, 0, 0);
}

static struct {
    uint32_t count;
    cr_result worst; /* CR_RESULT_OK, or the last error of sending edges for one notice */
    cr_piece pieces[CR_SUBGRAPH_MAX];
} subgraph;

static cr_result send_subgraph(const cr_work_entry *work)
{
    cr_result result = cr_subgraph(work->token, subgraph.count, subgraph.pieces);
    subgraph.count = 0;
    subgraph.worst = result == CR_RESULT_OK ? subgraph.worst : result;
    return result;
}

cr_result cr_report_map(const cr_work_entry *work, uint32_t object, uint32_t target_space,
                        uint32_t target_object)
{
    subgraph.pieces[subgraph.count++] = (cr_piece){object, target_space, target_object};
    return subgraph.count == CR_SUBGRAPH_MAX ? send_subgraph(work) : CR_RESULT_OK;
}

static cr_work_result extract(int (*each)(const cr_work_entry *work), const cr_work_entry *work)
{
    if (each == 0) {
        return CR_WORK_DONE;
    }
    subgraph.count = 0;
    subgraph.worst = CR_RESULT_OK;
    cr_work_result result = (cr_work_result)each(work);
    if (subgraph.count > 0) {
        (void)send_subgraph(work);
    }
    return subgraph.worst == CR_RESULT_OK ? result : CR_WORK_FAILED;
}

static int (*handle_fault)(const cr_fault *fault);

void cr_handle_faults(int (*handle)(const cr_fault *fault))
{
    handle_fault = handle;
}

static cr_work_result answer_fault(const cr_work_entry *work)
{
    uint64_t results[3];
    cr_fault fault = {.pd = work->pd};
    if (handle_fault == 0 ||
        cr_call_root(CR_OP_FAULT_INFO, &work->token, 1, results, 3) != CR_RESULT_OK) {
        return CR_WORK_FAILED;
    }
    fault.kind = (cr_fault_kind)results[0];
    fault.address = results[1];
    fault.ip = results[2];
    return handle_fault(&fault) == 0 ? CR_WORK_DONE : CR_WORK_FAILED;
}

/* Handles one notice. Probes are answered by being fetched and finished. */
static cr_work_result do_one(int (*each)(const cr_work_entry *work),
                             int (*extractor)(const cr_work_entry *work), const cr_work_entry *work)
{
    switch (work->kind) {
    case CR_NOTICE_PROBE:
        return CR_WORK_DONE;
    case CR_NOTICE_FAULT:
        return answer_fault(work);
    case CR_NOTICE_EXTRACT:
        return extract(extractor, work);
    default:
        return each(work) == 0 ? CR_WORK_DONE : CR_WORK_FAILED;
    }
}

static void do_work(int (*each)(const cr_work_entry *work),
                    int (*extractor)(const cr_work_entry *work))
{
    uint64_t results[2 + CR_WORK_MAX * CR_WORK_WORDS];
    uint64_t acknowledge[1 + 2 * CR_WORK_MAX];
    for (;;) {
        if (cr_call_root(CR_OP_GET_WORK, 0, 0, results, 2 + CR_WORK_MAX * CR_WORK_WORDS) !=
                CR_RESULT_OK ||
            results[1] == 0 || results[1] > CR_WORK_MAX) {
            return;
        }
        uint32_t failed[CR_WORK_MAX]; /* spaces */
        uint32_t failures = 0;
        uint32_t finished = 0;
        for (uint32_t i = 0; i < results[1]; i++) {
            const uint64_t *at = &results[2 + i * CR_WORK_WORDS];
            cr_work_entry work = {(cr_notice_kind)results[0],
                                  at[0],
                                  (uint32_t)at[1],
                                  (uint32_t)at[2],
                                  (uint32_t)at[3],
                                  (uint32_t)at[4],
                                  0};
            if (work.kind == CR_NOTICE_PRE_DESTROY) {
                work.handlers = work.object;
                work.object = 0;
            }
            uint32_t f = 0;
            while (f < failures && failed[f] != work.space) {
                f++;
            }
            if (f < failures) {
                continue; /* the root task takes it back together with the failed one */
            }
            cr_work_result result = do_one(each, extractor, &work);
            if (result == CR_WORK_FAILED && cr_notice_stops_its_lane(work.kind)) {
                failed[failures++] = work.space;
            }
            acknowledge[1 + 2 * finished] = work.token;
            acknowledge[2 + 2 * finished] = result;
            finished++;
        }
        acknowledge[0] = finished;
        cr_result taken = cr_call_root(CR_OP_FINISH_WORK, acknowledge, 1 + 2 * finished, 0, 0);
        if (taken == CR_RESULT_FULL) {
            /* The root task has no room to ask resource by resource, so the server cannot
             * report: the notice counts as failed. */
            for (uint32_t i = 0; i < finished; i++) {
                uint64_t *result = &acknowledge[2 + 2 * i];
                *result = *result == CR_WORK_BY_RESOURCE ? (uint64_t)CR_WORK_FAILED : *result;
            }
            taken = cr_call_root(CR_OP_FINISH_WORK, acknowledge, 1 + 2 * finished, 0, 0);
        }
        if (taken != CR_RESULT_OK) {
            return;
        }
    }
}

void cr_do_work(int (*each)(const cr_work_entry *work))
{
    do_work(each, 0);
}

uint32_t cr_rung(void)
{
    const uint32_t bits = cr_here()->rung;
    cr_here()->rung = 0;
    return bits;
}

void cr_poll_work(int (*each)(const cr_work_entry *work))
{
    seL4_Word badge = 0;
    (void)seL4_Poll(CR_SLOT_NOTIFICATION, &badge);
    cr_here()->rung |= cr_badge_index(badge);
    if (badge != 0) {
        cr_do_work(each);
    }
}

void cr_await_signal(int (*each)(const cr_work_entry *work))
{
    seL4_Word badge;
    (void)seL4_Wait(CR_SLOT_NOTIFICATION, &badge);
    cr_here()->rung |= cr_badge_index(badge);
    cr_do_work(each);
}

_Noreturn void cr_wait_for_work(int (*each)(const cr_work_entry *work))
{
    for (;;) {
        cr_state_sum();
        cr_await_signal(each);
    }
}

/* Takes the message that was received. The words behind it are 0. */
static void take_message(cr_incoming *message, seL4_MessageInfo_t tag, seL4_Word badge)
{
    const uint32_t before = message->count;
    uint32_t count = (uint32_t)seL4_MessageInfo_get_length(tag);
    if (count > CR_MAX_WORDS) {
        count = CR_MAX_WORDS;
    }
    message->badge = badge;
    message->label = (uint32_t)seL4_MessageInfo_get_label(tag);
    message->count = count;
    message->reply_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        message->words[i] = seL4_GetMR((int)i);
    }
    for (uint32_t i = count; i < before; i++) {
        message->words[i] = 0;
    }
}

/* One kernel call answers a message and receives the next one. */
_Noreturn void cr_serve(const cr_server *server)
{
    cr_local *const here = cr_here();
    cr_incoming *const message = &here->message;
    seL4_Word badge;
    seL4_MessageInfo_t tag = cr_recv(CR_SLOT_ENDPOINT, &badge, CR_SLOT_REPLY);
    for (;;) {
        if (cr_badge_kind_of(badge) == CR_BADGE_SIGNAL) {
            here->rung |= cr_badge_index(badge);
            if (server->rung != 0 && here->rung != 0) {
                server->rung(cr_rung());
            }
            if (server->work != 0) {
                do_work(server->work, server->extract);
            }
            tag = cr_recv(CR_SLOT_ENDPOINT, &badge, CR_SLOT_REPLY);
            continue;
        }
        take_message(message, tag, badge);
        uint32_t label = server->serve(message);
        message->reply_count = words_of("cr_serve: reply_count", message->reply_count);
        for (uint32_t i = 0; i < message->reply_count; i++) {
            seL4_SetMR((int)i, message->reply[i]);
        }
        tag =
            cr_reply_recv(CR_SLOT_ENDPOINT, seL4_MessageInfo_new(label, 0, 0, message->reply_count),
                          &badge, CR_SLOT_REPLY);
    }
}

cr_line *cr_put(cr_line *line, const char *text)
{
    for (; *text != '\0' && line->used < CR_SAY_MAX; text++) {
        line->text[line->used++] = *text;
    }
    return line;
}

static cr_line *put_base(cr_line *line, uint64_t value, uint64_t base)
{
    char digits[21];
    uint32_t n = sizeof(digits) - 1;
    digits[n] = '\0';
    do {
        digits[--n] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0 && n > 0);
    return cr_put(line, digits + n);
}

cr_line *cr_put_number(cr_line *line, uint64_t value)
{
    return put_base(line, value, 10);
}

cr_line *cr_put_hex(cr_line *line, uint64_t value)
{
    return put_base(line, value, 16);
}

void cr_say(cr_line *line)
{
    uint64_t words[1 + (CR_SAY_MAX + 7) / 8] = {0};
    words[0] = line->used;
    for (uint32_t i = 0; i < line->used; i++) {
        words[1 + i / 8] |= (uint64_t)(uint8_t)line->text[i] << (8 * (i % 8));
    }
    (void)cr_call_root(CR_OP_SAY, words, 1 + (line->used + 7) / 8, 0, 0);
    line->used = 0;
}

void cr_say_text(const char *text)
{
    cr_line line = {0};
    cr_say(cr_put(&line, text));
}

void cr_say_check(const char *name, uint64_t got, uint64_t wanted)
{
    cr_line line = {0};
    cr_put(cr_put(cr_put(&line, "check "), name), ": ");
    if (got == wanted) {
        cr_put(&line, "ok");
    } else {
        cr_put_hex(cr_put(cr_put_hex(cr_put(&line, "FAILED, got "), got), ", wanted "), wanted);
    }
    cr_say(&line);
}
