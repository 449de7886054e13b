/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that makes false claims: it uses badges, tokens, numbers and names that are not its own.
 * It prints a line for each check: "check NAME: ok", or the value that it got instead. It has
 * one request, one PD capability and one space. When its server is destroyed, it forges
 * acknowledgements of the notice that it gets. */
#include "storage.h"

CR_ASKS_WITHOUT_LIBRARY

static uint32_t space;
static uint32_t object;
static uint32_t disk;
static uint32_t request;
static uint64_t block[3];

static cr_result ask(cr_op op, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint32_t count)
{
    uint64_t arguments[4] = {a, b, c, d};
    return cr_call_root(op, arguments, count, 0, 0);
}

static void forge_badges(void)
{
    uint32_t mine = cr_info()->pd;
    cr_say_check("a request that there is not",
                 ask(CR_OP_GIVE, space, object, cr_badge(CR_BADGE_REQUEST, 2000, 1), 0, 3),
                 CR_RESULT_BAD_BADGE);
    cr_say_check("a request's badge beyond the table",
                 ask(CR_OP_GIVE, space, object, cr_badge(CR_BADGE_REQUEST, 0xfffffff0u, 1), 0, 3),
                 CR_RESULT_BAD_BADGE);
    cr_say_check("a PD's badge for a request's",
                 ask(CR_OP_GIVE, space, object, cr_badge(CR_BADGE_PD, mine, 1), 0, 3),
                 CR_RESULT_BAD_BADGE);
    /* The first requests of a run are in the first entries of the table. Its own request to
     * another PD's space is among them. */
    uint32_t denied = 0;
    for (uint32_t i = 0; i < 16; i++) {
        cr_result result = ask(CR_OP_GIVE, space, object, cr_badge(CR_BADGE_REQUEST, i, 1), 0, 3);
        denied += result == CR_RESULT_DENIED;
        if (result != CR_RESULT_DENIED && result != CR_RESULT_BAD_BADGE) {
            cr_say_check("a guessed badge", result, CR_RESULT_BAD_BADGE);
        }
    }
    cr_say_check("guessed badges hit others' requests and are denied", denied > 0, 1);
    cr_say_check("taking back from another's client",
                 ask(CR_OP_TAKE_BACK, block[0], block[1], cr_badge(CR_BADGE_REQUEST, 1, 1), 0, 3),
                 CR_RESULT_DENIED);
    uint32_t told = 0;
    for (uint32_t i = 0; i < 8; i++) {
        told += ask(CR_OP_FAULT_INFO, i, 0, 0, 0, 1) != CR_RESULT_NO_SUCH;
    }
    cr_say_check("nobody is told of a fault but its handler", told, 0);
}

static void forge_numbers(void)
{
    uint64_t huge = (uint64_t)1 << 32;
    uint32_t number;
    cr_say_check("a space's number and 2^32 more",
                 ask(CR_OP_CREATE_RESOURCE, huge + space, 0, 0, 0, 1), CR_RESULT_NO_SUCH);
    cr_say_check("an object's number and 2^32 more",
                 ask(CR_OP_DELETE_RESOURCE, space, huge + object, 0, 0, 2), CR_RESULT_NO_SUCH);
    cr_say_check("the largest number",
                 ask(CR_OP_DELETE_RESOURCE, ~(uint64_t)0, ~(uint64_t)0, 0, 0, 2),
                 CR_RESULT_NO_SUCH);
    cr_say_check("no number", ask(CR_OP_DELETE_SPACE, 0, 0, 0, 0, 1), CR_RESULT_NO_SUCH);
    cr_say_check("a core space", ask(CR_OP_CREATE_RESOURCE, 1, 0, 0, 0, 1), CR_RESULT_DENIED);
    cr_say_check("a PD capability that it does not hold", ask(CR_OP_RELEASE, 2, 1, 0, 0, 2),
                 CR_RESULT_NO_SUCH);
    cr_say_check("a depth that is too large", ask(CR_OP_SET_DEPTH, huge, 0, 0, 0, 2),
                 CR_RESULT_FAILED);
    cr_say_check("work that was not handed out", ask(CR_OP_FINISH_WORK, 1, 1, 0, 0, 3),
                 CR_RESULT_NO_SUCH);
    cr_say_check("more work than fits", ask(CR_OP_FINISH_WORK, 17, 1, 0, 0, 3),
                 CR_RESULT_BAD_LENGTH);
    cr_say_check("less work than is said", ask(CR_OP_FINISH_WORK, 2, 1, 0, 0, 3),
                 CR_RESULT_BAD_LENGTH);
    cr_say_check("a line longer than allowed", ask(CR_OP_SAY, CR_SAY_MAX + 1, 0, 0, 0, 4),
                 CR_RESULT_BAD_LENGTH);
    cr_say_check("a line longer than the message", ask(CR_OP_SAY, 100, 0, 0, 0, 2),
                 CR_RESULT_BAD_LENGTH);
    cr_say_check("a core type", cr_create_space("PD", "another", &number), CR_RESULT_FAILED);
    cr_say_check("a type in small letters", cr_create_space("pd", "another", &number),
                 CR_RESULT_FAILED);
    cr_say_check("a space without a name", cr_create_space("TYPE", "", &number), CR_RESULT_FAILED);
    cr_say_check("a name with a blank", cr_create_space("TYPE", "a b", &number), CR_RESULT_FAILED);
    cr_say_check("a name that is another's", cr_create_space("BLOCK", "disk2", &number),
                 CR_RESULT_DENIED);
    cr_say_check("a name that it may not ask for", cr_connect("disk2", 0, &number, &number),
                 CR_RESULT_DENIED);
    cr_say_check("a name that there is not", cr_connect("nothing", 0, &number, &number),
                 CR_RESULT_NO_SUCH);
}

static void forge_edges(void)
{
    uint32_t second = 0;
    cr_say_check("a second space", cr_create_space("FORGE", "second", &second), CR_RESULT_OK);
    cr_say_check("releasing what it serves", ask(CR_OP_RELEASE, space, object, 0, 0, 2),
                 CR_RESULT_DENIED);
    cr_say_check("mapping another's block",
                 cr_map((uint32_t)block[0], (uint32_t)block[1], space, object), CR_RESULT_DENIED);
    cr_say_check("mapping a resource to a space", cr_map(space, object, disk, 0), CR_RESULT_FAILED);
    cr_say_check("mapping a resource to itself", cr_map(space, object, space, object),
                 CR_RESULT_DENIED);
    cr_say_check("mapping its space to the disk", cr_map(space, 0, disk, 0), CR_RESULT_OK);
    cr_say_check("the same again", cr_map(space, 0, disk, 0), CR_RESULT_EXISTS);
    cr_say_check("mapping its second space to the first", cr_map(second, 0, space, 0),
                 CR_RESULT_OK);
    cr_say_check("a circle of maps", cr_map(space, 0, second, 0), CR_RESULT_DENIED);
    cr_say_check("deleting its second space", ask(CR_OP_DELETE_SPACE, second, 0, 0, 0, 1),
                 CR_RESULT_OK);
    cr_say_check("what it holds and does not serve",
                 ask(CR_OP_GIVE, block[0], block[1], cr_badge(CR_BADGE_REQUEST, 0, 1), 0, 3),
                 CR_RESULT_DENIED);
}

static void forge_calls(void)
{
    uint64_t reply;
    uint32_t received;
    /* The label is the result of an operation. It is below the labels of servers, so it is not
     * mistaken for an answer of one. */
    cr_say_check("calling a PD capability",
                 cr_call(cr_info()->pds[0].slot, ST_READ, 0, 0, &reply, 1, &received),
                 CR_CALL_LOST);
    /* This is not a fault message: the root task drops it, and this PD goes on running. */
    seL4_SetMR(0, CR_PROTOCOL_MAGIC);
    seL4_NBSend(CR_SLOT_FAULT, seL4_MessageInfo_new(CR_OP_EXIT + 0x100, 0, 0, 1));
    seL4_SetMR(0, CR_PROTOCOL_MAGIC);
    seL4_MessageInfo_t tag =
        seL4_Call(CR_SLOT_ROOT, seL4_MessageInfo_new(((uint64_t)1 << 50), 0, 0, seL4_MsgMaxLength));
    cr_say_check("a label beyond all operations", seL4_MessageInfo_get_label(tag),
                 CR_RESULT_BAD_OP);
}

/* What the capabilities of a root task do, at each address that the PD has: it calls firmware,
 * takes interrupts, ports, memory, time, numbers of address spaces and domains. A root task has
 * such capabilities at the first 16 addresses, and untypeds further on. No PD has anything there
 * but what is its own. To call an address beyond its CSpace is a fault. */
static void use_what_is_withheld(void)
{
    enum {
        LAST = 63, /* of cspace_bits = 6, the default */
        OWN_REPLY = CR_MCS ? CR_SLOT_REPLY : CR_SLOT_ROOT
    };
    static const seL4_Word labels[] = {
        UntypedRetype,
        TCBSuspend,
        CNodeRevoke,
        IRQIssueIRQHandler,
        CR_WITH_MCS(SchedControlConfigureFlags, )
#ifdef CONFIG_ARCH_X86_64
            X86IOPortControlIssue,
        X86ASIDControlMakePool,
#elif defined(CONFIG_ARCH_RISCV)
            RISCVASIDControlMakePool,
        RISCVIRQIssueIRQHandlerTrigger,
#else
            ARMASIDControlMakePool,
        ARMIRQIssueIRQHandlerTrigger,
#endif
#ifdef CONFIG_ALLOW_SMC_CALLS
        ARMSMCCall,
#endif
#if CONFIG_NUM_DOMAINS > 1
        DomainSetSet,
#endif
    };
    uint32_t refused = 0;
    uint32_t slots = 0;
    for (seL4_CPtr slot = 0; slot <= LAST; slot++) {
        /* Over these it asks the root task, or is answered. */
        if (slot == CR_SLOT_ROOT || slot == CR_SLOT_FAULT || slot == OWN_REPLY || slot == request ||
            slot == block[2] || slot == cr_info()->pds[0].slot) {
            continue;
        }
        slots++;
        for (uint32_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
            for (int word = 0; word < 8; word++) {
                seL4_SetMR(word, 0);
            }
            seL4_MessageInfo_t tag = seL4_Call(slot, seL4_MessageInfo_new(labels[i], 0, 0, 8));
            refused += seL4_MessageInfo_get_label(tag) == seL4_InvalidCapability;
        }
    }
    cr_say_check("most slots are not its own", slots >= LAST - 6, 1);
    cr_say_check("what only a root task may do",
                 refused == slots * (sizeof(labels) / sizeof(labels[0])), 1);
}

/* Acknowledges the first notice together with a made-up one, and then twice in one message. The
 * root task must refuse both messages as a whole. */
static void forge_acknowledgements(void)
{
    uint64_t work[2 + CR_WORK_MAX * CR_WORK_WORDS] = {0};
    cr_say_check("a notice comes",
                 cr_call_root(CR_OP_GET_WORK, 0, 0, work, 2 + CR_WORK_MAX * CR_WORK_WORDS),
                 CR_RESULT_OK);
    cr_say_check("of the space that is lost", work[1] == 1 && work[3] == disk, 1);
    uint64_t both[5] = {2, work[2], 0, work[2] + 1, 0};
    uint64_t twice[5] = {2, work[2], 0, work[2], 0};
    cr_say_check("one right and one made up", cr_call_root(CR_OP_FINISH_WORK, both, 5, 0, 0),
                 CR_RESULT_NO_SUCH);
    cr_say_check("one twice", cr_call_root(CR_OP_FINISH_WORK, twice, 5, 0, 0), CR_RESULT_NO_SUCH);
    cr_say_check("what was refused changed nothing", ask(CR_OP_FINISH_WORK, 1, work[2], 0, 0, 3),
                 CR_RESULT_OK);
    cr_say_check("once more", ask(CR_OP_FINISH_WORK, 1, work[2], 0, 0, 3), CR_RESULT_NO_SUCH);
}

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    uint64_t value;
    uint32_t received;
    int lost = 0;
    const cr_startup *info = cr_info();
    if (info->n_spaces != 1 || info->n_requests != 1 || info->n_pds != 1 ||
        cr_create_space(info->spaces[0].type, info->spaces[0].name, &space) != CR_RESULT_OK ||
        cr_create_resource(space, &object) != CR_RESULT_OK ||
        cr_connect(info->requests[0], 1, &request, &disk) != CR_RESULT_OK ||
        cr_allow(disk, 1) != CR_RESULT_OK ||
        cr_call(request, ST_ALLOCATE, 0, 0, block, 3, &received) != ST_OK) {
        cr_say_text("nothing to forge");
        cr_exit(1);
    }
    forge_badges();
    forge_numbers();
    forge_edges();
    forge_calls();
    use_what_is_withheld();
    while (cr_next_round()) {
        if (!lost &&
            cr_call((uint32_t)block[2], ST_READ, 0, 0, &value, 1, &received) == CR_CALL_LOST) {
            lost = 1;
            forge_acknowledgements();
            cr_say_text("all checks made");
        }
    }
    cr_wait_for_work(work);
}
