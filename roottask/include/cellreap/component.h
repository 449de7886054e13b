/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The component as a part of your root task (docs/embedding.md). Your root task describes PDs, the
 * component creates and supervises them, and cleans up after those that go.
 *
 *     cr_component_init     takes its room from what the kernel gave at boot
 *     cr_component_start    creates the PDs of the description
 *     cr_component_step     serves one message; again and again
 *     cr_component_end      ends the trace
 *
 * Only the thread that the kernel started may call these functions. It must have the highest
 * priority of the system, and a stack of at least CR_COMPONENT_STACK bytes. It is the only thread
 * that may use the IPC buffer. A function that cannot do what it must stops the system with a
 * message on the console, except where a status is named.
 *
 * Capabilities are addresses in the root task's CSpace (seL4_CPtr). After cr_component_init, the
 * addresses of boot time remain valid. No header of seL4 is needed, which C++ would not accept. */
#ifndef CELLREAP_COMPONENT_H
#define CELLREAP_COMPONENT_H

#include <cellreap/image.h>
#include <cellreap/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct seL4_BootInfo;

enum {
    CR_COMPONENT_SLOTS = 69,        /* that the component takes of the CNode that the kernel gave */
    CR_COMPONENT_CONSOLE_SLOTS = 2, /* that cr_component_console takes of it, at its end */
    CR_COMPONENT_STACK = 32768
};

/* What the component may take. All else remains yours. */
typedef struct cr_component_room {
    const struct seL4_BootInfo *boot_info;
    /* The first of CR_COMPONENT_SLOTS slots that are empty, in `boot_info->empty`. */
    uint64_t slots;
    /* The untypeds that you keep. The component takes all others that are no devices. */
    const uint64_t *kept;
    uint32_t n_kept;
    /* The address of the first page of your root task's image. */
    const void *image_start;
    /* Writes a character of the trace. It runs on any thread of the component, and may use no IPC
     * buffer. 0: the console of cr_component_console, or else that of the kernel, if it has one. */
    void (*put)(char c);
} cr_component_room;

typedef struct cr_component_program {
    char name[CR_NAME_BYTES];
    const void *elf; /* a static ELF64 executable, aligned to 16 */
    uint32_t bytes;
} cr_component_program;

/* A system. image.h describes the rows. The component uses the tables and the ELF files as long as
 * it runs, so they must not change. They must be in the root task's image. No PD can have the flag
 * CR_IMAGE_LATE, which is for staged crashes. */
typedef struct cr_component_system {
    uint32_t version; /* CR_IMAGE_VERSION, of the headers that you compile with */
    const char *name;
    const char *kernel; /* name and version for the trace, such as "seL4 16.0.0" */
    uint32_t pd_depth;  /* CR_DEPTH_INF (policy.h): infinite */
    uint32_t rs_depth;
    uint32_t await_ms;                     /* at least 1 */
    uint32_t flags;                        /* CR_IMAGE_SYNC, or 0 */
    uint8_t trace_key[CR_IMAGE_KEY_BYTES]; /* a secret; see docs/trace-format.md, "The key" */
    const cr_component_program *programs;
    const cr_image_pd *pds;
    const cr_image_space *spaces;
    const cr_image_request *requests;
    const cr_image_pd_hold *holds;
    const cr_image_spawn *spawns;
    const cr_image_link *links;
    const cr_image_trust *trusts;
    uint32_t n_programs;
    uint32_t n_pds;
    uint32_t n_spaces;
    uint32_t n_requests;
    uint32_t n_holds;
    uint32_t n_spawns;
    uint32_t n_links;
    uint32_t n_trusts;
    /* Zeros: the policy is depth. See policy.h; without a least RSI, n_rsi_mins is 0. */
    uint32_t policy; /* cr_policy */
    uint32_t fr_max; /* or CR_FR_UNLIMITED */
    const cr_image_rsi_min *rsi_mins;
    uint32_t n_rsi_mins;
    /* PDs with higher priorities run while a cleanup is carried out, and are answered between its
     * steps. No PD may have it. 0: no PD runs then. */
    uint32_t cleaner_priority;
    /* How many entries the component's tables have. `cellreap build --json` of a configuration that
     * says the same tells them, as `bounds.sizes`. */
    const cr_image_tables *tables;
} cr_component_system;

/* For cr_image_pd: a fair share of everything. */
/* clang-format off */
#define CR_FAIR_SHARES                                                                          \
    {CR_IMAGE_NONE, CR_IMAGE_NONE, CR_IMAGE_NONE, CR_IMAGE_NONE, CR_IMAGE_NONE, CR_IMAGE_NONE, \
     CR_IMAGE_NONE, CR_IMAGE_NONE, CR_IMAGE_NONE}
/* clang-format on */

/* A message or signals for you. */
typedef struct cr_component_message {
    uint64_t badge; /* yours, or the OR of your signals' badges */
    uint64_t tag;   /* of a message: the word of its seL4_MessageInfo_t */
    uint64_t reply; /* with MCS, the reply object that keeps its sender; else nothing */
} cr_component_message;

/* Gives a kernel without KernelPrinting a console: the UART of the platform, a PC's first serial
 * port or the PL011 of qemu-arm-virt. It takes the last CR_COMPONENT_CONSOLE_SLOTS slots of
 * `boot_info->empty`, and on aarch64 the device untyped that has the UART. On a kernel that prints
 * it does nothing. image_start: see cr_component_room. CR_ERR_ABSENT: there is no UART that it
 * knows. CR_ERR_MEMORY: there are too few slots. */
cr_status cr_component_console(const struct seL4_BootInfo *boot_info, const void *image_start);
/* Writes a text on that console, or on the kernel's. */
void cr_component_print(const char *text);

/* Takes the room and makes what the component needs for itself. Must be the root task's first use
 * of the kernel, apart from its console. CR_ERR_ARG: the description is wrong, or the room. Nothing
 * has been taken. CR_ERR_VERSION: the description is for another version of this library.
 * CR_ERR_MEMORY: there is too little. CR_ERR_ABSENT: there is no console, or a PD has a deadline or
 * `cleaner_priority` is not 0, and the kernel leaves no timer to user level, or a PD has a budget
 * or is passive, and the kernel is one without MCS. */
cr_status cr_component_init(const cr_component_room *room, const cr_component_system *system);

/* Creates the PDs. No PD runs before cr_component_step waits. */
void cr_component_start(void);

/* Mint a capability of yours into an empty slot of the CNode that the kernel gave: to the
 * component's endpoint, to send and be replied to, or to the notification that is bound to the
 * thread, to signal. `badge` must not be 0, and its 4 highest bits must be 0. Badges of signals are
 * ORed: use bits that no badge of yours for the endpoint has. CR_ERR_ARG, CR_ERR_EXISTS: the slot
 * is not empty. */
cr_status cr_component_mint_endpoint(uint64_t slot, uint64_t badge);
cr_status cr_component_mint_signal(uint64_t slot, uint64_t badge);

/* Puts a copy of a capability of yours into a slot of a PD's CSpace: from CR_SLOT_FIRST_FREE
 * (protocol.h) on, best from the last slot down, because the component fills slots from the first
 * on. It goes with the PD. A PD that is created anew does not have it. CR_ERR_ABSENT: there is no
 * such PD now. CR_ERR_ARG: no such slot or capability. CR_ERR_EXISTS: the slot is not free. */
cr_status cr_component_give(uint32_t pd, uint64_t capability, uint32_t slot);

/* The number in the id of a PD of the description, by its index. A PD that is created anew has
 * another number. 0: it does not exist, or it is stopped. */
uint32_t cr_component_pd(uint32_t pd);

/* Waits for one message, serves it, and does all that follows. Returns 1 if it was for you: a
 * message with a badge of yours, whose registers are as the kernel delivered them, or signals of
 * yours. Reply to a message before the next step, with cr_reply(yours->reply, ...) of
 * cellreap/kernel/compat.h, or what that does: seL4_Reply, with MCS seL4_Send to `reply`. */
int cr_component_step(cr_component_message *yours);

/* Ends the trace with its END event. No function may be called afterwards. The PDs go on, and
 * nobody serves them. */
void cr_component_end(void);

#ifdef __cplusplus
}
#endif

#endif
