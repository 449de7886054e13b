/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The root task of this project. It sets itself up, creates the PDs of the configuration, and then
 * runs the supervisor. Another root task that includes the component has component.c in its place.
 *
 * Its main thread has the highest priority in the system, and its other threads do only what the
 * main thread waits for. PDs therefore observe each cleanup as one step. The root task must never
 * return from cr_root_main, and it must never block except in the supervisor's loop and, for the
 * cleaner, in that of the main thread. */
#include "kernel/uart.h"
#include "root.h"
#include "setup.h"
#include "system/text.h"

extern const char cr_image_start[];
extern const char cr_image_end[];
extern const char cr_image_base[]; /* of the root task's own image: roottask.ld */

void cr_root_main(const seL4_BootInfo *info);

static const cr_image_header *find_image(void)
{
    const cr_image_header *image = (const cr_image_header *)(const void *)cr_image_start;
    if (!cr_image_valid(image, (size_t)(cr_image_end - cr_image_start))) {
        cr_panic("the configuration in the image is not valid", image->version);
    }
    return image;
}

void cr_root_main(const seL4_BootInfo *info)
{
    const cr_component_room all = {
        .boot_info = info, .slots = info->empty.start, .image_start = cr_image_base};
    cr_own_objects own;
    /* Without a console the system runs, but nobody hears of it. */
    (void)cr_uart_console(info, (uintptr_t)cr_image_base);
    if (!cr_room_valid(&all) ||
        cr_set_up_objects(&all, find_image(), cr_root_hooks(), &own) != CR_OK) {
        cr_panic("the kernel gave too little to start with",
                 info->untyped.end - info->untyped.start);
    }
    cr_root_begin(own.untyped, own.bound);
    cr_set_up_system();
    cr_set_up_pds();
    cr_root_ready();
    cr_supervisor_run(cr_sys.endpoint);
    for (;;) {
        (void)seL4_TCB_Suspend(seL4_CapInitThreadTCB);
    }
}
