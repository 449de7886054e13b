/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The messages between protection domains (PDs) and the root task (docs/protocol.md and
 * docs/operations.md).
 *
 * A PD asks for an operation with a seL4_Call on CR_SLOT_ROOT. The message's label is a cr_op.
 * Message register 0 is CR_PROTOCOL_MAGIC, and the arguments follow. The answer's label is a
 * cr_result, and the results start at register 0. The root task identifies the caller by the
 * badge alone, never by the contents of a message or of a PD's memory.
 *
 * The host tooling parses this header. Enums are plain, or expanded from a table in this file. */
#ifndef CELLREAP_PROTOCOL_H
#define CELLREAP_PROTOCOL_H

#include <stdint.h>

/* CR_LIMIT(enumerator, number, what it limits) */
/* clang-format off */
#define CR_LIMITS                                                                                  \
    CR_LIMIT(CR_PROTOCOL_VERSION, 1, "the version of the protocol, in the magic number")           \
    CR_LIMIT(CR_NAME_WORDS, 4,                                                                     \
        "registers of a name, which is packed into 8-byte words and padded with NUL")              \
    CR_LIMIT(CR_TYPE_WORDS, 2, "registers of a type")                                              \
    CR_LIMIT(CR_WORK_MAX, 16, "notices in one GET_WORK, and in one FINISH_WORK")                   \
    CR_LIMIT(CR_WORK_WORDS, 5, "registers of a notice in the answer to GET_WORK")                  \
    CR_LIMIT(CR_SUBGRAPH_MAX, 32, "MAP edges in one SUBGRAPH")                                     \
    CR_LIMIT(CR_SUBGRAPH_WORDS, 3, "registers of a MAP edge in a SUBGRAPH")                        \
    CR_LIMIT(CR_TICKET_WORDS, 6, "registers of the answer to TICKET")                              \
    CR_LIMIT(CR_SAY_MAX, 400, "bytes of a SAY")                                                    \
    CR_LIMIT(CR_STARTUP_SPACES, 16, "spaces that the configuration has one PD create")             \
    CR_LIMIT(CR_STARTUP_REQUESTS, 32, "spaces that a PD may connect to by name")                   \
    CR_LIMIT(CR_STARTUP_PDS, 32, "PD capabilities that the configuration gives a PD")              \
    CR_LIMIT(CR_STARTUP_CHANNELS, 16, "channels that the configuration gives a PD")                \
    CR_LIMIT(CR_STARTUP_LINES, 8, "interrupts and ranges of I/O ports of a PD")                    \
    CR_LIMIT(CR_MEMORY_PAGES_MAX, 512, "pages of a memory object, of either size")
/* clang-format on */

enum {
#define CR_LIMIT(enumerator, number, ...) enumerator = number,
    CR_LIMITS
#undef CR_LIMIT
};

#define CR_PROTOCOL_MAGIC ((uint64_t)0x6372700000000000u | (uint64_t)CR_PROTOCOL_VERSION)

/* A badge is (kind, generation, index): 4, 28 and 32 bits, highest first. The index selects an
 * entry in a table of the root task. Only the root task resolves it. In a RESOURCE badge, the
 * index is the number of the object, and the number of its space takes the place of the
 * generation. Neither number is ever used again, so the badge names this resource for ever. */
typedef enum cr_badge_kind {
    CR_BADGE_NONE = 0,     /* for a root task that includes the component: component.h */
    CR_BADGE_PD = 1,       /* an operation that this PD asks the root task for */
    CR_BADGE_FAULT = 2,    /* a fault of this PD */
    CR_BADGE_BODY = 3,     /* the capability to this PD that other PDs hold */
    CR_BADGE_REQUEST = 4,  /* a client's call to a server, through this REQUEST edge */
    CR_BADGE_RESOURCE = 5, /* a client's call on this resource: cr_badge_space, cr_badge_object */
    /* The root task has notices for the receiver, the PDs of channels signal it, or its interrupts
     * occurred: then the index has the bits of these. */
    CR_BADGE_SIGNAL = 6,
    /* These three arrive by one notification, which ORs badges. Each has a bit of its own, and one
     * that no kind before them has. */
    CR_BADGE_IDLE = 9,   /* the scenario's: no other thread can run */
    CR_BADGE_TIMER = 10, /* the timer's interrupt */
    CR_BADGE_TURN = 12,  /* the PDs of a priority have had their turn */
    CR_BADGE_KIND_COUNT = 13
} cr_badge_kind;

/* What is not the kind. */
#define CR_OWN_BADGE_BITS (~(uint64_t)0 >> 4)

static inline uint64_t cr_badge(cr_badge_kind kind, uint32_t index, uint32_t generation)
{
    return ((uint64_t)kind << 60) | ((uint64_t)(generation & 0xfffffffu) << 32) | index;
}

static inline cr_badge_kind cr_badge_kind_of(uint64_t badge)
{
    uint64_t kind = badge >> 60;
    return kind < CR_BADGE_KIND_COUNT ? (cr_badge_kind)kind : CR_BADGE_NONE;
}

/* IDLE, TIMER, TURN, or several of them. */
static inline int cr_badge_is_signal(uint64_t badge)
{
    return badge >> 60 >= 8u;
}

/* Whether one of these signals is among those of the badge. */
static inline int cr_badge_has(uint64_t badge, cr_badge_kind signal)
{
    return (badge >> 60 & (uint64_t)signal) == (uint64_t)signal;
}

static inline uint32_t cr_badge_index(uint64_t badge)
{
    return (uint32_t)badge;
}

static inline uint32_t cr_badge_generation(uint64_t badge)
{
    return (uint32_t)(badge >> 32) & 0xfffffffu;
}

/* The badge of a resource, and the numbers of the space and the object in it. */
static inline uint64_t cr_badge_resource(uint32_t space, uint32_t object)
{
    return cr_badge(CR_BADGE_RESOURCE, object, space);
}

static inline uint32_t cr_badge_space(uint64_t badge)
{
    return cr_badge_generation(badge);
}

static inline uint32_t cr_badge_object(uint64_t badge)
{
    return cr_badge_index(badge);
}

/* -- operations: messages of a PD to the root task */

/* Who may ask for an operation. */
typedef enum cr_asker {
    CR_FROM_LIVE = 0, /* only a PD that is not doomed */
    CR_FROM_ANY = 1   /* also a doomed PD: the operation makes and drops no edge */
} cr_asker;

/* Every operation. The decoder, the dispatch, what the trace has of answers, the tables in docs/
 * and the tests are generated from this table or compared with it.
 *
 *     CR_OPERATION(enumerator, number, word, topic, arguments, results, how PDs call it,
 *                  what is told of the answer, who may ask, what it does)
 *
 * word: the functions that carry out the operation are cr_check_<word> and cr_do_<word>.
 * topic: these functions are in supervisor/operations_<topic>.c, and docs/operations.md has a
 * section with that topic's operations.
 * arguments: forms, in the order of the registers after the magic number. Each form names a
 * member of cr_operation_args.
 * results: the registers of the answer: RESULT(name) for each number, NO_RESULTS, or a description.
 * how PDs call it: PLAIN: the library has cr_<word>(arguments, results), which is generated.
 * BY_HAND: by a function that does more.
 *
 *     NUMBER(m)       one register: the number in an id; a number beyond 32 bits names nothing
 *     WORD(m)         one register: any 64 bits
 *     FLAG(m)         one register: 0 is 0, any other value is 1
 *     FLAG_OR_NOT(m)  the same; 0 if the message ends before it
 *     HANDLER_OR_NOT(m)  one register: below CR_HANDLER_COUNT, else FAILED; 0 if the message ends
 *                     before it
 *     DEPTH(m)        one register: at most 32 bits, else FAILED
 *     COUNT(m)        the same: a number of things
 *     WORK_RESULT(m)  one register: a cr_work_result, else FAILED
 *     TYPE(m)         CR_TYPE_WORDS registers: a type of a server's space, else FAILED
 *     NEW_NAME(m)     CR_NAME_WORDS registers: a name, else FAILED
 *     NAME(m)         the same: the name of something that exists, else NO_SUCH
 *     TEXT(m)         a count of bytes, at most CR_SAY_MAX, then the registers with the bytes
 *     ROWS(m)         a count of rows, then the rows (CR_ROW_FORMS)
 *     PD(m)           no register: the message carries a PD capability
 *     PD_OR_NOT(m)    no register: the message may carry a PD capability
 *
 * What the trace tells of the answer, if it is OK (cr_answer_is_told):
 *
 *     NOT_TOLD        nothing
 *     TOLD            that it was given
 *     TOLD_IF(n)      the same, if register n of the answer is not 0
 *     TOLD_OF(n, m)   as TOLD_IF(n), with this argument
 *     TOLD_SOME       the same of some of a PD's answers: it must not be able to fill the console
 *     QUESTION(m)     as TOLD_SOME. The operation changes nothing, so the trace has the space and
 *                     this argument, about which it asks */
/* clang-format off */
#define CR_OPERATIONS                                                                              \
    CR_OPERATION(CR_OP_SAY, 1, say, "run",                                                         \
        TEXT(text), "", BY_HAND, NOT_TOLD, CR_FROM_ANY,                                            \
        "Writes one line into the trace.")                                                         \
    CR_OPERATION(CR_OP_EXIT, 2, exit, "pds",                                                       \
        WORD(code), "", BY_HAND, NOT_TOLD, CR_FROM_ANY,                                            \
        "Ends the caller. It is not answered.")                                                    \
    CR_OPERATION(CR_OP_CHECKPOINT, 3, checkpoint, "run",                                           \
        FLAG(round_boundary), "order, slot", BY_HAND, NOT_TOLD, CR_FROM_ANY,                       \
        "Reports a point in the caller's work, and returns the scenario's order.")                 \
    CR_OPERATION(CR_OP_CREATE_SPACE, 4, create_space, "spaces",                                    \
        TYPE(type) NEW_NAME(name) PD_OR_NOT(pd), "space, slot", BY_HAND, NOT_TOLD, CR_FROM_LIVE,   \
        "Creates a space that the caller manages.")                                                \
    CR_OPERATION(CR_OP_DELETE_SPACE, 5, delete_space, "spaces",                                    \
        NUMBER(space), NO_RESULTS, PLAIN, NOT_TOLD, CR_FROM_LIVE,                                  \
        "Deletes the space, its resources and all requests to it.")                                \
    CR_OPERATION(CR_OP_CREATE_RESOURCE, 6, create_resource, "spaces",                              \
        NUMBER(space), RESULT(object), PLAIN, TOLD_SOME, CR_FROM_LIVE,                             \
        "Creates a resource in the space. The manager holds it.")                                  \
    CR_OPERATION(CR_OP_DELETE_RESOURCE, 7, delete_resource, "spaces",                              \
        NUMBER(space) NUMBER(object), NO_RESULTS, PLAIN, NOT_TOLD, CR_FROM_LIVE,                   \
        "Deletes the resource and all holds of it.")                                               \
    CR_OPERATION(CR_OP_CONNECT, 8, connect, "holds",                                               \
        NAME(name) FLAG_OR_NOT(no_wait), "slot, space", BY_HAND, TOLD_SOME, CR_FROM_LIVE,          \
        "Gives the caller a request to the named space. Waits until the space exists.")            \
    CR_OPERATION(CR_OP_DISCONNECT, 9, disconnect, "holds",                                         \
        NUMBER(space), NO_RESULTS, PLAIN, NOT_TOLD, CR_FROM_LIVE,                                  \
        "Drops the caller's own request to the space.")                                            \
    CR_OPERATION(CR_OP_GIVE, 10, give, "holds",                                                    \
        NUMBER(space) NUMBER(object) WORD(badge) FLAG_OR_NOT(read_only), RESULT(slot), PLAIN,      \
        TOLD_SOME, CR_FROM_LIVE,                                                                   \
        "Gives a resource, or memory that the caller holds, to the client whose request has the "  \
        "badge. Read only: memory, without the right to write.")                                   \
    CR_OPERATION(CR_OP_SEND, 11, send, "holds",                                                    \
        NUMBER(space) NUMBER(object) PD(pd) FLAG_OR_NOT(read_only), RESULT(slot), PLAIN,           \
        TOLD_SOME, CR_FROM_LIVE,                                                                   \
        "Gives a resource that the caller holds to another PD. Read only: memory, without the "    \
        "right to write.")                                                                         \
    CR_OPERATION(CR_OP_SHARE_REQUEST, 12, share_request, "holds",                                  \
        NUMBER(space) PD(pd), RESULT(slot), PLAIN, TOLD_SOME, CR_FROM_LIVE,                        \
        "Gives another PD a request to the space.")                                                \
    CR_OPERATION(CR_OP_RELEASE, 13, release, "holds",                                              \
        NUMBER(space) NUMBER(object), RESULT(holds_left), PLAIN, TOLD_SOME, CR_FROM_LIVE,          \
        "Drops one of the caller's own holds of the resource.")                                    \
    CR_OPERATION(CR_OP_TAKE_BACK, 14, take_back, "holds",                                          \
        NUMBER(space) NUMBER(object) WORD(badge), RESULT(holds_left), PLAIN, NOT_TOLD,             \
        CR_FROM_LIVE,                                                                              \
        "Takes one hold of the resource from the client whose request has the badge.")             \
    CR_OPERATION(CR_OP_MAP, 15, map, "spaces",                                                     \
        NUMBER(space) NUMBER(object) NUMBER(target_space) NUMBER(target_object),                   \
        NO_RESULTS, PLAIN, NOT_TOLD, CR_FROM_LIVE,                                                 \
        "Makes a MAP edge from the object to the target object. Object 0 is the space itself.")    \
    CR_OPERATION(CR_OP_UNMAP, 16, unmap, "spaces",                                                 \
        NUMBER(space) NUMBER(object) NUMBER(target_space) NUMBER(target_object),                   \
        NO_RESULTS, PLAIN, NOT_TOLD, CR_FROM_LIVE, "Drops a MAP edge.")                            \
    CR_OPERATION(CR_OP_GET_WORK, 17, get_work, "work",                                             \
        NO_ARGUMENTS,                                                                              \
        "kind, count, then token, space, object, PD number, count of broken holds each", BY_HAND,  \
        TOLD_IF(1), CR_FROM_ANY, "Hands out the caller's next notices, all of one kind.")          \
    CR_OPERATION(CR_OP_FINISH_WORK, 18, finish_work, "work",                                       \
        ROWS(answers), "", BY_HAND, NOT_TOLD, CR_FROM_ANY,                                         \
        "Acknowledges notices, each with its own result.")                                         \
    CR_OPERATION(CR_OP_SPAWN, 19, spawn, "pds",                                                    \
        NAME(name), RESULT(slot) RESULT(PD_number), PLAIN, TOLD_SOME, CR_FROM_LIVE,                \
        "Creates a PD that runs the program of that name.")                                        \
    CR_OPERATION(CR_OP_TERMINATE, 20, terminate, "pds",                                            \
        PD(pd) FLAG_OR_NOT(later), "ticket, then as TICKET", BY_HAND, TOLD, CR_FROM_LIVE,          \
        "Terminates the PD. The root task cleans up as after a crash of the PD. Later: stops it "  \
        "only when its cleanup begins.")                                                           \
    CR_OPERATION(CR_OP_SET_DEPTH, 21, set_depth, "pds",                                            \
        PD_OR_NOT(pd) DEPTH(pd_depth) DEPTH(rs_depth), NO_RESULTS, PLAIN, NOT_TOLD, CR_FROM_LIVE,  \
        "Sets the depths of the cleanup that the crash of the PD, or of the caller, triggers.")    \
    CR_OPERATION(CR_OP_FAULT_INFO, 22, fault_info, "pds",                                          \
        WORD(token), "fault kind, address, ip", BY_HAND, QUESTION(token), CR_FROM_ANY,             \
        "Returns which fault a `fault` notice of the caller is about.")                            \
    CR_OPERATION(CR_OP_HOLDS, 23, holds, "holds",                                                  \
        NUMBER(space) NUMBER(object), RESULT(own_count) RESULT(all_counts), PLAIN,                 \
        QUESTION(object), CR_FROM_ANY,                                                             \
        "Returns the number of holds of the resource: the caller's, and all.")                     \
    CR_OPERATION(CR_OP_SUBSCRIBE, 24, subscribe, "pds",                                            \
        NUMBER(space) HANDLER_OR_NOT(handler) PD_OR_NOT(pd), "PD number", BY_HAND, NOT_TOLD,       \
        CR_FROM_LIVE,                                                                              \
        "Subscribes the caller to the space or PD, so that it gets a notice before the "           \
        "destruction, which names the handler. Space 0: the PD, or the caller itself. The result " \
        "is the number that notices about the PD have; 0 for a space.")                            \
    CR_OPERATION(CR_OP_UNSUBSCRIBE, 25, unsubscribe, "pds",                                        \
        NUMBER(space) HANDLER_OR_NOT(handler) PD_OR_NOT(pd), "", BY_HAND, NOT_TOLD, CR_FROM_LIVE,  \
        "Drops one subscription with this handler.")                                               \
    CR_OPERATION(CR_OP_LOOK, 26, look, "pds",                                                      \
        NUMBER(space) NUMBER(object) PD_OR_NOT(pd), "state", BY_HAND, QUESTION(object),            \
        CR_FROM_ANY,                                                                               \
        "Returns the state of a space, resource or PD. Space 0: a PD, by number or capability.")   \
    CR_OPERATION(CR_OP_RESUME_WORK, 27, resume_work, "work",                                       \
        NUMBER(space), NO_RESULTS, PLAIN, NOT_TOLD, CR_FROM_ANY,                                   \
        "Continues the lane of the space. Its failed notice is handed out again.")                 \
    CR_OPERATION(CR_OP_TICKET, 28, ticket, "pds",                                                  \
        WORD(ticket) FLAG(wait), "state, done, failed, dropped, waiting, held", BY_HAND, TOLD,     \
        CR_FROM_ANY,                                                                               \
        "Returns the progress of a ticket. With wait 1, answers when the ticket is over.")         \
    CR_OPERATION(CR_OP_EXTRACT, 29, extract, "model",                                              \
        NO_ARGUMENTS,                                                                              \
        RESULT(ticket), PLAIN, TOLD, CR_FROM_LIVE,                                                 \
        "Starts the extraction of the model state into the trace.")                                \
    CR_OPERATION(CR_OP_SUBGRAPH, 30, subgraph, "model",                                            \
        WORD(token) ROWS(items), "", BY_HAND, NOT_TOLD, CR_FROM_LIVE,                              \
        "Reports what the subject of an extract notice is built on.")                              \
    CR_OPERATION(CR_OP_ALLOW, 31, allow, "holds",                                                  \
        NUMBER(space) NUMBER(pd_number) COUNT(allowed) , "", BY_HAND, NOT_TOLD, CR_FROM_LIVE,      \
        "Sets how many more edges the manager of the space may make for the caller. Space 0: "     \
        "the PD of that number.")                                                                  \
    CR_OPERATION(CR_OP_LISTEN, 32, listen, "reports",                                              \
        WORD(token), "the words of a report", BY_HAND, TOLD_OF(CR_REPORT_NUMBER, token),           \
        CR_FROM_ANY,                                                                               \
        "Returns the next report after the one with that number.")                                 \
    CR_OPERATION(CR_OP_PROGRESS, 33, progress, "reports",                                          \
        WORD(token), "cleanup, steps done, steps", BY_HAND, QUESTION(token), CR_FROM_ANY,          \
        "Returns how far the cleanup of that number is. 0: the one that began last.")              \
    CR_OPERATION(CR_OP_CANCEL, 34, cancel, "cancel",                                               \
        WORD(ticket) PD_OR_NOT(pd), NO_RESULTS, PLAIN, NOT_TOLD, CR_FROM_LIVE,                     \
        "Cancels what the caller, or the PD, has a ticket for. Ticket 0: the CONNECT in which it " \
        "waits.")                                                                                  \
    CR_OPERATION(CR_OP_STAY_DOWN, 35, stay_down, "cancel",                                         \
        NAME(name), NO_RESULTS, PLAIN, NOT_TOLD, CR_FROM_LIVE,                                     \
        "Cancels the respawn of the PD of that name, which then stays down.")                      \
    CR_OPERATION(CR_OP_POST_MORTEM, 36, post_mortem, "pds",                                        \
        NUMBER(space) NUMBER(pd_number), "the words of a post-mortem, then the registers",         \
        BY_HAND, QUESTION(pd_number), CR_FROM_ANY,                                                 \
        "Returns what is known of a destroyed space, or with space 0 of a destroyed PD, to which " \
        "the caller refers.")                                                                      \
    CR_OPERATION(CR_OP_PIN, 37, pin, "pds",                                                        \
        PD_OR_NOT(pd) FLAG(pinned), NO_RESULTS, PLAIN, NOT_TOLD, CR_FROM_LIVE,                     \
        "Pins the PD, or the caller, so that policy does not doom it, or drops its pin.")          \
    CR_OPERATION(CR_OP_DUMP, 38, dump, "pds",                                                      \
        NUMBER(pd_number) WORD(address), "words", BY_HAND, NOT_TOLD, CR_FROM_ANY,                  \
        "Returns words of the memory of a doomed PD, from this address to the end of its page, "   \
        "but at most CR_DUMP_WORDS.")                                                              \
    CR_OPERATION(CR_OP_COLLECT, 39, collect, "collect",                                            \
        NO_ARGUMENTS, "ticket, then as TICKET", BY_HAND, TOLD, CR_FROM_LIVE,                       \
        "Destroys the PDs that cannot be reached, and their spaces.")                              \
    CR_OPERATION(CR_OP_TERMINATE_TREE, 40, terminate_tree, "pds",                                  \
        PD(pd), "ticket, then as TICKET", BY_HAND, TOLD, CR_FROM_LIVE,                             \
        "Terminates the PD and all PDs that it created, as one cleanup.")                          \
    CR_OPERATION(CR_OP_SAVE, 41, save, "collect",                                                  \
        NUMBER(pd_number), RESULT(slot), PLAIN, TOLD_SOME, CR_FROM_LIVE,                           \
        "Saves a PD from the collection that told the caller of its end, and gives the caller "    \
        "the capability to it.")                                                                   \
    CR_OPERATION(CR_OP_ALLOCATE, 42, allocate, "memory",                                           \
        COUNT(pages) FLAG(large), RESULT(space) RESULT(object), PLAIN, TOLD_SOME, CR_FROM_LIVE,    \
        "Creates a memory object of this many pages, which are zero and, with `large`, of "        \
        "2^CR_LARGE_PAGE_BITS bytes. The caller holds it.")                                        \
    CR_OPERATION(CR_OP_ATTACH, 43, attach, "memory",                                               \
        NUMBER(space) NUMBER(object) WORD(address) FLAG(writable),                                 \
        RESULT(region_space) RESULT(region), PLAIN, TOLD_SOME, CR_FROM_LIVE,                       \
        "Maps a memory object that the caller holds, or that backs a resource which it holds, at " \
        "this address of the caller's. The caller holds the region.")                              \
    CR_OPERATION(CR_OP_BACK, 44, back, "memory",                                                   \
        NUMBER(space) NUMBER(object) NUMBER(target_space) NUMBER(target_object) FLAG(writable),    \
        NO_RESULTS, PLAIN, NOT_TOLD, CR_FROM_LIVE,                                                 \
        "Makes a MAP edge from a resource to a memory object that the caller holds: who holds "    \
        "the resource may attach it.")
/* clang-format on */

/* The contents of a row of ROWS(member). There is at least one row.
 *
 *     CR_ROW_FORM(member, type of its elements, most rows, forms) */
/* clang-format off */
#define CR_ROW_FORMS                                                                               \
    CR_ROW_FORM(answers, cr_finish_answer, CR_WORK_MAX, WORD(token) WORK_RESULT(result))           \
    CR_ROW_FORM(items, cr_subgraph_item, CR_SUBGRAPH_MAX,                                          \
        NUMBER(object) NUMBER(target_space) NUMBER(target_object))
/* clang-format on */

typedef enum cr_op {
#define CR_OPERATION(enumerator, number, ...) enumerator = number,
    CR_OPERATIONS
#undef CR_OPERATION
        CR_OP_COUNT
} cr_op;

/* Every answer: CR_RESULT(enumerator, number, meaning). An operation that is not answered with OK
 * has changed nothing. */
/* clang-format off */
#define CR_RESULTS                                                                                 \
    CR_RESULT(CR_RESULT_OK, 0, "The operation was carried out.")                                   \
    CR_RESULT(CR_RESULT_BAD_MAGIC, 1, "Register 0 is not the magic number of this version.")       \
    CR_RESULT(CR_RESULT_BAD_OP, 2, "There is no such operation.")                                  \
    CR_RESULT(CR_RESULT_BAD_LENGTH, 3,                                                             \
        "There are too few registers, a capability is missing, or a capability was not expected.") \
    CR_RESULT(CR_RESULT_DENIED, 4, "The caller may not do this.")                                  \
    CR_RESULT(CR_RESULT_NO_SUCH, 5, "The space, object, name, program or token never existed.")    \
    CR_RESULT(CR_RESULT_GONE, 6, "What the operation names is not there, or is doomed.")           \
    CR_RESULT(CR_RESULT_EXISTS, 7, "What the operation would make exists already.")                \
    CR_RESULT(CR_RESULT_FULL, 8,                                                                   \
        "A limit is reached: nodes, edges, slots, requests or a count.")                           \
    CR_RESULT(CR_RESULT_BAD_BADGE, 9,                                                              \
        "The badge or capability is of the wrong kind, or its request no longer exists.")          \
    CR_RESULT(CR_RESULT_MEMORY, 10,                                                                \
        "No kernel memory is left, or a failure that `inject` orders says so.")                    \
    CR_RESULT(CR_RESULT_FAILED, 11, "An argument is invalid.")                                     \
    CR_RESULT(CR_RESULT_UNACKED, 12,                                                               \
        "Too many slots of the receiving PD wait for it to acknowledge a loss.")                   \
    CR_RESULT(CR_RESULT_BUSY, 13, "Work of the same kind is under way, and its limit is reached.") \
    CR_RESULT(CR_RESULT_UNWANTED, 14,                                                              \
        "The receiving PD has not allowed it to the caller with ALLOW.")                           \
    CR_RESULT(CR_RESULT_CANCELLED, 15, "Another PD cancelled it while the caller waited.")         \
    CR_RESULT(CR_RESULT_PREVENTED, 16,                                                             \
        "It would destroy a PD that the configuration protects. Nothing is destroyed.")
/* clang-format on */

typedef enum cr_result {
#define CR_RESULT(enumerator, number, ...) enumerator = number,
    CR_RESULTS
#undef CR_RESULT
        CR_RESULT_COUNT
} cr_result;

/* The result of a notice: CR_WORK_RESULT(enumerator, number, name in traces, meaning). */
/* clang-format off */
#define CR_WORK_RESULTS                                                                            \
    CR_WORK_RESULT(CR_WORK_DONE, 0, "ok", "The notice is dealt with.")                             \
    CR_WORK_RESULT(CR_WORK_FAILED, 1, "failed",                                                    \
        "The receiver could not deal with the notice. Its lane waits for RESUME_WORK.")            \
    CR_WORK_RESULT(CR_WORK_BY_RESOURCE, 2, "each",                                                 \
        "Only for an extract notice about a space: the root task asks about each resource "        \
        "instead.")
/* clang-format on */

typedef enum cr_work_result {
#define CR_WORK_RESULT(enumerator, number, ...) enumerator = number,
    CR_WORK_RESULTS
#undef CR_WORK_RESULT
        CR_WORK_RESULT_COUNT
} cr_work_result;

/* What a report tells: CR_REPORT(enumerator, number, name in traces, meaning). */
/* clang-format off */
#define CR_REPORTS                                                                                 \
    CR_REPORT(CR_REPORT_STARTING, 1, "starting", "The cleanup begins. PD: the trigger.")           \
    CR_REPORT(CR_REPORT_COMPLETED, 2, "completed", "The cleanup is over, and the state is legal.") \
    CR_REPORT(CR_REPORT_ERRORED, 3, "errored", "An attempt at a step failed. It is repeated.")     \
    CR_REPORT(CR_REPORT_LEFT, 4, "left",                                                           \
        "An attempt at a step failed for the last time. The step is left for later.")              \
    CR_REPORT(CR_REPORT_UNMADE, 5, "unmade",                                                       \
        "A step of making something failed, and those before it were undone.")                     \
    CR_REPORT(CR_REPORT_UNFINISHED, 6, "unfinished",                                               \
        "The cleanup is over for now, and left steps for later. The state is legal only without "  \
        "what is left. Each later run ends with another such report, or with `completed`.")
/* clang-format on */

typedef enum cr_report_kind {
#define CR_REPORT(enumerator, number, ...) enumerator = number,
    CR_REPORTS
#undef CR_REPORT
        CR_REPORT_KIND_COUNT
} cr_report_kind;

/* The words of a report: CR_REPORT_WORD(enumerator, number, meaning). All are 0 if there
 * is none. */
#define CR_REPORT_WORD_TABLE                                                                       \
    CR_REPORT_WORD(CR_REPORT_NUMBER, 0, "its number, from 1")                                      \
    CR_REPORT_WORD(CR_REPORT_KIND, 1, "a cr_report_kind")                                          \
    CR_REPORT_WORD(CR_REPORT_CLEANUP, 2, "the number of the cleanup; 0: none")                     \
    CR_REPORT_WORD(CR_REPORT_PD, 3, "the number of the PD that the step is for, or 0")             \
    CR_REPORT_WORD(CR_REPORT_STEP, 4, "the step, from 1; at the end: how many were carried out")   \
    CR_REPORT_WORD(CR_REPORT_STEPS, 5, "how many steps the plan had; unmade: 0")                   \
    CR_REPORT_WORD(CR_REPORT_STEP_KIND, 6, "a cr_step_kind; unmade: a cr_make_kind")               \
    CR_REPORT_WORD(CR_REPORT_SPACE, 7, "the space that the step is about, or 0")                   \
    CR_REPORT_WORD(CR_REPORT_OBJECT, 8, "the resource in it, or 0; unmade: a cr_made")             \
    CR_REPORT_WORD(CR_REPORT_ATTEMPTS, 9, "how often the step was attempted")                      \
    CR_REPORT_WORD(CR_REPORT_RESULT, 10, "a cr_result: OK unless something failed")

enum { CR_REPORT_WORDS = 11, CR_PROGRESS_WORDS = 3 };

typedef enum cr_report_word {
#define CR_REPORT_WORD(enumerator, number, ...) enumerator = number,
    CR_REPORT_WORD_TABLE
#undef CR_REPORT_WORD
        CR_REPORT_WORD_COUNT
} cr_report_word;

/* The states that LOOK returns: CR_LOOK_STATE(enumerator, number, name, meaning). */
#define CR_LOOK_STATES                                                                             \
    CR_LOOK_STATE(CR_LOOK_ACTIVE, 0, "active", "It exists.")                                       \
    CR_LOOK_STATE(CR_LOOK_DOOMED, 1, "doomed", "The cleanup under way will destroy it.")           \
    CR_LOOK_STATE(CR_LOOK_DESTROYED, 2, "destroyed", "It no longer exists.")

typedef enum cr_look_state {
#define CR_LOOK_STATE(enumerator, number, ...) enumerator = number,
    CR_LOOK_STATES
#undef CR_LOOK_STATE
        CR_LOOK_STATE_COUNT
} cr_look_state;

/* How a PD or space came to its end: CR_ENDING(enumerator, number, word, meaning) */
/* clang-format off */
#define CR_ENDINGS                                                                                 \
    CR_ENDING(CR_ENDING_DEPENDENCY, 0, "dependency",                                               \
        "The cleanup after the end of a PD destroyed it.")                                         \
    CR_ENDING(CR_ENDING_FAULT, 1, "fault", "It faulted.")                                          \
    CR_ENDING(CR_ENDING_EXIT, 2, "exit", "It exited.")                                             \
    CR_ENDING(CR_ENDING_TERMINATE, 3, "terminate", "It was terminated.")                           \
    CR_ENDING(CR_ENDING_LATE, 4, "late", "It was late.")                                           \
    CR_ENDING(CR_ENDING_COLLECT, 5, "collect", "A collection found that nobody could reach it.")   \
    CR_ENDING(CR_ENDING_STOP, 6, "stop", "The whole system was stopped.")                          \
    CR_ENDING(CR_ENDING_RECONCILE, 7, "reconcile",                                                 \
              "It was of a saved state, and the configuration does not name it.")                  \
    CR_ENDING(CR_ENDING_HUNG, 8, "hung", "It hung.")
/* clang-format on */

typedef enum cr_ending {
#define CR_ENDING(enumerator, number, ...) enumerator = number,
    CR_ENDINGS
#undef CR_ENDING
        CR_ENDING_COUNT
} cr_ending;

/* The words of a post-mortem, before the registers: CR_MORTEM_WORD(enumerator, number, meaning). */
#define CR_MORTEM_WORDS                                                                            \
    CR_MORTEM_WORD(CR_MORTEM_HOW, 0, "a cr_ending")                                                \
    CR_MORTEM_WORD(CR_MORTEM_CODE, 1, "the exit code; 0 if it did not exit")                       \
    CR_MORTEM_WORD(CR_MORTEM_FAULTED, 2, "1 if it ever faulted; 0: the words about a fault are 0") \
    CR_MORTEM_WORD(CR_MORTEM_FAULT, 3, "the kind of its last fault, a cr_fault_kind")              \
    CR_MORTEM_WORD(CR_MORTEM_ADDRESS, 4, "the address of that fault")                              \
    CR_MORTEM_WORD(CR_MORTEM_IP, 5, "the address of the instruction that faulted")                 \
    CR_MORTEM_WORD(CR_MORTEM_TYPE, 6, "the type of the space, or PD: two words of text")           \
    CR_MORTEM_WORD(CR_MORTEM_TYPE_END, 7, "the second of them")                                    \
    CR_MORTEM_WORD(CR_MORTEM_NAME, 8, "its name: four words of text")                              \
    CR_MORTEM_WORD(CR_MORTEM_NAME_END, 11, "the last of them")

typedef enum cr_mortem_word {
#define CR_MORTEM_WORD(enumerator, number, ...) enumerator = number,
    CR_MORTEM_WORDS
#undef CR_MORTEM_WORD
} cr_mortem_word;

enum { CR_DUMP_WORDS = 64 };

/* The registers follow in the order of their names in FAULT events, all of them. */
enum { CR_MORTEM_REGISTERS = 12, CR_MORTEM_REGISTERS_MAX = 40 };

/* The states of a ticket: CR_TICKET_STATE(enumerator, number, name, meaning).
 * TICKET's other results count notices: acknowledged as done; acknowledged as failed; dropped
 * because their receiver was destroyed; not acknowledged yet; and of the last, those held behind
 * a failed notice. Notices to the owner are not counted, because the owner cannot acknowledge
 * while it waits. */
/* clang-format off */
#define CR_TICKET_STATES                                                                           \
    CR_TICKET_STATE(CR_TICKET_QUEUED, 0, "queued", "The operation was accepted.")                  \
    CR_TICKET_STATE(CR_TICKET_RUNNING, 1, "running", "Its work has begun.")                        \
    CR_TICKET_STATE(CR_TICKET_SETTLED, 2, "settled",                                               \
        "Its work is done. Some of its notices are not acknowledged yet.")                         \
    CR_TICKET_STATE(CR_TICKET_OVER, 3, "over",                                                     \
        "Its work is done, and no notice is awaited any more.")                                    \
    CR_TICKET_STATE(CR_TICKET_CANCELLED, 4, "cancelled", "Its work was cancelled.")                \
    CR_TICKET_STATE(CR_TICKET_PREVENTED, 5, "prevented",                                           \
        "Its work would have destroyed a PD that the configuration protects. Nothing was done.")
/* clang-format on */

typedef enum cr_ticket_state {
#define CR_TICKET_STATE(enumerator, number, ...) enumerator = number,
    CR_TICKET_STATES
#undef CR_TICKET_STATE
        CR_TICKET_STATE_COUNT
} cr_ticket_state;

/* The orders that CHECKPOINT returns. */
typedef enum cr_order {
    CR_ORDER_CONTINUE = 0,
    CR_ORDER_STOP = 1,      /* begin no more rounds; wait for work */
    CR_ORDER_TERMINATE = 2, /* terminate the PD whose capability is in the slot given */
    CR_ORDER_CRASH = 16     /* + cr_crash_how */
} cr_order;

/* The kinds of fault: CR_FAULT_KIND(enumerator, number, name in traces, meaning). */
/* clang-format off */
#define CR_FAULT_KINDS                                                                             \
    CR_FAULT_KIND(CR_FAULT_VM, 0, "vm-fault",                                                      \
        "An access to memory that is not mapped or does not allow it.")                            \
    CR_FAULT_KIND(CR_FAULT_CAP, 1, "cap-fault", "The use of an invalid capability.")               \
    CR_FAULT_KIND(CR_FAULT_EXCEPTION, 2, "user-exception", "A processor exception.")               \
    CR_FAULT_KIND(CR_FAULT_SYSCALL, 3, "unknown-syscall",                                          \
        "A system call that the kernel does not define.")                                          \
    CR_FAULT_KIND(CR_FAULT_TIMEOUT, 4, "timeout",                                                  \
        "The budget of the PD is used up before its period has ended.")
/* clang-format on */

typedef enum cr_fault_kind {
#define CR_FAULT_KIND(enumerator, number, ...) enumerator = number,
    CR_FAULT_KINDS
#undef CR_FAULT_KIND
        CR_FAULT_KIND_COUNT
} cr_fault_kind;

/* Slots of every PD's CSpace. The root task assigns the slots from CR_SLOT_FIRST_FREE on. */
enum {
    CR_SLOT_ROOT = 1,         /* calls to the root task: operations */
    CR_SLOT_ENDPOINT = 2,     /* calls of its clients arrive here: receive only */
    CR_SLOT_NOTIFICATION = 3, /* bound to its TCB: receive only */
    CR_SLOT_FAULT = 4,        /* the kernel sends its faults here */
    CR_SLOT_REPLY = 5,        /* with MCS: who calls it is kept here until it answers */
    CR_SLOT_FIRST_FREE = 8
};

/* Those of a PD that was built for Microkit are where libmicrokit has them. It asks for no
 * operations, and has no capability for them. The root task's signal has no bit of its badge. What
 * its clients and its channels send arrives over one capability. */
enum {
    CR_MICROKIT_SLOT_INPUT = 1,
    CR_MICROKIT_SLOT_FAULT = 2,
    CR_MICROKIT_SLOT_REPLY = 4,
    CR_MICROKIT_SLOT_CHANNELS = 10,  /* + the number of the channel: with which it signals */
    CR_MICROKIT_SLOT_CALLS = 74,     /* + the number of the channel: with which it calls */
    CR_MICROKIT_SLOT_IRQS = 138,     /* + the number of the interrupt */
    CR_MICROKIT_SLOT_CHILDREN = 202, /* + the number of the child: its thread */
    /* The bit in the badge of a child's fault. The rest is the number of the child. */
    CR_MICROKIT_FAULT_BIT = 62,
    /* The bit in the badge of a call. The rest is the number of the channel of who is called. */
    CR_MICROKIT_CALL_BIT = 63
};

/* Addresses in every PD's address space, of its own pages. They are in one span of addresses. The
 * threads of a process share an address space: each has its pages in a span of its own, the first
 * thread, whose number is 0, in the lowest one. */
enum {
    CR_VADDR_STARTUP = 0x10000000,    /* one read-only page: cr_startup */
    CR_VADDR_IPC_BUFFER = 0x10001000, /* one page; what is behind the buffer is the library's */
    CR_VADDR_STACK = 0x10010000,      /* upwards from here; the page below is not mapped */
    CR_THREAD_SPAN_BITS = 21,         /* as many addresses as a page table of the last level has */
    CR_THREADS_MAX = 8                /* of a process */
};

/* The address of a page of a thread, by that of the first thread's. */
static inline uint64_t cr_vaddr_of(uint64_t vaddr, uint32_t thread)
{
    return vaddr + ((uint64_t)thread << CR_THREAD_SPAN_BITS);
}

/* Regions begin at any page below this log2: user addresses of riscv64 (Sv39) have 38 bits. Those
 * of the configuration use page tables of the PD's body. One that a PD attaches is above the PD's
 * own pages, within one span of addresses, log2. It has page tables of its own, which go with it:
 * of the last level where the body has the others, which is in the first span and in those with
 * regions of the configuration. There it shares no span of CR_LARGE_PAGE_BITS with another region;
 * elsewhere, no span of CR_REGION_SPAN_BITS. */
enum { CR_REGION_SPAN_BITS = 30, CR_REGIONS_END_BITS = 38, CR_ATTACHED_BEGIN = 0x20000000 };
/* What is told of the MAP edge of a region: its address by pages of 2^CR_PAGE_BITS bytes, above the
 * bits CR_REGION_WRITABLE, which says whether the PD may write there, and CR_REGION_UNCACHED. Of
 * the MAP of another resource to a memory object: CR_REGION_WRITABLE if holders of the resource may
 * write there, or 0. The same of the HOLD of a memory object, and whether its holder may write,
 * with CR_HOLD_READ_ONLY if who gave it last asked for that. */
enum {
    CR_PAGE_BITS = 12,
    CR_LARGE_PAGE_BITS = 21, /* those that memory may have instead */
    CR_REGION_WRITABLE = 1,
    CR_REGION_UNCACHED = 2,
    CR_HOLD_READ_ONLY = 2,
    CR_REGION_PAGE_SHIFT = 2
};

/* What a PD has of the machine beside memory. */
typedef enum cr_line_kind {
    CR_LINE_IRQ = 0,
    CR_LINE_PORT = 1,
    CR_LINE_KIND_COUNT = 2
} cr_line_kind;

/* The contents of the page at CR_VADDR_STARTUP. */
typedef struct cr_startup {
    uint64_t magic; /* CR_PROTOCOL_MAGIC */
    uint32_t pd;    /* the number in its id */
    uint32_t cspace_bits;
    uint32_t args[4];
    uint32_t n_spaces;
    uint32_t n_requests;
    uint32_t n_pds;
    uint32_t creator;    /* the number of the PD that spawned it; 0: the configuration has it */
    uint64_t secret;     /* for what it says itself (statement.h); 0: it is to say nothing */
    uint64_t ipc_buffer; /* the address */
    uint32_t thread;  /* its number among the threads of its process; 0: the first, or the only */
    uint32_t threads; /* how many its process has */
    char name[32];
    struct {
        char name[32];
        char type[16];
    } spaces[CR_STARTUP_SPACES];            /* that it must create */
    char requests[CR_STARTUP_REQUESTS][32]; /* names of spaces that it may connect to */
    struct {
        char name[32];
        uint32_t slot;
        uint32_t number;
    } pds[CR_STARTUP_PDS]; /* the PD capabilities that it holds */
    uint32_t n_channels;
    uint32_t n_lines;
    struct {
        char name[32];
        uint32_t slot; /* of the capability with which it signals the other one; 0: it may not */
        uint32_t id;   /* the bit in the badge when the other one signals it */
    } channels[CR_STARTUP_CHANNELS];
    struct {
        uint32_t kind;         /* cr_line_kind */
        uint32_t slot;         /* of the kernel's capability to it */
        uint32_t first;        /* the number of the line, or the first port */
        uint32_t bit;          /* IRQ: in the badge of the signal */
    } lines[CR_STARTUP_LINES]; /* interrupts, then ports, as the configuration lists them */
} cr_startup;

/* That of the thread whose stack has this address. */
static inline const cr_startup *cr_startup_of(uintptr_t stack)
{
    return (const cr_startup *)(stack >> CR_THREAD_SPAN_BITS << CR_THREAD_SPAN_BITS);
}

/* The first label of servers' answers to their clients. Errors of the kernel have labels below 16,
 * so a client can tell them from answers. */
enum { CR_REPLY_BASE = 0x100 };

#endif
