/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A row of the table says how long a message of an operation is at least and whether a capability comes along; a
 * function takes the arguments apart. No function reads a word that its row, or a length it has compared itself, does
 * not cover. */
#include <cellreap/decode.h>

/* Words as 32-bit numbers: CR_NONE, which is no number of anything, for those that are larger. */
static uint32_t number(const cr_raw_message *m, uint32_t at)
{
    return m->words[at] < CR_NONE ? (uint32_t)m->words[at] : CR_NONE;
}

static char byte_at(const uint64_t *words, uint32_t at)
{
    return (char)(words[at / 8] >> (8 * (at % 8)));
}

/* The text in `count` words, NUL-terminated in `out`, which has as many bytes; 0 if it is empty, has no NUL or is not
 * printable. */
static int read_text(const uint64_t *words, uint32_t count, char *out)
{
    uint32_t n = 0;
    for (; n < count * 8; n++) {
        char c = byte_at(words, n);
        if (c == '\0') {
            break;
        }
        if (c < 0x21 || c > 0x7e) {
            return 0;
        }
        out[n] = c;
    }
    if (n == 0 || n == count * 8) {
        return 0;
    }
    out[n] = '\0';
    return 1;
}

static int same(const char *a, const char *b)
{
    uint32_t i = 0;
    for (; i < CR_TYPE_WORDS * 8 && a[i] == b[i] && a[i] != '\0'; i++) {
    }
    return a[i] == b[i];
}

/* [A-Z][A-Z0-9_]*, and none of the types that the root task serves itself. */
static int is_server_type(const char *type)
{
    static const char *const core[] = {"ADS", "VMR", "MO", "VCPU", "PCPU", "CPU", "EP", "PD", "RESSPC"};
    for (uint32_t i = 0; type[i] != '\0'; i++) {
        int letter = type[i] >= 'A' && type[i] <= 'Z';
        int other = type[i] == '_' || (type[i] >= '0' && type[i] <= '9');
        if (!letter && (!other || i == 0)) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < sizeof(core) / sizeof(core[0]); i++) {
        if (same(core[i], type)) {
            return 0;
        }
    }
    return 1;
}

/* -- the operations' arguments */

static cr_result no_arguments(const cr_raw_message *m, cr_operation_args *out)
{
    (void)m;
    (void)out;
    return CR_RESULT_OK;
}

static cr_result space(const cr_raw_message *m, cr_operation_args *out)
{
    out->space = number(m, 1);
    return CR_RESULT_OK;
}

static cr_result space_object(const cr_raw_message *m, cr_operation_args *out)
{
    out->space = number(m, 1);
    out->object = number(m, 2);
    return CR_RESULT_OK;
}

static cr_result space_object_badge(const cr_raw_message *m, cr_operation_args *out)
{
    out->badge = m->words[3];
    return space_object(m, out);
}

static cr_result say(const cr_raw_message *m, cr_operation_args *out)
{
    uint32_t bytes = number(m, 1);
    if (bytes > CR_SAY_MAX || m->length < 2 + (bytes + 7) / 8) {
        return CR_RESULT_BAD_LENGTH;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        out->text[i] = byte_at(m->words + 2, i);
    }
    out->count = bytes;
    return CR_RESULT_OK;
}

static cr_result leave(const cr_raw_message *m, cr_operation_args *out)
{
    out->code = m->words[1];
    return CR_RESULT_OK;
}

static cr_result checkpoint(const cr_raw_message *m, cr_operation_args *out)
{
    out->round_boundary = m->words[1] != 0;
    return CR_RESULT_OK;
}

static cr_result create_space(const cr_raw_message *m, cr_operation_args *out)
{
    return read_text(m->words + 1, CR_TYPE_WORDS, out->type) &&
                   read_text(m->words + 1 + CR_TYPE_WORDS, CR_NAME_WORDS, out->name) && is_server_type(out->type)
               ? CR_RESULT_OK
               : CR_RESULT_FAILED;
}

static cr_result connect(const cr_raw_message *m, cr_operation_args *out)
{
    out->wait = m->length <= 1 + CR_NAME_WORDS || m->words[1 + CR_NAME_WORDS] == 0;
    return read_text(m->words + 1, CR_NAME_WORDS, out->name) ? CR_RESULT_OK : CR_RESULT_NO_SUCH;
}

static cr_result spawn(const cr_raw_message *m, cr_operation_args *out)
{
    return read_text(m->words + 1, CR_NAME_WORDS, out->name) ? CR_RESULT_OK : CR_RESULT_NO_SUCH;
}

static cr_result map(const cr_raw_message *m, cr_operation_args *out)
{
    out->target_space = number(m, 3);
    out->target_object = number(m, 4);
    (void)space_object(m, out);
    return (out->object == 0) == (out->target_object == 0) ? CR_RESULT_OK : CR_RESULT_FAILED;
}

static cr_result finish_work(const cr_raw_message *m, cr_operation_args *out)
{
    uint32_t count = number(m, 1);
    if (count == 0 || count > CR_WORK_MAX || m->length < 2 + 2 * count) {
        return CR_RESULT_BAD_LENGTH;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t result = m->words[3 + 2 * i];
        if (result >= CR_WORK_RESULT_COUNT) {
            return CR_RESULT_FAILED;
        }
        out->answers[i] = (cr_finish_answer){.token = m->words[2 + 2 * i], .result = (cr_work_result)result};
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (out->answers[k].token == out->answers[i].token) {
                return CR_RESULT_NO_SUCH;
            }
        }
    }
    out->count = count;
    return CR_RESULT_OK;
}

static cr_result set_depth(const cr_raw_message *m, cr_operation_args *out)
{
    if (m->words[1] > UINT32_MAX || m->words[2] > UINT32_MAX) {
        return CR_RESULT_FAILED;
    }
    out->pd_depth = (uint32_t)m->words[1];
    out->rs_depth = (uint32_t)m->words[2];
    return CR_RESULT_OK;
}

static cr_result report_fault(const cr_raw_message *m, cr_operation_args *out)
{
    if (m->words[2] >= CR_FAULT_KIND_COUNT) {
        return CR_RESULT_BAD_BADGE;
    }
    out->badge = m->words[1];
    out->fault_kind = (cr_fault_kind)m->words[2];
    out->address = m->words[3];
    out->ip = m->words[4];
    return CR_RESULT_OK;
}

/* A space, or with 0 in its place a PD: the one whose capability comes along, or the caller. */
static cr_result space_or_pd(const cr_raw_message *m, cr_operation_args *out)
{
    out->space = number(m, 1);
    return out->space != 0 && m->extra != 0 ? CR_RESULT_BAD_LENGTH : CR_RESULT_OK;
}

/* The same, or, with a number in the object's place and no capability, the PD of that number. */
static cr_result look(const cr_raw_message *m, cr_operation_args *out)
{
    out->object = number(m, 2);
    cr_result result = space_or_pd(m, out);
    return out->space == 0 && out->object != 0 && m->extra != 0 ? CR_RESULT_BAD_LENGTH : result;
}

static cr_result ticket(const cr_raw_message *m, cr_operation_args *out)
{
    out->ticket = m->words[1];
    out->wait = m->words[2] != 0;
    return CR_RESULT_OK;
}

static cr_result subgraph(const cr_raw_message *m, cr_operation_args *out)
{
    uint32_t count = number(m, 2);
    if (count == 0 || count > CR_SUBGRAPH_MAX || m->length < 3 + CR_SUBGRAPH_WORDS * count) {
        return CR_RESULT_BAD_LENGTH;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 3 + CR_SUBGRAPH_WORDS * i;
        cr_subgraph_item *item = &out->items[i];
        *item = (cr_subgraph_item){number(m, at), number(m, at + 1), number(m, at + 2)};
        if ((item->object == 0) != (item->target_object == 0)) {
            return CR_RESULT_FAILED;
        }
    }
    out->token = m->words[1];
    out->count = count;
    return CR_RESULT_OK;
}

enum { CAP_NONE = 0, CAP_ONE = 1, CAP_PERHAPS = 2 };

/* `words`: registers that a message must have at least, the magic included. */
static const struct {
    cr_result (*take)(const cr_raw_message *m, cr_operation_args *out);
    uint32_t words;
    uint32_t cap;
} operations[] = {
    [CR_OP_SAY] = {say, 2, CAP_NONE},
    [CR_OP_EXIT] = {leave, 2, CAP_NONE},
    [CR_OP_CHECKPOINT] = {checkpoint, 2, CAP_NONE},
    [CR_OP_CREATE_SPACE] = {create_space, 1 + CR_TYPE_WORDS + CR_NAME_WORDS, CAP_PERHAPS},
    [CR_OP_DELETE_SPACE] = {space, 2, CAP_NONE},
    [CR_OP_CREATE_RESOURCE] = {space, 2, CAP_NONE},
    [CR_OP_DELETE_RESOURCE] = {space_object, 3, CAP_NONE},
    [CR_OP_CONNECT] = {connect, 1 + CR_NAME_WORDS, CAP_NONE},
    [CR_OP_DISCONNECT] = {space, 2, CAP_NONE},
    [CR_OP_GIVE] = {space_object_badge, 4, CAP_NONE},
    [CR_OP_SEND] = {space_object, 3, CAP_ONE},
    [CR_OP_SHARE_REQUEST] = {space, 2, CAP_ONE},
    [CR_OP_RELEASE] = {space_object, 3, CAP_NONE},
    [CR_OP_TAKE_BACK] = {space_object_badge, 4, CAP_NONE},
    [CR_OP_MAP] = {map, 5, CAP_NONE},
    [CR_OP_UNMAP] = {map, 5, CAP_NONE},
    [CR_OP_GET_WORK] = {no_arguments, 1, CAP_NONE},
    [CR_OP_FINISH_WORK] = {finish_work, 2, CAP_NONE},
    [CR_OP_SPAWN] = {spawn, 1 + CR_NAME_WORDS, CAP_NONE},
    [CR_OP_TERMINATE] = {no_arguments, 1, CAP_ONE},
    [CR_OP_SET_DEPTH] = {set_depth, 3, CAP_NONE},
    [CR_OP_REPORT_FAULT] = {report_fault, 5, CAP_NONE},
    [CR_OP_HOLDS] = {space_object, 3, CAP_NONE},
    [CR_OP_SUBSCRIBE] = {space_or_pd, 2, CAP_PERHAPS},
    [CR_OP_UNSUBSCRIBE] = {space_or_pd, 2, CAP_PERHAPS},
    [CR_OP_LOOK] = {look, 3, CAP_PERHAPS},
    [CR_OP_RESUME_WORK] = {space, 2, CAP_NONE},
    [CR_OP_TICKET] = {ticket, 3, CAP_NONE},
    [CR_OP_EXTRACT] = {no_arguments, 1, CAP_NONE},
    [CR_OP_SUBGRAPH] = {subgraph, 3, CAP_NONE},
};

_Static_assert(sizeof(operations) / sizeof(operations[0]) == CR_OP_COUNT, "one row an operation");

cr_result cr_decode_operation(const cr_raw_message *m, cr_operation_args *out)
{
    *out = (cr_operation_args){.op = CR_OP_COUNT};
    if (m->length < 1 || m->words[0] != CR_PROTOCOL_MAGIC) {
        return CR_RESULT_BAD_MAGIC;
    }
    if (m->label >= CR_OP_COUNT || operations[m->label].take == 0) {
        return CR_RESULT_BAD_OP;
    }
    uint32_t cap = operations[m->label].cap;
    if (m->length < operations[m->label].words || m->extra > 1 || (cap == CAP_NONE && m->extra != 0) ||
        (cap == CAP_ONE && m->extra == 0)) {
        return CR_RESULT_BAD_LENGTH;
    }
    out->op = (cr_op)m->label;
    out->has_pd = m->extra;
    out->pd_badge = m->extra != 0 ? m->unwrapped : 0;
    return operations[m->label].take(m, out);
}
