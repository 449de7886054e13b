/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entry of the root task. It sets up the root task, creates the PDs of the configuration, and
 * then runs the supervisor.
 *
 * The root task has the highest priority in the system and one thread. PDs therefore observe each
 * cleanup as one step. The root task must never return from cr_root_main, and it must never block
 * except in the supervisor's loop.
 *
 * Errors during setup stop the system (cr_panic): without its own objects the root task cannot
 * clean up after a crash. */
#include "kernel/arch/arch.h"
#include "kernel/untyped.h"
#include "root.h"
#include "supervisor/supervisor.h"
#include "system/charge.h"
#include "system/text.h"
#include "system/truth.h"

enum { ROOT_STACK = 32768 };

_Alignas(16) char cr_root_stack[ROOT_STACK];
/* The name that start.S uses for the end of the stack. */
__asm__(".globl cr_root_stack_top\n.set cr_root_stack_top, cr_root_stack + 32768");
_Static_assert(ROOT_STACK == 32768, "as in the line above");

extern const char cr_image_start[];
extern const char cr_image_end[];

void cr_root_main(const seL4_BootInfo *info);

/* Creates the root task's own objects: its endpoint, its notification and the objects of the
 * hooks. */
static void make_own_objects(const cr_image_header *image)
{
    uint32_t block;
    if (cr_untyped_take(CR_OWN_BLOCK_BITS, 0, &block) != CR_OK) {
        cr_panic("no kernel memory for the root task's own objects", 0);
    }
    seL4_CPtr untyped = cr_untyped_cap(block);
    seL4_CPtr bound = cr_pool_make(untyped, seL4_NotificationObject, "no notification");
    seL4_CPtr endpoint = cr_pool_make(untyped, seL4_EndpointObject, "no endpoint");
    cr_must(seL4_TCB_BindNotification(seL4_CapInitThreadTCB, bound),
            "the notification cannot be bound");
    cr_supervisor_init(cr_root_hooks(), bound);
    if (cr_system_init(image, endpoint) != CR_OK) {
        cr_panic("the model does not fit its memory", 0);
    }
    cr_truth_init(bound);
    cr_progress_init(image);
    cr_root_begin(untyped, bound);
}

static const cr_image_header *find_image(void)
{
    const cr_image_header *image = (const cr_image_header *)(const void *)cr_image_start;
    if (!cr_image_valid(image, (size_t)(cr_image_end - cr_image_start))) {
        cr_panic("the configuration in the image is not valid", image->version);
    }
    return image;
}

static const char *const mode_names[] = {
#define CR_MODE(enumerator, number, word, meaning) [enumerator] = word,
    CR_MODES
#undef CR_MODE
};

static void trace_start(const cr_image_header *image)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_TRACE);
    cr_trace_number(&cr_sys.trace, CR_TRACE_VERSION);
    cr_trace_string(&cr_sys.trace, image->arch);
    cr_trace_string(&cr_sys.trace, image->kernel);
    cr_trace_string(&cr_sys.trace, image->system);
    cr_trace_depth(&cr_sys.trace, image->pd_depth);
    cr_trace_depth(&cr_sys.trace, image->rs_depth);
    cr_trace_key(&cr_sys.trace);
    cr_trace_end(&cr_sys.trace);
    cr_trace_begin(&cr_sys.trace, CR_EV_BASE);
    cr_trace_number(&cr_sys.trace, cr_untyped_bytes_used());
    cr_trace_number(&cr_sys.trace, cr_slots_used());
    cr_trace_end(&cr_sys.trace);
    cr_trace_begin(&cr_sys.trace, CR_EV_MODE);
    const cr_mode mode = (image->flags & CR_IMAGE_SYNC) != 0 ? CR_MODE_SYNC : CR_MODE_ASYNC;
    cr_trace_string(&cr_sys.trace, mode_names[mode]);
    cr_trace_end(&cr_sys.trace);
    cr_trace_begin(&cr_sys.trace, CR_EV_AWAIT);
    cr_trace_number(&cr_sys.trace, cr_clock_exists() ? image->await_ms : 0);
    cr_trace_end(&cr_sys.trace);
    cr_trace_begin(&cr_sys.trace, CR_EV_PD);
    cr_trace_node(cr_sys.root);
    cr_trace_string(&cr_sys.trace, cr_sys.pds[0].name);
    cr_trace_number(&cr_sys.trace, 1);
    cr_trace_change_end();
}

static void set_up(const seL4_BootInfo *info)
{
    seL4_SetIPCBuffer(info->ipcBuffer);
    if (cr_cspace_init(info, cr_untyped_largest_at_boot(info)) != CR_OK ||
        cr_untyped_init(info) != CR_OK || cr_body_init(info) != CR_OK) {
        cr_panic("the kernel gave too little to start with",
                 info->untyped.end - info->untyped.start);
    }
    const cr_image_header *image = find_image();
    make_own_objects(image);
    trace_start(image);
    if (cr_core_space("RESSPC", &cr_sys.resspc_space) != CR_OK ||
        cr_core_space("PD", &cr_sys.pd_space) != CR_OK) {
        cr_panic("the core spaces cannot be made", 0);
    }
    cr_accounts_init();
}

void cr_root_main(const seL4_BootInfo *info)
{
    set_up(info);
    cr_population_start();
    cr_accounts_start();
#ifdef CONFIG_DEBUG_BUILD
    if ((cr_sys.image->flags & CR_IMAGE_SNAPSHOT) != 0) {
        seL4_DebugSnapshot();
    }
#endif
    cr_truth();
    cr_supervisor_run(cr_sys.endpoint);
    for (;;) {
        (void)seL4_TCB_Suspend(seL4_CapInitThreadTCB);
    }
}
