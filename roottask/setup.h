/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a root task does before its first PD exists, for main.c and component.c. A root task must
 * call both functions once, in this order. Between them it may make more objects for itself. */
#ifndef CELLREAP_SETUP_H
#define CELLREAP_SETUP_H

#include "supervisor/hooks.h"
#include <cellreap/component.h>

/* An untyped with room for what root.h says, and the notification that is bound to the thread. */
typedef struct cr_own_objects {
    seL4_CPtr untyped;
    seL4_CPtr bound;
} cr_own_objects;

/* Whether the room can be what the kernel gave. */
int cr_room_valid(const cr_component_room *room);
/* Takes the room and makes the root task's own objects. `image` is valid. CR_ERR_MEMORY. */
cr_status cr_set_up_objects(const cr_component_room *room, const cr_image_header *image,
                            const cr_hooks *hooks, cr_own_objects *out);
/* Begins the trace, and makes the core spaces and the accounts. */
void cr_set_up_system(void);
/* Creates the PDs. */
void cr_set_up_pds(void);

#endif
