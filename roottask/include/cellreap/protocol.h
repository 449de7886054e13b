/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What protection domains and the root task say to each other (docs/protocol.md).
 *
 * A request is a seL4_Call on the PD's request capability: the label is a cr_op, message register 0 is
 * CR_PROTOCOL_MAGIC, the arguments follow. The reply's label is a cr_result; results start at register 0.
 * Who asks is told by the badge alone: nothing in a message and nothing in a PD's memory says who it is. */
#ifndef CELLREAP_PROTOCOL_H
#define CELLREAP_PROTOCOL_H

#include <stdint.h>

enum {
    CR_PROTOCOL_VERSION = 2,
    CR_NAME_WORDS = 4, /* names travel as NUL-padded words of 8 bytes */
    CR_TYPE_WORDS = 2,
    CR_WORK_MAX = 16, /* notices that one get_work hands out */
    CR_WORK_WORDS = 4,
    CR_SUBGRAPH_MAX = 32, /* MAP edges that one SUBGRAPH tells */
    CR_SUBGRAPH_WORDS = 3,
    CR_TICKET_WORDS = 6,  /* what TICKET answers */
    CR_SAY_MAX = 400, /* bytes of a say */
    CR_STARTUP_SPACES = 16,
    CR_STARTUP_REQUESTS = 32,
    CR_STARTUP_PDS = 32
};

#define CR_PROTOCOL_MAGIC ((uint64_t)0x6372700000000000u | (uint64_t)CR_PROTOCOL_VERSION)

/* A badge is (kind, generation, index): 4, 28 and 32 bits, the highest first. The index is one into a table of
 * the root task's; only the root task resolves it. */
typedef enum cr_badge_kind {
    CR_BADGE_NONE = 0,
    CR_BADGE_PD = 1,       /* a request of that PD to the root task */
    CR_BADGE_FAULT = 2,    /* a fault of that PD, to its fault handler */
    CR_BADGE_BODY = 3,     /* the capability to that PD, as others hold it */
    CR_BADGE_REQUEST = 4,  /* a client's request to a server: that REQUEST edge */
    CR_BADGE_RESOURCE = 5, /* somebody uses that resource */
    CR_BADGE_SIGNAL = 6,   /* the root task has work for the receiver */
    /* These two arrive by one notification, which ORs badges: no kind below them has all bits of either. */
    CR_BADGE_IDLE = 7,     /* nobody else had anything to run */
    CR_BADGE_TIMER = 8,    /* the timer's interrupt */
    CR_BADGE_KIND_COUNT = 9
} cr_badge_kind;

static inline uint64_t cr_badge(cr_badge_kind kind, uint32_t index, uint32_t generation)
{
    return ((uint64_t)kind << 60) | ((uint64_t)(generation & 0xfffffffu) << 32) | index;
}

static inline cr_badge_kind cr_badge_kind_of(uint64_t badge)
{
    uint64_t kind = badge >> 60;
    return kind < CR_BADGE_KIND_COUNT ? (cr_badge_kind)kind : CR_BADGE_NONE;
}

/* IDLE, TIMER, or both. */
static inline int cr_badge_is_signal(uint64_t badge)
{
    return badge >> 60 >= (uint64_t)CR_BADGE_IDLE;
}

static inline uint32_t cr_badge_index(uint64_t badge)
{
    return (uint32_t)badge;
}

static inline uint32_t cr_badge_generation(uint64_t badge)
{
    return (uint32_t)(badge >> 32) & 0xfffffffu;
}

/* Arguments -> results, registers after the magic and of the reply. "space", "object": the numbers in the id.
 * "PD capability": the first extra capability of the message. */
typedef enum cr_op {
    CR_OP_SAY = 1,             /* bytes, text... -> : one line of the trace */
    CR_OP_EXIT = 2,            /* code; never answered */
    CR_OP_CHECKPOINT = 3,      /* round boundary (0, 1) -> cr_order, slot */
    CR_OP_CREATE_SPACE = 4,    /* type (2 words), name (4 words), [PD capability of the first client] -> space, slot there */
    CR_OP_DELETE_SPACE = 5,    /* space -> */
    CR_OP_CREATE_RESOURCE = 6, /* space -> object */
    CR_OP_DELETE_RESOURCE = 7, /* space, object -> : from all holders */
    CR_OP_CONNECT = 8,         /* name (4 words) -> slot, space; waits until the space exists */
    CR_OP_DISCONNECT = 9,      /* space -> : drops the caller's own REQUEST */
    CR_OP_GIVE = 10,           /* space, object, badge of a request -> slot in that client's CSpace */
    CR_OP_SEND = 11,           /* space, object, PD capability -> slot in that PD's CSpace */
    CR_OP_SHARE_REQUEST = 12,  /* space, PD capability -> slot in that PD's CSpace */
    CR_OP_RELEASE = 13,        /* space, object -> holds left: drops one of the caller's own holds */
    CR_OP_TAKE_BACK = 14,      /* space, object, badge of a request -> holds left: drops one hold of that client */
    CR_OP_MAP = 15,            /* space, object, target space, target object (objects 0: the spaces) -> */
    CR_OP_UNMAP = 16,          /* the same -> */
    CR_OP_GET_WORK = 17,       /* -> kind, count, then token, space, object, PD number each */
    CR_OP_FINISH_WORK = 18,    /* count, then token, cr_work_result, each -> */
    CR_OP_SPAWN = 19,          /* program's name (4 words) -> slot of its PD capability, PD number */
    CR_OP_TERMINATE = 20,      /* PD capability -> ticket, then as TICKET answers */
    CR_OP_SET_DEPTH = 21,      /* pd depth, rs depth (2^32-1: inf; 2^32-2: the system's) -> : of the caller's own crash */
    CR_OP_REPORT_FAULT = 22,   /* badge of a fault that the caller handles, kind, address, ip -> */
    CR_OP_HOLDS = 23,          /* space, object -> the caller's count of holds, all PDs' holds together */
    CR_OP_SUBSCRIBE = 24,      /* space -> ; 0: the PD whose capability comes along, or, if none does, the caller itself */
    CR_OP_UNSUBSCRIBE = 25,    /* the same -> */
    CR_OP_LOOK = 26,           /* space, object (0: the space); space 0: the PD of that number, or as for SUBSCRIBE -> cr_look_state */
    CR_OP_RESUME_WORK = 27,    /* space -> : its notice that failed is handed out again, those behind it follow */
    CR_OP_TICKET = 28,         /* ticket, wait (0, 1) -> cr_ticket_state, done, failed, dropped, waiting, held */
    CR_OP_EXTRACT = 29,        /* -> ticket */
    CR_OP_SUBGRAPH = 30,       /* token, count, then object, target space, target object each -> : maps, of an EXTRACT notice */
    CR_OP_COUNT = 31
} cr_op;

typedef enum cr_result {
    CR_RESULT_OK = 0,
    CR_RESULT_BAD_MAGIC = 1,  /* register 0 is not CR_PROTOCOL_MAGIC: nothing was changed */
    CR_RESULT_BAD_OP = 2,     /* no such operation */
    CR_RESULT_BAD_LENGTH = 3, /* too few registers, or a missing or unexpected capability */
    CR_RESULT_DENIED = 4,     /* the caller may not */
    CR_RESULT_NO_SUCH = 5,    /* no such space, resource, PD, name or token */
    CR_RESULT_GONE = 6,       /* it was there, and is doomed or destroyed */
    CR_RESULT_EXISTS = 7,     /* it is there already */
    CR_RESULT_FULL = 8,       /* a limit is reached; nothing was changed */
    CR_RESULT_BAD_BADGE = 9,  /* not a badge of a live request */
    CR_RESULT_MEMORY = 10,    /* no kernel memory left; nothing was changed */
    CR_RESULT_FAILED = 11,
    CR_RESULT_UNACKED = 12,   /* too many slots of the PD that would be given one wait for its ACKs of losses */
    CR_RESULT_BUSY = 13,      /* the same is under way already, or too many of its kind are */
    CR_RESULT_COUNT = 14
} cr_result;

/* How a notice was dealt with. */
typedef enum cr_work_result {
    CR_WORK_DONE = 0,
    CR_WORK_FAILED = 1,      /* those behind it for its space wait until RESUME_WORK */
    CR_WORK_BY_RESOURCE = 2, /* EXTRACT of a space: ask for each of its resources instead */
    CR_WORK_RESULT_COUNT = 3
} cr_work_result;

/* What LOOK answers. */
typedef enum cr_look_state { CR_LOOK_ACTIVE = 0, CR_LOOK_DOOMED = 1, CR_LOOK_DESTROYED = 2 } cr_look_state;

/* How far what was asked for is. Its other numbers count notices: acknowledged as done; as failed; forgotten, their
 * receiver being gone; not acknowledged yet; and of these last, those that wait behind one that failed. The owner's own
 * notices are not among them: it could not acknowledge while it waits. */
typedef enum cr_ticket_state {
    CR_TICKET_QUEUED = 0,  /* accepted */
    CR_TICKET_RUNNING = 1, /* begun; somebody is being told before it goes on */
    CR_TICKET_SETTLED = 2, /* done, and notices are on their way */
    CR_TICKET_OVER = 3,    /* nothing is waited for any more */
    CR_TICKET_STATE_COUNT = 4
} cr_ticket_state;

/* What a checkpoint is answered: go on, or be brought down. */
typedef enum cr_order {
    CR_ORDER_CONTINUE = 0,
    CR_ORDER_STOP = 1,      /* no more rounds: wait for work */
    CR_ORDER_TERMINATE = 2, /* terminate the PD whose capability is in the slot given */
    CR_ORDER_CRASH = 16     /* + cr_crash_how */
} cr_order;

/* Fault kinds, as REPORT_FAULT and the trace name them. */
typedef enum cr_fault_kind {
    CR_FAULT_VM = 0,
    CR_FAULT_CAP = 1,
    CR_FAULT_EXCEPTION = 2,
    CR_FAULT_SYSCALL = 3,
    CR_FAULT_KIND_COUNT = 4
} cr_fault_kind;

/* Slots of every PD's CSpace. From CR_SLOT_FIRST_FREE on the root task gives them out. */
enum {
    CR_SLOT_ROOT = 1,         /* requests to the root task */
    CR_SLOT_ENDPOINT = 2,     /* where its clients' requests arrive: receive only */
    CR_SLOT_NOTIFICATION = 3, /* bound to its TCB: receive only */
    CR_SLOT_FAULT = 4,        /* where the kernel sends its faults */
    CR_SLOT_FIRST_FREE = 8
};

/* Where things are in every PD's address space. */
enum {
    CR_VADDR_STARTUP = 0x10000000,    /* one read-only page: cr_startup */
    CR_VADDR_IPC_BUFFER = 0x10001000, /* one page */
    CR_VADDR_STACK = 0x10010000       /* from here upwards; the page below is not mapped */
};

/* What a PD finds at CR_VADDR_STARTUP. */
typedef struct cr_startup {
    uint64_t magic; /* CR_PROTOCOL_MAGIC */
    uint32_t pd;    /* number in its id */
    uint32_t cspace_bits;
    uint32_t args[4];
    uint32_t n_spaces;
    uint32_t n_requests;
    uint32_t n_pds;
    uint32_t reserved;
    char name[32];
    struct {
        char name[32];
        char type[16];
    } spaces[CR_STARTUP_SPACES];                /* that it is to make */
    char requests[CR_STARTUP_REQUESTS][32];     /* names of spaces that it may connect to */
    struct {
        char name[32];
        uint32_t slot;
        uint32_t number;
    } pds[CR_STARTUP_PDS]; /* PD capabilities it holds */
} cr_startup;

_Static_assert(sizeof(cr_startup) <= 4096, "the startup information is one page");

/* Replies of servers to their clients have labels from here on, so that a kernel's error (a label below 16)
 * is never taken for a server's answer. */
enum { CR_REPLY_BASE = 0x100 };

#endif
