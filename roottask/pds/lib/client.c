/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"
#include "../../sel4/fault.h"

/* Kernel errors are labels below this; cr_result is not mixed up with them, see cr_request. */
enum { KERNEL_ERRORS = 16 };

seL4_IPCBuffer *__sel4_ipc_buffer;

void cr_pd_begin(void);
void cr_illegal_instruction(void);

#ifdef CONFIG_DEBUG_BUILD
/* libsel4's own assertions end here: as a fault of this PD. */
void __assert_fail(const char *expression, const char *file, int line, const char *function)
{
    (void)expression;
    (void)file;
    (void)line;
    (void)function;
    cr_illegal_instruction();
}
#endif

void cr_pd_begin(void)
{
    seL4_SetIPCBuffer((seL4_IPCBuffer *)CR_VADDR_IPC_BUFFER);
    cr_main();
    cr_exit(0);
}

static cr_result request(cr_op op, uint32_t pd_slot, const uint64_t *arguments, uint32_t count, uint64_t *results,
                         uint32_t max_results)
{
    seL4_SetMR(0, CR_PROTOCOL_MAGIC);
    for (uint32_t i = 0; i < count; i++) {
        seL4_SetMR((int)i + 1, arguments[i]);
    }
    if (pd_slot != 0) {
        seL4_SetCap(0, pd_slot);
    }
    seL4_MessageInfo_t tag = seL4_Call(CR_SLOT_ROOT, seL4_MessageInfo_new((seL4_Word)op, 0, pd_slot != 0, count + 1));
    uint32_t length = (uint32_t)seL4_MessageInfo_get_length(tag);
    for (uint32_t i = 0; i < max_results; i++) {
        results[i] = i < length ? seL4_GetMR((int)i) : 0;
    }
    uint64_t label = seL4_MessageInfo_get_label(tag);
    return label < CR_RESULT_COUNT ? (cr_result)label : CR_RESULT_FAILED;
}

cr_result cr_request(cr_op op, const uint64_t *arguments, uint32_t count, uint64_t *results, uint32_t max_results)
{
    return request(op, 0, arguments, count, results, max_results);
}

cr_result cr_request_with_pd(cr_op op, uint32_t pd_slot, const uint64_t *arguments, uint32_t count, uint64_t *results,
                             uint32_t max_results)
{
    return request(op, pd_slot, arguments, count, results, max_results);
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
        (void)cr_request(CR_OP_EXIT, &code, 1, 0, 0);
    }
}

cr_result cr_create_space(const char *type, const char *name, uint32_t *space)
{
    uint64_t arguments[CR_TYPE_WORDS + CR_NAME_WORDS];
    uint64_t results[2];
    put_words(arguments, CR_TYPE_WORDS, type);
    put_words(arguments + CR_TYPE_WORDS, CR_NAME_WORDS, name);
    cr_result result = cr_request(CR_OP_CREATE_SPACE, arguments, CR_TYPE_WORDS + CR_NAME_WORDS, results, 2);
    *space = (uint32_t)results[0];
    return result;
}

cr_result cr_create_resource(uint32_t space, uint32_t *object)
{
    uint64_t argument = space;
    uint64_t made;
    cr_result result = cr_request(CR_OP_CREATE_RESOURCE, &argument, 1, &made, 1);
    *object = (uint32_t)made;
    return result;
}

cr_result cr_connect(const char *name, int wait, uint32_t *slot, uint32_t *space)
{
    uint64_t arguments[CR_NAME_WORDS + 1];
    uint64_t results[2];
    put_words(arguments, CR_NAME_WORDS, name);
    arguments[CR_NAME_WORDS] = !wait;
    cr_result result = cr_request(CR_OP_CONNECT, arguments, CR_NAME_WORDS + 1, results, 2);
    *slot = (uint32_t)results[0];
    *space = (uint32_t)results[1];
    return result;
}

cr_result cr_give(uint32_t space, uint32_t object, uint64_t request_badge, uint32_t *slot)
{
    uint64_t arguments[] = {space, object, request_badge};
    uint64_t given;
    cr_result result = cr_request(CR_OP_GIVE, arguments, 3, &given, 1);
    *slot = (uint32_t)given;
    return result;
}

cr_result cr_map(uint32_t space, uint32_t object, uint32_t target_space, uint32_t target_object)
{
    uint64_t arguments[] = {space, object, target_space, target_object};
    return cr_request(CR_OP_MAP, arguments, 4, 0, 0);
}

uint32_t cr_call(uint32_t slot, uint32_t label, const uint64_t *words, uint32_t count, uint64_t *reply, uint32_t max,
                 uint32_t *received)
{
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

void cr_do_work(int (*each)(const cr_work_entry *work))
{
    uint64_t results[2 + CR_WORK_MAX * CR_WORK_WORDS];
    uint64_t acknowledge[1 + 2 * CR_WORK_MAX];
    for (;;) {
        if (cr_request(CR_OP_GET_WORK, 0, 0, results, 2 + CR_WORK_MAX * CR_WORK_WORDS) != CR_RESULT_OK ||
            results[1] == 0 || results[1] > CR_WORK_MAX) {
            return;
        }
        for (uint32_t i = 0; i < results[1]; i++) {
            const uint64_t *at = &results[2 + i * CR_WORK_WORDS];
            cr_work_entry work = {(cr_notice_kind)results[0], at[0], (uint32_t)at[1], (uint32_t)at[2], (uint32_t)at[3]};
            acknowledge[1 + 2 * i] = work.token;
            acknowledge[2 + 2 * i] = each(&work) != 0;
        }
        acknowledge[0] = results[1];
        if (cr_request(CR_OP_FINISH_WORK, acknowledge, (uint32_t)(1 + 2 * results[1]), 0, 0) != CR_RESULT_OK) {
            return;
        }
    }
}

void cr_poll_work(int (*each)(const cr_work_entry *work))
{
    seL4_Word badge = 0;
    (void)seL4_Poll(CR_SLOT_NOTIFICATION, &badge);
    if (badge != 0) {
        cr_do_work(each);
    }
}

_Noreturn void cr_wait_for_work(int (*each)(const cr_work_entry *work))
{
    for (;;) {
        seL4_Word badge;
        (void)seL4_Wait(CR_SLOT_NOTIFICATION, &badge);
        cr_do_work(each);
    }
}

/* A fault of a PD whose fault handler this one is: passed on to the root task, which cleans up. */
static void report_fault(uint64_t badge, seL4_MessageInfo_t tag)
{
    cr_fault_kind kind;
    uint64_t arguments[4] = {badge, 0, 0, 0};
    if (!cr_decode_fault(tag, &kind, &arguments[2], &arguments[3])) {
        return;
    }
    arguments[1] = kind;
    (void)cr_request(CR_OP_REPORT_FAULT, arguments, 4, 0, 0);
}

_Noreturn void cr_serve(const cr_server *server)
{
    static cr_incoming message;
    for (;;) {
        seL4_Word badge;
        seL4_MessageInfo_t tag = seL4_Recv(CR_SLOT_ENDPOINT, &badge);
        cr_badge_kind kind = cr_badge_kind_of(badge);
        if (kind == CR_BADGE_SIGNAL) {
            if (server->work != 0) {
                cr_do_work(server->work);
            }
            continue;
        }
        if (kind == CR_BADGE_FAULT) {
            report_fault(badge, tag);
            continue;
        }
        message.badge = badge;
        message.label = (uint32_t)seL4_MessageInfo_get_label(tag);
        message.count = (uint32_t)seL4_MessageInfo_get_length(tag);
        message.reply_count = 0;
        if (message.count > CR_MAX_WORDS) {
            message.count = CR_MAX_WORDS;
        }
        for (uint32_t i = 0; i < CR_MAX_WORDS; i++) {
            message.words[i] = i < message.count ? seL4_GetMR((int)i) : 0;
        }
        uint32_t label = server->serve(&message);
        for (uint32_t i = 0; i < message.reply_count && i < CR_MAX_WORDS; i++) {
            seL4_SetMR((int)i, message.reply[i]);
        }
        seL4_Reply(seL4_MessageInfo_new(label, 0, 0, message.reply_count));
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
    (void)cr_request(CR_OP_SAY, words, 1 + (line->used + 7) / 8, 0, 0);
    line->used = 0;
}

void cr_say_text(const char *text)
{
    cr_line line = {0};
    cr_say(cr_put(&line, text));
}
