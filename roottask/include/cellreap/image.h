/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The configuration of a system, as it is stored in the image of the root task: a header, tables at
 * the offsets that the header names, and the ELF files of the programs. Little-endian. Offsets are
 * in bytes from the header. The host tooling parses this header and writes the bytes. No other file
 * repeats these definitions. Plain declarations and enums only. */
#ifndef CELLREAP_IMAGE_H
#define CELLREAP_IMAGE_H

#include <stdint.h>

enum {
    CR_IMAGE_MAGIC = 0x49526c63,
    CR_IMAGE_VERSION = 1,
    CR_NAME_BYTES = 32, /* a name is NUL-terminated within this size */
    CR_TYPE_BYTES = 16,
    CR_PD_ARGS = 4,
    CR_IMAGE_KEY_BYTES = 16,
    CR_IMAGE_QUOTAS = 10, /* the number of rows of CR_QUOTAS in limits.h */
    CR_IMAGE_NONE = 0xffffffff,
    CR_IMAGE_MAX_INJECTIONS = 128,
    CR_IMAGE_MAX_RSI_MINS = 16,
    CR_IMAGE_MAX_REGIONS = 64,
    CR_IMAGE_MAX_MAPS = 16, /* regions that the configuration maps for one PD */
    CR_IMAGE_MAX_QUIETS = 64,
    CR_IMAGE_MAX_CHANNELS = 512,
    CR_IMAGE_MAX_ENDS = 62,             /* channels that one PD has */
    CR_IMAGE_MAX_IDS = 32,              /* numbers of channels and interrupts within a PD */
    CR_IMAGE_MICROKIT_IDS = 62,         /* the same of a PD for Microkit */
    CR_IMAGE_MAX_LINES = 32,            /* interrupts and ranges of I/O ports */
    CR_IMAGE_REPEAT = 0xffffffff,       /* the `callers` whose calls are made anew */
    CR_IMAGE_STEP_END = 0xffffffff,     /* the `call` of an injection at the end of a step */
    CR_RESPAWN_DELAY_MAX_MS = 1000,     /* the longest delay of a respawn */
    CR_IMAGE_DEPTH_DEFAULT = 0xfffffffe /* the depth of the system; CR_DEPTH_INF: infinite */
};

/* Flags of the configuration. */
enum {
    CR_IMAGE_SNAPSHOT = 1, /* a debug kernel prints all capabilities before the first PD runs */
    CR_IMAGE_SYNC = 2,     /* answers TERMINATE when all notices are acknowledged, else at once */
    CR_IMAGE_EXTRACT = 4,  /* at the end of the run the root task extracts the model state */
    CR_IMAGE_TRUTH = 8,    /* the trace has the capabilities that the kernel has */
    /* with TRUTH: the kernel can print snapshots (seL4_DebugSnapshot) */
    CR_IMAGE_TRUTH_SNAPSHOT = 16,
    CR_IMAGE_TRUTH_TABLES = 32, /* with TRUTH_SNAPSHOT: address spaces too */
    /* with TRUTH: each time all there is, whatever it costs */
    CR_IMAGE_TRUTH_WHOLE = 512,
    CR_IMAGE_COLLECT = 64,        /* after each cleanup, what cannot be reached is collected */
    CR_IMAGE_STOP_IN_ORDER = 128, /* at the end of the run all PDs are stopped, as one cleanup */
    CR_IMAGE_TIMES = 256,         /* the events of the trace have times */
    CR_IMAGE_GOES_ON = 1024       /* also when all PDs wait: the scenario does not end the run */
};

/* Flags of a PD. */
enum {
    CR_IMAGE_PINNED = 1,
    CR_IMAGE_RESPAWN = 2, /* created anew after a cleanup that destroyed it, within its budget */
    CR_IMAGE_MAY_SPAWN = 4,
    CR_IMAGE_LATE = 8, /* created only after the first cleanup */
    CR_IMAGE_MAY_EXTRACT = 16,
    CR_IMAGE_BACKGROUND = 32, /* a background computation; the scenario does not wait for it */
    CR_IMAGE_MAY_SET_DEPTH = 64,
    CR_IMAGE_MAY_LISTEN = 128,
    CR_IMAGE_PREVENT_DESTROY = 256, /* no TERMINATE destroys it; it is PINNED too */
    CR_IMAGE_MAY_COLLECT = 512,
    CR_IMAGE_PASSIVE = 1024, /* it runs on the time of its callers; needs MCS */
    CR_IMAGE_MAY_ALLOCATE = 2048,
    CR_IMAGE_OVERRUN_WAITS = 4096, /* to use its budget up is no fault */
    CR_IMAGE_MICROKIT = 8192 /* built for Microkit: its slots are those of protocol.h for it */
};

/* How a PD is made to crash. */
typedef enum cr_crash_how {
    CR_CRASH_PAGE_FAULT = 0,
    CR_CRASH_CAP_FAULT = 1,
    CR_CRASH_ILLEGAL_INSTRUCTION = 2,
    CR_CRASH_UNKNOWN_SYSCALL = 3,
    CR_CRASH_EXIT = 4,
    CR_CRASH_TERMINATE = 5, /* by another PD, which holds its PD capability */
    CR_CRASH_KILL = 6,      /* by the root task, at an arbitrary instruction */
    CR_CRASH_FREEZE = 7, /* its thread is suspended at an arbitrary instruction; no fault occurs */
    CR_CRASH_HANG = 8,   /* loops forever */
    CR_CRASH_BLOCK = 9,  /* waits forever for an event that never occurs */
    CR_CRASH_COUNT = 10
} cr_crash_how;

/* What a staged crash does. No page is mapped at the address, no slot has the bit, and the kernel
 * has no such call. */
enum {
    CR_STAGED_ADDRESS = 0xdead000,
    CR_STAGED_SLOT_BIT = 40,
    CR_STAGED_SYSCALL = 4242, /* its negative is called */
    CR_STAGED_CODE = 42       /* of an exit */
};

typedef struct cr_image_table {
    uint32_t offset;
    uint32_t count;
} cr_image_table;

/* How many entries the tables of the root task have, by the words of CR_TABLE_LIMITS in limits.h.
 * Only the tables that the configuration needs have any. */
typedef struct cr_image_tables {
    uint32_t pds;
    uint32_t nodes;
    uint32_t edges;
    uint32_t spaces;
    uint32_t types;
    uint32_t requests;
    uint32_t tombstones;
    uint32_t tickets;
    uint32_t maps;
    uint32_t slots; /* the same number for each PD */
    uint32_t pairs; /* pds * pds */
    uint32_t close; /* 0: the policy is depth */
    uint32_t bodies;
    uint32_t pool;
    uint32_t blocks;
} cr_image_tables;

typedef struct cr_image_header {
    uint32_t magic;
    uint32_t version;
    uint32_t bytes; /* of everything, this header included */
    uint32_t crc;   /* CRC-32 of everything after this header */
    uint32_t pd_depth;
    uint32_t rs_depth;
    uint32_t flags;
    uint32_t await_ms; /* time limit for waiting where no deadline applies; at least 1 */
    /* For tests: so many numbers of each kind, and so many uses of each entry of a table, are left
     * at the start. 0: all. See numbers.h. */
    uint32_t numbers_left;
    uint32_t generations_left;
    /* PDs with higher priorities run while a cleanup is carried out. 0: none does. */
    uint32_t cleaner_priority;
    uint32_t policy; /* cr_policy */
    uint32_t fr_max; /* CR_IMAGE_NONE: no limit. 0 with the policy of depth. */
    cr_image_tables tables;
    cr_image_table rsi_mins; /* cr_image_rsi_min, at most CR_IMAGE_MAX_RSI_MINS */
    cr_image_table programs; /* cr_image_program */
    cr_image_table pds;      /* cr_image_pd, in the order of creation */
    cr_image_table spaces;   /* cr_image_space */
    cr_image_table requests; /* cr_image_request */
    cr_image_table holds;    /* cr_image_pd_hold */
    cr_image_table spawns;   /* cr_image_spawn */
    cr_image_table links;    /* cr_image_link */
    cr_image_table trusts;   /* cr_image_trust */
    cr_image_table regions;  /* cr_image_region, at most CR_IMAGE_MAX_REGIONS */
    cr_image_table maps;     /* cr_image_map, at most CR_IMAGE_MAX_MAPS of a PD */
    /* cr_image_channel_end, two of each channel, one after the other. At most
     * CR_IMAGE_MAX_CHANNELS pairs, and CR_IMAGE_MAX_ENDS of a PD. */
    cr_image_table ends;
    cr_image_table quiets;      /* cr_image_quiet, at most CR_IMAGE_MAX_QUIETS */
    cr_image_table lines;       /* cr_image_line, at most CR_IMAGE_MAX_LINES; see protocol.h */
    cr_image_table crashes;     /* cr_image_crash, in order */
    cr_image_table injections;  /* cr_image_injection, at most CR_IMAGE_MAX_INJECTIONS */
    cr_image_table saved_nodes; /* cr_image_saved_node */
    cr_image_table saved_edges; /* cr_image_saved_edge */
    char system[CR_NAME_BYTES];
    char kernel[CR_NAME_BYTES]; /* name and version, "seL4 16.0.0" */
    char arch[CR_TYPE_BYTES];
    /* A secret of the image, from which the root task derives the key of each run's trace. */
    uint8_t trace_key[CR_IMAGE_KEY_BYTES];
} cr_image_header;

typedef struct cr_image_program {
    char name[CR_NAME_BYTES];
    uint32_t offset; /* of an ELF64 executable, aligned to 16 */
    uint32_t bytes;
} cr_image_program;

typedef struct cr_image_pd {
    char name[CR_NAME_BYTES];
    uint32_t program;
    uint32_t flags;
    uint32_t priority;      /* 1 .. CR_PRIORITY_MAX */
    uint32_t cspace_bits;   /* log2 of its slots, CR_CSPACE_BITS_MIN .. CR_CSPACE_BITS_MAX */
    uint32_t stack_pages;   /* 1 .. CR_STACK_PAGES_MAX */
    uint32_t fault_handler; /* an earlier PD in the table, or CR_IMAGE_NONE for the root task */
    /* The first thread of its process, an earlier PD in the table, with which it is linked and
     * whose program it runs; CR_IMAGE_NONE: itself. */
    uint32_t process;
    uint32_t thread;  /* its number in the process, 0 .. threads - 1 */
    uint32_t threads; /* of the process, 1 .. CR_THREADS_MAX */
    uint32_t reader;  /* of its memory when it is doomed: a PD's position, from 1; 0: nobody */
    uint32_t pd_depth;
    uint32_t rs_depth;
    uint32_t deadline_ms;    /* time to acknowledge a notice; 0: no deadline */
    uint32_t heartbeat_ms;   /* time to wait for a message, or to answer a probe; 0: no limit */
    uint32_t call_ms;        /* time for which it waits in a call, twice; 0: no limit */
    uint32_t budget_us;      /* how long it may run in each period; needs MCS. 0: in turn */
    uint32_t period_us;      /* at least budget_us; 0 with it */
    uint32_t spawn_priority; /* of the PDs that it spawns: 1 .. priority */
    uint32_t spawn_allow;    /* edges that a PD that it spawns allows it to make, from the start */
    /* RESPAWN: the PD is created anew at most this often in a window of this many milliseconds; 0:
     * the window is the whole run. The first time in a window it is created at once, the k-th time
     * after respawn_delay_ms * 2^(k-2), but at most CR_RESPAWN_DELAY_MAX_MS. */
    uint32_t respawn_budget;
    uint32_t respawn_window_ms;
    uint32_t respawn_delay_ms;
    /* Of Microkit: the label with which a call that it has taken is answered when it is stopped, or
     * CR_IMAGE_REPEAT. */
    uint32_t callers;
    uint32_t args[CR_PD_ARGS];
    /* by cr_quota of limits.h; CR_IMAGE_NONE: a fair share */
    uint32_t quotas[CR_IMAGE_QUOTAS];
} cr_image_pd;

/* A PD is close to the one that goes down if RSI of this type is at least shared / all. */
typedef struct cr_image_rsi_min {
    char type[CR_TYPE_BYTES];
    uint32_t shared; /* 1 .. all */
    uint32_t all;
} cr_image_rsi_min;

/* A space that a PD makes. */
typedef struct cr_image_space {
    char name[CR_NAME_BYTES];
    char type[CR_TYPE_BYTES];
    uint32_t pd;
} cr_image_space;

/* A space that a PD may connect to. */
typedef struct cr_image_request {
    uint32_t pd;
    uint32_t space;
} cr_image_request;

/* `pd` is given a PD capability to `target` whenever both exist. One for Microkit is the parent of
 * `target`: it is given the thread. */
typedef struct cr_image_pd_hold {
    uint32_t pd;
    uint32_t target;
    uint32_t child; /* Microkit: the number of `target`, below CR_IMAGE_MICROKIT_IDS */
} cr_image_pd_hold;

/* A program from which a PD may have new PDs created. */
typedef struct cr_image_spawn {
    uint32_t pd;
    uint32_t program;
} cr_image_spawn;

/* `pd` may change the policy of `target`, which may be itself. */
typedef struct cr_image_trust {
    uint32_t pd;
    uint32_t target;
} cr_image_trust;

typedef struct cr_image_link {
    uint32_t a;
    uint32_t b;
} cr_image_link;

/* What becomes of a region's contents when a PD that maps it comes back and another one has it
 * mapped. Who finds no other one finds it as it was at first. */
typedef enum cr_image_after {
    CR_AFTER_KEEP = 0,   /* they stay */
    CR_AFTER_ZERO = 1,   /* it is zero */
    CR_AFTER_REFILL = 2, /* it is as at first */
    CR_AFTER_COUNT = 3
} cr_image_after;

/* Memory that PDs have from the start. */
typedef struct cr_image_region {
    char name[CR_NAME_BYTES];
    uint32_t pages;     /* 1 .. CR_MEMORY_PAGES_MAX */
    uint32_t page_bits; /* CR_PAGE_BITS, or of memory CR_LARGE_PAGE_BITS */
    uint32_t after;     /* cr_image_after */
    /* The offset, in bytes, of a word of 8 bytes that is one larger each time a PD that maps it is
     * made. CR_IMAGE_NONE: there is none. */
    uint32_t epoch;
    uint32_t offset; /* of what it is filled with at first. The rest is zero. */
    uint32_t bytes;
    /* The number of the first page of a device, which is never filled. CR_IMAGE_NONE: memory. */
    uint32_t device;
    /* Memory: the offset of a word of 8 bytes with the physical address of the region, which is
     * contiguous. CR_IMAGE_NONE: there is none. */
    uint32_t physical;
    /* Memory: the number of the first page of the memory that it is each time. CR_IMAGE_NONE: any
     * memory. */
    uint32_t place;
} cr_image_region;

/* What the root task does to a device when a PD that has it is stopped, and before anything of the
 * PD is used again. Rows are done in their order. */
typedef struct cr_image_quiet {
    uint32_t region; /* of a device */
    uint32_t offset; /* of a register, a multiple of 4 */
    uint32_t writes; /* the value is written */
    uint32_t value;
    uint32_t reads; /* then it is read until it is `until`, at most so often; 0: it is not read */
    uint32_t mask;
    uint32_t until;
} cr_image_quiet;

typedef struct cr_image_map {
    uint32_t region;
    uint32_t pd;
    uint32_t page; /* the number of the first page of its addresses, not 0 */
    uint32_t writable;
    uint32_t cached;
} cr_image_map;

/* An end of a channel. The PDs of its two ends may signal each other. */
typedef struct cr_image_channel_end {
    char name[CR_NAME_BYTES]; /* of the channel */
    uint32_t pd;
    /* The bit in the badge of what the other one signals, below CR_IMAGE_MAX_IDS; for Microkit
     * below CR_IMAGE_MICROKIT_IDS. */
    uint32_t id;
    /* Of its CSpace, where it has the capability with which it signals the other one. 0: it may
     * not. */
    uint32_t slot;
    /* The same of the capability with which it calls the other one; needs Microkit. The PD has a
     * request to the first space of the other one. */
    uint32_t calls;
} cr_image_channel_end;

/* An interrupt line, or a range of I/O ports, which one PD has. */
typedef struct cr_image_line {
    uint32_t kind; /* cr_line_kind */
    uint32_t pd;
    uint32_t slot;  /* of its CSpace, for the kernel's capability */
    uint32_t first; /* the number of the line, or the first port */
    uint32_t last;  /* PORT: the last port */
    uint32_t edge;  /* IRQ: an edge triggers it, else a level */
    /* IRQ: in the badge of what the PD is signalled, below CR_IMAGE_MAX_IDS; for Microkit below
     * CR_IMAGE_MICROKIT_IDS. */
    uint32_t bit;
    uint32_t acknowledge; /* IRQ: the root task acknowledges it before the PD's first instruction */
} cr_image_line;

/* The PD crashes at its `checkpoint`-th checkpoint. Checkpoints are counted from 1, starting when
 * this entry becomes current. The PD crashes `repeat` times in all. Each repetition starts after
 * the PD was created anew and the system has settled. */
typedef struct cr_image_crash {
    uint32_t pd;
    uint32_t checkpoint;
    uint32_t how; /* cr_crash_how */
    /* TERMINATE: the PD that terminates it, at a checkpoint of its own. Else CR_IMAGE_NONE. */
    uint32_t by;
    uint32_t repeat;
    /* KILL, FREEZE: the delay after that checkpoint, in nanoseconds. It is the sum of `after_ns`
     * and a pseudo-random number below `spread_ns`, which `seed` and the number of the repetition
     * determine. */
    uint32_t after_ns;
    uint32_t spread_ns;
    uint32_t seed;
} cr_image_crash;

/* What the image carries of a saved state: the nodes that the configuration does not name, and the
 * nodes that these have to do with. */
typedef enum cr_saved_kind {
    CR_SAVED_GONE = 0,  /* a PD that the configuration does not name */
    CR_SAVED_NAMED = 1, /* a PD of the configuration */
    CR_SAVED_SPACE = 2,
    CR_SAVED_RESOURCE = 3,
    CR_SAVED_KIND_COUNT = 4
} cr_saved_kind;

/* Rows are in the order of their kinds, and those of one kind in that of their numbers. Resources
 * are in the order of their spaces. */
typedef struct cr_image_saved_node {
    char name[CR_NAME_BYTES]; /* GONE; SPACE: that of the configuration, or "-" */
    char type[CR_TYPE_BYTES]; /* SPACE */
    uint32_t kind;            /* cr_saved_kind */
    uint32_t number;          /* its number in the saved state; 0 for NAMED */
    /* GONE: a program, of which nothing is executed. NAMED: a PD of the configuration. SPACE: the
     * row of its manager. RESOURCE: the row of its space. */
    uint32_t of;
    uint32_t bits; /* GONE: log2 of the slots of its CSpace */
    uint32_t next; /* SPACE: the number that is above those of all its resources */
} cr_image_saved_node;

/* An edge between two rows. */
typedef struct cr_image_saved_edge {
    uint32_t kind; /* cr_edge_kind: REQUEST, HOLD, MAP or SUBSCRIBE */
    uint32_t from;
    uint32_t to;
    uint32_t count;   /* at least 1; above 1 only for HOLD and SUBSCRIBE */
    uint32_t handler; /* SUBSCRIBE: below CR_HANDLER_COUNT; else 0 */
} cr_image_saved_edge;

/* For tests: something fails at a step of the root task. See inject.h. */
typedef struct cr_image_injection {
    uint32_t chain; /* cr_chain */
    uint32_t step;  /* from 1 */
    uint32_t call;  /* of the step, from 1, as inject.h counts; 0: before it; CR_IMAGE_STEP_END */
    uint32_t how;   /* cr_injected */
    /* 0: the first attempt fails; 1: each one, of making each later step; else so many. */
    uint32_t always;
} cr_image_injection;

#endif
