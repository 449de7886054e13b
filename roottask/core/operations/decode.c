/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Decodes messages by the forms in CR_OPERATIONS. Each form reads its registers through a cursor,
 * which does not go beyond the length of the message. The conditions that an operation has beyond
 * its forms are in `rules`. */
#include <cellreap/decode.h>

/* A message, and the number of its registers that were read. */
typedef struct cursor {
    const uint64_t *words;
    uint32_t length;
    uint32_t at;
} cursor;

/* Reads one argument into `member`, which has the type of the form. `out`: all arguments. */
typedef cr_result (*reader)(cursor *c, cr_operation_args *out, void *member);

typedef struct form {
    reader read;    /* 0: end of the list */
    uint32_t at;    /* offset of the member in cr_operation_args, or in a row */
    uint32_t words; /* minimum number of registers */
    uint32_t caps;  /* CAP_ ... */
} form;

enum { CAP_NONE = 0, CAP_PERHAPS = 1, CAP_ONE = 2 };

/* Takes `count` words. Returns 0 if fewer are left. Else *out points to the words, and the cursor
 * moves behind them. */
static int take(cursor *c, uint32_t count, const uint64_t **out)
{
    if (count > c->length || c->at > c->length - count) {
        return 0;
    }
    *out = &c->words[c->at];
    c->at += count;
    return 1;
}

/* The next word, of an argument that the message is long enough for. */
static uint64_t next(cursor *c)
{
    const uint64_t *word;
    return take(c, 1, &word) ? *word : 0;
}

static uint32_t as_number(uint64_t word)
{
    return word < CR_NONE ? (uint32_t)word : CR_NONE;
}

static char byte_at(const uint64_t *words, uint32_t at)
{
    return (char)(words[at / 8] >> (8 * (at % 8)));
}

/* -- forms of one register */

static cr_result read_number(cursor *c, cr_operation_args *out, void *member)
{
    (void)out;
    *(uint32_t *)member = as_number(next(c));
    return CR_RESULT_OK;
}

static cr_result read_word(cursor *c, cr_operation_args *out, void *member)
{
    (void)out;
    *(uint64_t *)member = next(c);
    return CR_RESULT_OK;
}

static cr_result read_flag(cursor *c, cr_operation_args *out, void *member)
{
    (void)out;
    *(uint32_t *)member = next(c) != 0;
    return CR_RESULT_OK;
}

static cr_result read_handler_or_not(cursor *c, cr_operation_args *out, void *member)
{
    const uint64_t word = next(c); /* 0, which is none, if it is left out */
    (void)out;
    *(uint32_t *)member = word < CR_HANDLER_COUNT ? (uint32_t)word : 0;
    return word < CR_HANDLER_COUNT ? CR_RESULT_OK : CR_RESULT_FAILED;
}

static cr_result read_32_bits(cursor *c, cr_operation_args *out, void *member)
{
    const uint64_t word = next(c);
    (void)out;
    *(uint32_t *)member = (uint32_t)word;
    return word <= UINT32_MAX ? CR_RESULT_OK : CR_RESULT_FAILED;
}

static cr_result read_work_result(cursor *c, cr_operation_args *out, void *member)
{
    const uint64_t word = next(c);
    (void)out;
    if (word >= CR_WORK_RESULT_COUNT) {
        return CR_RESULT_FAILED;
    }
    *(cr_work_result *)member = (cr_work_result)word;
    return CR_RESULT_OK;
}

/* -- text */

/* Reads text from `count` words. `out` has room for the bytes of all words. *good: the text is
 * printable, not empty and NUL-terminated; only then is `out` complete. Returns 0 if fewer words
 * are left. */
static int read_text_words(cursor *c, uint32_t count, char *out, int *good)
{
    const uint64_t *words;
    uint32_t n = 0;
    if (!take(c, count, &words)) {
        return 0;
    }
    *good = 0;
    for (; n < count * 8 && byte_at(words, n) != '\0'; n++) {
        char letter = byte_at(words, n);
        if (letter < 0x21 || letter > 0x7e) {
            return 1;
        }
        out[n] = letter;
    }
    if (n > 0 && n < count * 8) {
        out[n] = '\0';
        *good = 1;
    }
    return 1;
}

static int same(const char *a, const char *b)
{
    uint32_t i = 0;
    for (; i < CR_TYPE_WORDS * 8 && a[i] == b[i] && a[i] != '\0'; i++) {
    }
    return a[i] == b[i];
}

/* [A-Z][A-Z0-9_]*, and not a core type, which the root task itself serves. */
static int is_server_type(const char *type)
{
    static const char *const core[] = {
#define CR_CORE_TYPE(name, meaning) name,
        CR_CORE_TYPES
#undef CR_CORE_TYPE
    };
    for (uint32_t i = 0; i < CR_TYPE_WORDS * 8 && type[i] != '\0'; i++) {
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

static cr_result read_type(cursor *c, cr_operation_args *out, void *member)
{
    int good;
    (void)out;
    if (!read_text_words(c, CR_TYPE_WORDS, member, &good)) {
        return CR_RESULT_BAD_LENGTH;
    }
    return good && is_server_type(member) ? CR_RESULT_OK : CR_RESULT_FAILED;
}

static cr_result read_name_or(cursor *c, char *name, cr_result otherwise)
{
    int good;
    if (!read_text_words(c, CR_NAME_WORDS, name, &good)) {
        return CR_RESULT_BAD_LENGTH;
    }
    return good ? CR_RESULT_OK : otherwise;
}

static cr_result read_new_name(cursor *c, cr_operation_args *out, void *member)
{
    (void)out;
    return read_name_or(c, member, CR_RESULT_FAILED);
}

static cr_result read_name(cursor *c, cr_operation_args *out, void *member)
{
    (void)out;
    return read_name_or(c, member, CR_RESULT_NO_SUCH);
}

static cr_result read_text(cursor *c, cr_operation_args *out, void *member)
{
    const uint64_t *words;
    char *text = member;
    const uint32_t bytes = as_number(next(c));
    if (bytes > CR_SAY_MAX || !take(c, (bytes + 7) / 8, &words)) {
        return CR_RESULT_BAD_LENGTH;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        text[i] = byte_at(words, i);
    }
    out->count = bytes;
    return CR_RESULT_OK;
}

/* -- rows */

/* `size`: bytes from one row to the next. */
static cr_result read_rows(cursor *c, cr_operation_args *out, void *rows, uint32_t size,
                           uint32_t most, const form *forms)
{
    const uint32_t count = as_number(next(c));
    if (count == 0 || count > most) {
        return CR_RESULT_BAD_LENGTH;
    }
    out->count = count;
    uint32_t words = 0;
    for (const form *f = forms; f->read != 0; f++) {
        words += f->words;
    }
    if (c->length - c->at < words * count) {
        return CR_RESULT_BAD_LENGTH;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (const form *f = forms; f->read != 0; f++) {
            cr_result result = f->read(c, out, (char *)rows + (size_t)i * size + f->at);
            if (result != CR_RESULT_OK) {
                return result;
            }
        }
    }
    return CR_RESULT_OK;
}

/* A PD capability takes no register. cr_decode_operation reads it from the message. */
static cr_result read_pd(cursor *c, cr_operation_args *out, void *member)
{
    (void)c;
    (void)out;
    (void)member;
    return CR_RESULT_OK;
}

/* -- the forms of protocol.h. A member whose type does not fit its form does not compile. */

#define MEMBER(member) (((WHOLE *)0)->member)
#define AT(type, member)                                                                           \
    (uint32_t)(offsetof(WHOLE, member) + 0 * sizeof(_Generic(&MEMBER(member), type *: 0)))
#define FORM(read, type, member, words, caps) {read, AT(type, member), words, caps},
#define NUMBER(member) FORM(read_number, uint32_t, member, 1, CAP_NONE)
#define WORD(member) FORM(read_word, uint64_t, member, 1, CAP_NONE)
#define FLAG(member) FORM(read_flag, uint32_t, member, 1, CAP_NONE)
#define FLAG_OR_NOT(member) FORM(read_flag, uint32_t, member, 0, CAP_NONE)
#define HANDLER_OR_NOT(member) FORM(read_handler_or_not, uint32_t, member, 0, CAP_NONE)
#define DEPTH(member) FORM(read_32_bits, uint32_t, member, 1, CAP_NONE)
#define COUNT(member) FORM(read_32_bits, uint32_t, member, 1, CAP_NONE)
#define WORK_RESULT(member) FORM(read_work_result, cr_work_result, member, 1, CAP_NONE)
#define TYPE(member) FORM(read_type, char_of_type, member, CR_TYPE_WORDS, CAP_NONE)
#define NEW_NAME(member) FORM(read_new_name, char_of_name, member, CR_NAME_WORDS, CAP_NONE)
#define NAME(member) FORM(read_name, char_of_name, member, CR_NAME_WORDS, CAP_NONE)
#define TEXT(member) FORM(read_text, char_of_text, member, 1, CAP_NONE)
#define ROWS(member) {read_##member, (uint32_t)offsetof(WHOLE, member), 1, CAP_NONE},
#define PD(member) FORM(read_pd, uint64_t, member, 0, CAP_ONE)
#define PD_OR_NOT(member) FORM(read_pd, uint64_t, member, 0, CAP_PERHAPS)
#define NO_ARGUMENTS

typedef char char_of_type[CR_TYPE_WORDS * 8];
typedef char char_of_name[CR_NAME_WORDS * 8];
typedef char char_of_text[CR_SAY_MAX];

/* One reader for each member that has rows. */
#define CR_ROW_FORM(member, type, most, forms)                                                     \
    _Static_assert(sizeof(((cr_operation_args *)0)->member) == (most) * sizeof(type),              \
                   "there is room for all rows");                                                  \
    static cr_result read_##member(cursor *c, cr_operation_args *out, void *rows)                  \
    {                                                                                              \
        typedef type WHOLE;                                                                        \
        static const form row[] = {forms{0, 0, 0, 0}};                                             \
        return read_rows(c, out, rows, (uint32_t)sizeof(type), most, row);                         \
    }
CR_ROW_FORMS
#undef CR_ROW_FORM

typedef cr_operation_args WHOLE;

enum { MAX_FORMS = 6 };

#define CR_OPERATION(enumerator, number, word, topic, arguments, ...)                              \
    [enumerator] = {arguments{0, 0, 0, 0}},
static const form operations[CR_OP_COUNT][MAX_FORMS] = {CR_OPERATIONS};
#undef CR_OPERATION

#define CR_OPERATION(enumerator, ...) case enumerator:
static int is_operation(uint64_t label)
{
    switch (label) {
        CR_OPERATIONS
        return 1;
    default:
        return 0;
    }
}
#undef CR_OPERATION

/* -- conditions beyond the forms */

/* A space maps to a space, and a resource to a resource. */
static cr_result both_or_none(const cr_operation_args *r)
{
    return (r->object == 0) == (r->target_object == 0) ? CR_RESULT_OK : CR_RESULT_FAILED;
}

/* The manager of a space, or the PD of a number. */
static cr_result space_or_number(const cr_operation_args *r)
{
    return r->space == 0 || r->pd_number == 0 ? CR_RESULT_OK : CR_RESULT_FAILED;
}

static cr_result both_or_none_each(const cr_operation_args *r)
{
    for (uint32_t i = 0; i < r->count && i < CR_SUBGRAPH_MAX; i++) {
        if ((r->items[i].object == 0) != (r->items[i].target_object == 0)) {
            return CR_RESULT_FAILED;
        }
    }
    return CR_RESULT_OK;
}

/* A message names one node. If `space` is 0, the node is the PD whose capability the message has,
 * or else the caller. In a LOOK, `object` may then be the number of a PD instead. */
static cr_result space_or_pd(const cr_operation_args *r)
{
    return r->has_pd && (r->space != 0 || r->object != 0) ? CR_RESULT_BAD_LENGTH : CR_RESULT_OK;
}

static cr_result (*const rules[CR_OP_COUNT])(const cr_operation_args *r) = {
    [CR_OP_MAP] = both_or_none,      [CR_OP_UNMAP] = both_or_none,
    [CR_OP_SUBSCRIBE] = space_or_pd, [CR_OP_UNSUBSCRIBE] = space_or_pd,
    [CR_OP_LOOK] = space_or_pd,      [CR_OP_SUBGRAPH] = both_or_none_each,
    [CR_OP_ALLOW] = space_or_number,
};

/* Whether the message has the registers and capabilities that its operation needs. */
static int is_long_enough(const cr_raw_message *m, const form *forms)
{
    uint32_t words = 1;
    uint32_t caps = CAP_NONE;
    for (const form *f = forms; f->read != 0; f++) {
        words += f->words;
        caps = f->caps > caps ? f->caps : caps;
    }
    return m->length >= words && m->extra <= (caps != CAP_NONE) && m->extra >= (caps == CAP_ONE);
}

/* Name and type become empty. Text and rows are not cleared: they are a thousand bytes. */
static void clear_numbers(cr_operation_args *out)
{
    enum { NUMBERS = offsetof(cr_operation_args, name) / sizeof(uint32_t) };
    uint32_t *numbers = (uint32_t *)(void *)out;
    _Static_assert(NUMBERS * sizeof(uint32_t) == offsetof(cr_operation_args, name), "all of them");
    for (uint32_t i = 0; i < NUMBERS; i++) {
        numbers[i] = 0;
    }
    out->op = CR_OP_COUNT;
    out->name[0] = '\0';
    out->type[0] = '\0';
}

cr_result cr_decode_operation(const cr_raw_message *m, cr_operation_args *out)
{
    clear_numbers(out);
    if (m->length < 1 || m->words[0] != CR_PROTOCOL_MAGIC) {
        return CR_RESULT_BAD_MAGIC;
    }
    if (!is_operation(m->label)) {
        return CR_RESULT_BAD_OP;
    }
    const cr_op op = (cr_op)m->label;
    const form *forms = operations[op];
    if (!is_long_enough(m, forms)) {
        return CR_RESULT_BAD_LENGTH;
    }
    out->op = op;
    out->has_pd = m->extra;
    out->pd = m->extra != 0 ? m->unwrapped : 0;
    cursor c = {m->words, m->length, 1};
    for (const form *f = forms; f->read != 0; f++) {
        cr_result result = f->read(&c, out, (char *)out + f->at);
        if (result != CR_RESULT_OK) {
            return result;
        }
    }
    return rules[op] != 0 ? rules[op](out) : CR_RESULT_OK;
}
